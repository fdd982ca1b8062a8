//! What is merged: a command's value where the person has done nothing, else the person's, bytes and all.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use toolwright_git::index::{EMPTY_BLOB, Index, Merged, SkipWorktree, Source, Terms, merge};
use toolwright_git::object::Id;

use super::file::{Line, tree, written};
use super::repository::{parse, repository};
use super::times;

type Paths = BTreeMap<Vec<u8>, Vec<Line>>;

const OF_COMMAND: u8 = 0xee;
const GITLINK: u32 = super::file::GITLINK;

/// A change of one path: it goes, or gets a value.
type Edit = (&'static str, Option<Vec<(u8, u32, u8, [bool; 3])>>);

fn edit() -> impl Strategy<Value = Edit> {
    let path = select(vec![
        "a", "a/b", "a/b/c", "a-b", "a.c", "a0", "b", "b/a", "lib/x", "lib/y", "lib/z/a", "z",
    ]);
    let mode = select(vec![0o100_644, 0o100_644, 0o100_755, 0o120_000, GITLINK]);
    let value = (Just(0_u8), mode, 1..5_u8, any::<[bool; 3]>());
    let plain = value.clone().prop_map(|value| vec![value]);
    let stages = prop::collection::btree_map(1..4_u8, value, 1..4).prop_map(|stages| {
        stages.into_iter().map(|(stage, (_, mode, id, _))| (stage, mode, id, [false; 3])).collect()
    });
    (path, prop_oneof![2 => Just(None), 5 => plain.prop_map(Some), 1 => stages.prop_map(Some)])
}

fn edits(most: usize) -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(edit(), 0..most)
}

/// Makes the changes that leave no path a file and a directory.
fn edited(mut paths: Paths, edits: &[Edit], stat: u8) -> Paths {
    for (path, value) in edits {
        let path = path.as_bytes().to_vec();
        let Some(value) = value else {
            paths.remove(&path);
            continue;
        };
        let is_below = |one: &[u8], other: &[u8]| one.starts_with(&[other, b"/"].concat());
        if paths.keys().any(|other| is_below(&path, other) || is_below(other, &path)) {
            continue;
        }
        let lines = value.iter().map(|(stage, mode, id, [valid, skips, intent])| Line {
            stage: *stage,
            mode: *mode,
            id: [*id; 20],
            stat: [stat; 36],
            is_assumed_valid: *valid,
            skips_worktree: *skips,
            is_intent_to_add: *intent,
            ..Line::new(std::str::from_utf8(&path).unwrap(), *id)
        });
        paths.insert(path.clone(), lines.collect());
    }
    paths
}

fn lines(paths: &Paths) -> Vec<Line> {
    paths.values().flatten().cloned().collect()
}

fn index(paths: &Paths, source: Source) -> Index {
    parse(&written(&lines(paths), &[]), source).unwrap()
}

fn paths(index: &Index) -> Paths {
    let mut paths = Paths::new();
    for entry in index.entries() {
        let line = Line {
            path: entry.path().into(),
            stage: entry.stage(),
            mode: entry.mode().number(),
            id: *entry.id().as_bytes(),
            stat: *entry.stat(),
            is_assumed_valid: entry.is_assumed_valid(),
            skips_worktree: entry.skips_worktree(),
            is_intent_to_add: entry.is_intent_to_add(),
        };
        paths.entry(entry.path().into()).or_default().push(line);
    }
    paths
}

/// What a path says, and whether git expects a file there.
fn value(lines: Option<&Vec<Line>>) -> Vec<(u8, u32, [u8; 20], bool)> {
    let value = |line: &Line| (line.stage, line.mode, line.id, line.is_intent_to_add);
    lines.into_iter().flatten().map(value).collect()
}

fn skips(lines: Option<&Vec<Line>>) -> bool {
    lines.into_iter().flatten().any(|line| line.skips_worktree)
}

fn merged(snapshot: &Paths, view: &Paths, host: &Paths, terms: &Terms<'_>) -> Merged {
    let [snapshot, host] = [snapshot, host].map(|paths| index(paths, Source::Person));
    merge(&snapshot, &index(view, Source::Command), &host, terms)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: times(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_path_is_the_commands_or_the_persons(
        first in edits(14), of_view in edits(8), of_host in edits(8), may_skip in any::<bool>(), refuses in 0..6_u8,
    ) {
        let snapshot = edited(Paths::new(), &first, 0x11);
        let view = edited(snapshot.clone(), &of_view, OF_COMMAND);
        let host = edited(snapshot.clone(), &of_host, 0x22);
        let accept = |entry: &toolwright_git::index::Entry<'_>| *entry.id().as_bytes() != [refuses; 20];
        let may = |path: &[u8]| path.starts_with(b"lib/");
        let skip_worktree = if may_skip { SkipWorktree::Allowed(&may) } else { SkipWorktree::Refused };
        let terms = Terms { accept: &accept, skip_worktree, written_at: i64::MAX };
        let Merged { index, is_changed, conflicts, refused } = merged(&snapshot, &view, &host, &terms);
        let result = paths(&index);
        prop_assert_eq!(is_changed, result != host);
        let all = snapshot.keys().chain(view.keys()).chain(host.keys());
        for path in all {
            let [was, wanted, own, now] =
                [&snapshot, &view, &host, &result].map(|paths| paths.get(path));
            let by_view = value(wanted) != value(was);
            let by_host = value(own) != value(was);
            let is_named = conflicts.contains(path) || refused.contains(path);
            if by_view && by_host && value(wanted) != value(own) {
                prop_assert!(conflicts.contains(path));
            }
            if is_named || !by_view && skips(wanted) == skips(was) {
                // The bytes of the person.
                prop_assert_eq!(now, own);
                continue;
            }
            if !by_host || value(wanted) == value(own) {
                prop_assert_eq!(value(now), value(wanted));
            } else {
                prop_assert_eq!(now, own);
            }
            let may_skip = may_skip && may(path);
            if value(now) == value(own) {
                prop_assert!(!skips(now) || may_skip || skips(own));
            } else {
                prop_assert_eq!(skips(now), skips(wanted) && may_skip);
            }
        }
        for line in lines(&result) {
            let own = host.get(&line.path).into_iter().flatten();
            let mut known = own.filter(|own| value(Some(&vec![(*own).clone()])) == value(Some(&vec![line.clone()])));
            if let Some(own) = known.next_back() {
                prop_assert_eq!(line.stat, own.stat);
                prop_assert_eq!(line.is_assumed_valid, own.is_assumed_valid);
            } else {
                prop_assert_eq!(line.stat, [0; 36]);
                prop_assert!(!line.is_assumed_valid);
            }
        }
        // It is an index that would be accepted itself.
        prop_assert!(parse(&index.to_bytes(), Source::Command).is_ok());
        for path in conflicts.iter().chain(&refused) {
            prop_assert_eq!(result.get(path), host.get(path));
        }
    }
}

const TAKE_ALL: Terms<'_> =
    Terms { accept: &|_| true, skip_worktree: SkipWorktree::Refused, written_at: 0 };

proptest! {
    #![proptest_config(ProptestConfig { cases: times(16), failure_persistence: None, ..ProptestConfig::default() })]

    /// The tree that git makes of the result is that of its entries, whatever the command's index says else.
    #[test]
    fn git_makes_the_tree_of_the_entries(
        first in edits(14), of_view in edits(8), of_host in edits(6), lie in any::<[u8; 20]>(), is_whole in any::<bool>(),
    ) {
        let plain = |edits: Vec<Edit>| -> Vec<Edit> {
            let is_plain = |value: &Vec<(u8, u32, u8, [bool; 3])>| value.iter().all(|(stage, ..)| *stage == 0);
            edits.into_iter().filter(|(_, value)| value.as_ref().is_none_or(is_plain)).collect()
        };
        let (first, of_view, of_host) = (plain(first), plain(of_view), plain(of_host));
        let Some(repository) = repository() else { return Ok(()) };
        let snapshot = edited(Paths::new(), &first, 0x11);
        repository.set_index(&written(&lines(&snapshot), &[]));
        let write_tree = || repository.text(&["write-tree", "--missing-ok"]).trim().to_owned();
        write_tree();
        let snapshot_index = repository.parsed(Source::Person).unwrap();
        // The person's git keeps the trees of what it leaves alone.
        let host = edited(snapshot.clone(), &of_host, 0x22);
        let mut input = Vec::new();
        for path in snapshot.keys().filter(|path| host.get(*path) != snapshot.get(*path)) {
            input.extend([b"0 ", "0".repeat(40).as_bytes(), b"\t", path, b"\n"].concat());
        }
        for (path, lines) in host.iter().filter(|(path, lines)| snapshot.get(*path) != Some(lines)) {
            let line = &lines[0];
            let id = Id::new(line.id);
            input.extend([format!("{:o} {id}\t", line.mode).as_bytes(), path, b"\n"].concat());
        }
        repository.fed(&["update-index", "--index-info"], &input);
        if is_whole {
            write_tree();
        }
        let host_index = repository.parsed(Source::Person).unwrap();
        let view = edited(snapshot, &of_view, OF_COMMAND);
        let count = lines(&view).iter().filter(|line| !line.is_intent_to_add).count();
        let cache_tree = [format!("\0{count} 0\n").as_bytes(), &lie].concat();
        let bytes = written(&lines(&view), &[(b"TREE", cache_tree), (b"UNTR", lie.to_vec()), (b"FSMN", lie.to_vec())]);
        let view_index = parse(&bytes, Source::Command).unwrap();
        let merged = merge(&snapshot_index, &view_index, &host_index, &TAKE_ALL);
        repository.set_index(&merged.index.to_bytes());
        let expected = Id::new(tree(&lines(&paths(&merged.index)))).to_string();
        prop_assert_eq!(write_tree(), expected);
    }
}

#[test]
fn trees_of_other_directories_are_kept() {
    let Some(repository) = repository() else { return };
    for path in ["a/b/c", "a/d/e", "f/g", "top"] {
        repository.put(path, path);
    }
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "x"]);
    let host = repository.parsed(Source::Person).unwrap();
    repository.put("a/d/e", "other");
    repository.git(&["add", "."]);
    let view = repository.parsed(Source::Command).unwrap();
    let bytes = merge(&host, &view, &host, &TAKE_ALL).index.to_bytes();
    let has = |tree: &str| {
        let id: Id = repository.text(&["rev-parse", tree]).trim().parse().unwrap();
        bytes.windows(20).any(|it| it == id.as_bytes())
    };
    assert!(has("HEAD:a/b") && has("HEAD:f"));
    assert!(!has("HEAD:a/d") && !has("HEAD:a") && !has("HEAD^{tree}"));
}

#[test]
fn stat_data_of_a_command_hides_no_change() {
    let Some(repository) = repository() else { return };
    for name in ["one", "two"] {
        repository.put(name, "good\n");
    }
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "x"]);
    let snapshot = repository.parsed(Source::Person).unwrap();
    // The command changes files, and says that it has staged what was there.
    repository.put("one", "evil\n");
    repository.put("two", "evil\n");
    repository.git(&["add", "."]);
    let lying = repository.parsed(Source::Person).unwrap();
    let lines: Vec<Line> = paths(&lying)
        .into_iter()
        .map(|(path, lines)| {
            let old = &paths(&snapshot)[&path][0];
            // Another mode makes one of them a change.
            let mode = if path == b"two" { 0o100_755 } else { old.mode };
            Line {
                id: old.id,
                mode,
                is_assumed_valid: true,
                skips_worktree: true,
                ..lines[0].clone()
            }
        })
        .collect();
    let view = parse(&written(&lines, &[]), Source::Command).unwrap();
    let merged = merge(&snapshot, &view, &snapshot, &TAKE_ALL);
    assert!(merged.is_changed);
    assert_eq!(merged.refused, [b"one".to_vec()]);
    repository.set_index(&merged.index.to_bytes());
    assert_eq!(repository.text(&["status", "--porcelain"]), " M one\nMM two\n");
    // A command that has seen files anew has changed nothing.
    let seen: Vec<Line> = paths(&snapshot)
        .into_values()
        .map(|lines| Line { stat: [OF_COMMAND; 36], is_assumed_valid: true, ..lines[0].clone() })
        .collect();
    let view = parse(&written(&seen, &[]), Source::Command).unwrap();
    let merged = merge(&snapshot, &view, &snapshot, &TAKE_ALL);
    assert!(!merged.is_changed);
    assert_eq!(merged.index.to_bytes(), snapshot.to_bytes());
}

#[test]
fn a_file_that_is_no_longer_staged_is_shown() {
    let Some(repository) = repository() else { return };
    for name in ["one", "d/two", "d/three"] {
        repository.put(name, name);
    }
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "x"]);
    repository.git(&["config", "core.untrackedCache", "true"]);
    repository.put("d/new", "x");
    // The cache is believed once its directories are old enough.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    for _ in 0..2 {
        assert_eq!(repository.text(&["status", "--porcelain"]), "?? d/new\n");
    }
    let host = repository.parsed(Source::Person).unwrap();
    let before = repository.index();
    assert!(before.windows(4).any(|it| it == b"UNTR"));
    repository.git(&["rm", "-q", "--cached", "d/two"]);
    repository.git(&["add", "d/new"]);
    let view = repository.parsed(Source::Command).unwrap();
    let merged = merge(&host, &view, &host, &TAKE_ALL);
    let bytes = merged.index.to_bytes();
    assert!(bytes.windows(4).any(|it| it == b"UNTR"));
    repository.set_index(&bytes);
    assert_eq!(repository.text(&["status", "--porcelain"]), "A  d/new\nD  d/two\n?? d/two\n");
}

#[test]
fn an_intent_to_add_stays_one() {
    let Some(repository) = repository() else { return };
    repository.put("a", "a");
    repository.git(&["add", "."]);
    let snapshot = repository.parsed(Source::Person).unwrap();
    repository.put("new", "x");
    repository.git(&["add", "-N", "new"]);
    let view = repository.parsed(Source::Command).unwrap();
    let merged = merge(&snapshot, &view, &snapshot, &TAKE_ALL);
    let entry = merged.index.stages(b"new").next().unwrap();
    assert!(entry.is_intent_to_add() && entry.id() == EMPTY_BLOB);
    repository.set_index(&merged.index.to_bytes());
    assert_eq!(repository.text(&["status", "--porcelain"]), "A  a\n A new\n");
    assert_eq!(merge(&snapshot, &snapshot, &Index::default(), &TAKE_ALL).index.len(), 0);
}

#[test]
fn a_first_index_is_that_of_the_command() {
    let none = Index::default();
    let paths = ["a", "b/c"].map(|path| Line::new(path, 1));
    let view = parse(&written(&paths, &[]), Source::Command).unwrap();
    let merged = merge(&none, &view, &none, &TAKE_ALL);
    assert!(merged.is_changed && merged.index.entries().eq(view.entries()));
}

#[test]
fn what_may_have_changed_after_the_index_is_read_by_git() {
    let seen = |changed: u32, modified: u32, path: &str, mode: u32| {
        let mut line = Line { mode, stat: [0x33; 36], ..Line::new(path, 1) };
        line.stat[..4].copy_from_slice(&changed.to_be_bytes());
        line.stat[8..12].copy_from_slice(&modified.to_be_bytes());
        line
    };
    let file = super::file::FILE;
    let host = [
        seen(99, 99, "before", file),
        seen(100, 7, "by-change", file),
        seen(7, 100, "by-time", file),
        seen(200, 200, "gitlink", GITLINK),
    ];
    let host = parse(&written(&host, &[]), Source::Person).unwrap();
    let mut view: Vec<Line> = paths(&host).into_values().flatten().collect();
    view.push(Line::new("new", 1));
    let view = parse(&written(&view, &[]), Source::Command).unwrap();
    let merged = merge(&host, &view, &host, &Terms { written_at: 100, ..TAKE_ALL });
    let sizes: Vec<[u8; 4]> =
        merged.index.entries().map(|entry| entry.stat()[32..].try_into().unwrap()).collect();
    assert_eq!(sizes, [[0x33; 4], [0; 4], [0; 4], [0x33; 4], [0; 4]]);
    let kept = |index: &Index| -> Vec<[u8; 32]> {
        index.entries().take(4).map(|entry| entry.stat()[..32].try_into().unwrap()).collect()
    };
    assert_eq!(kept(&merged.index), kept(&host));
}
