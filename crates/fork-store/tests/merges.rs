//! Texts that the fork and the base have changed at different lines.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use support::{Place, sh, shown};
use toolwright_fork_store::{Apply, Conflict, OpenFork};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

fn merged(open: &OpenFork, place: &Place) -> (Vec<String>, Vec<String>) {
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    let merged = applied.applied.iter().filter(|it| it.is_merged);
    (merged.map(|it| it.path.display().to_string()).collect(), shown(&applied.conflicts))
}

#[test]
fn other_lines_are_merged_and_both_sides_have_them() {
    let Some(place) = Place::new(&[("a", TEXT), ("b", TEXT), ("c", "c")]) else { return };
    let (open, fork) = place.fork();
    fs::write(fork.join("a"), TEXT.replace("one", "ONE")).unwrap();
    fs::write(fork.join("b"), TEXT.replace("one", "ONE")).unwrap();
    fs::write(fork.join("c"), "fork").unwrap();
    open.fork().changes().unwrap();
    fs::write(place.base.join("a"), TEXT.replace("five", "FIVE")).unwrap();
    fs::set_permissions(place.base.join("a"), fs::Permissions::from_mode(0o600)).unwrap();
    let status = open.fork().changes().unwrap();
    assert_eq!(shown(&status.changes), ["~ a !", "~ b", "~ c"]);

    let refused = Apply { refuse_merges: true, ..Apply::default() };
    let refused = open.fork().apply(refused, &place.never).unwrap();
    assert_eq!((refused.applied.len(), shown(&refused.conflicts)), (0, vec!["~ a !".to_owned()]));
    let dry = Apply { dry_run: true, ..Apply::default() };
    let dry = open.fork().apply(dry, &place.never).unwrap();
    assert!(dry.applied[0].is_merged && !dry.applied[1].is_merged);
    assert_eq!(fs::read_to_string(fork.join("a")).unwrap(), TEXT.replace("one", "ONE"));

    assert_eq!(merged(&open, &place), (vec!["a".to_owned()], vec![]));
    let both = TEXT.replace("one", "ONE").replace("five", "FIVE");
    assert_eq!(fs::read_to_string(place.base.join("a")).unwrap(), both);
    assert_eq!(fs::read_to_string(fork.join("a")).unwrap(), both);
    let mode = fs::metadata(place.base.join("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(open.fork().changes().unwrap().changes, []);
    // And again, and back.
    fs::write(fork.join("a"), both.replace("two", "TWO")).unwrap();
    open.fork().changes().unwrap();
    fs::write(place.base.join("a"), both.clone() + "six\n").unwrap();
    assert_eq!(merged(&open, &place), (vec!["a".to_owned()], vec![]));
    let all = both.replace("two", "TWO") + "six\n";
    assert_eq!(fs::read_to_string(place.base.join("a")).unwrap(), all);
    assert_eq!(open.fork().undo(&place.never).unwrap().conflicts, []);
    assert_eq!(fs::read_to_string(place.base.join("a")).unwrap(), both + "six\n");
}

#[test]
fn what_is_no_text_or_overlaps_is_a_conflict() {
    type Sides = [&'static [u8]; 3];
    let files: [(&str, Sides); 5] = [
        ("overlap", [b"a\nb\nc\nd\n", b"A\nb\nc\nd\n", b"1\nb\nc\nd\n"]),
        ("neighbour", [b"a\nb\nc\nd\n", b"A\nb\nc\nd\n", b"a\nB\nc\nd\n"]),
        ("binary", [b"a\nb\nc\n\0d\n", b"A\nb\nc\n\0d\n", b"a\nb\nc\n\0D\n"]),
        ("latin", [b"a\nb\nc\n\xe4\n", b"A\nb\nc\n\xe4\n", b"a\nb\nc\n\xc4\n"]),
        ("ends", [b"a\r\nb\r\nc\r\nd\r\n", b"A\r\nb\r\nc\r\nd\r\n", b"a\nb\nc\nd\n"]),
    ];
    let Some(place) = Place::new(&[]) else { return };
    for (name, [was, ..]) in files {
        fs::write(place.base.join(name), was).unwrap();
    }
    let (open, fork) = place.fork();
    for (name, [_, ours, _]) in files {
        fs::write(fork.join(name), ours).unwrap();
    }
    open.fork().changes().unwrap();
    for (name, [.., theirs]) in files {
        fs::write(place.base.join(name), theirs).unwrap();
    }
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    assert_eq!(applied.applied, []);
    assert_eq!(applied.conflicts.len(), files.len());
    for conflict in &applied.conflicts {
        assert_eq!(conflict.conflict, Some(Conflict::Changed));
        assert!(conflict.base.is_some() && conflict.fork.is_some() && !conflict.is_merged);
    }
    for (name, [_, ours, theirs]) in files {
        assert_eq!(fs::read(fork.join(name)).unwrap(), ours);
        assert_eq!(fs::read(place.base.join(name)).unwrap(), theirs);
    }
}

#[test]
fn ends_of_lines_are_kept() {
    let text = "a\r\nb\r\nc\r\nd";
    let Some(place) = Place::new(&[("a", text)]) else { return };
    let (open, fork) = place.fork();
    fs::write(fork.join("a"), text.replace('a', "A")).unwrap();
    open.fork().changes().unwrap();
    fs::write(place.base.join("a"), text.replace('d', "D")).unwrap();
    assert_eq!(merged(&open, &place).0, ["a"]);
    assert_eq!(fs::read_to_string(place.base.join("a")).unwrap(), "A\r\nb\r\nc\r\nD");
}

/// Nobody asks for the changes before the base changes, too: tools use the fork, and that is enough.
#[test]
fn what_tools_change_is_seen_in_time_and_merged_by_another_process_too() {
    let Some(place) = Place::new(&[("a", TEXT), ("deep/b", TEXT)]) else { return };
    let (open, _) = place.fork();
    sh(&open, "sed -i s/one/ONE/ a deep/b");
    let kept = place.store.path().join(open.fork().id()).join("was");
    let deadline = Instant::now() + Duration::from_secs(60);
    while fs::read_dir(&kept).map_or(0, Iterator::count) < 2 {
        assert!(Instant::now() < deadline, "nothing is kept");
        std::thread::sleep(Duration::from_millis(20));
    }
    for path in ["a", "deep/b"] {
        fs::write(place.base.join(path), TEXT.replace("five", "FIVE")).unwrap();
    }
    let id = open.fork().id().to_owned();
    open.close().unwrap();
    let fork = place.store.take(&id).unwrap();
    let applied = fork.apply(Apply::default(), &place.never).unwrap();
    assert_eq!((applied.conflicts, applied.applied.len()), (vec![], 2));
    assert!(applied.applied.iter().all(|change| change.is_merged));
    let both = TEXT.replace("one", "ONE").replace("five", "FIVE");
    assert_eq!(fs::read_to_string(place.base.join("deep/b")).unwrap(), both);
    assert_eq!(fork.changes().unwrap().changes, []);
    drop(fork);
    assert_eq!(sh(&place.store.reopen(&id).unwrap(), "cat a"), both);
}
