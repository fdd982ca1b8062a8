//! Applies that are taken back.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;
use support::{Place, shown};
use toolwright_fork_store::{Apply, Conflict, ForkError};

fn mode(path: &std::path::Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_undo_puts_everything_back_also_when_the_fork_is_gone() {
    let Some(place) = Place::new(&[("a", "1"), ("run", "#!"), ("old/x", "2"), ("old/y/z", "3")])
    else {
        return;
    };
    fs::set_permissions(place.base.join("run"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(place.base.join("old"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("a", place.base.join("link")).unwrap();
    let before = place.tree();
    for is_kept in [true, false] {
        let (open, fork) = place.fork();
        fs::write(fork.join("a"), "changed").unwrap();
        fs::create_dir_all(fork.join("deep/er")).unwrap();
        fs::write(fork.join("deep/er/f"), "f").unwrap();
        fs::create_dir(fork.join("empty")).unwrap();
        fs::remove_dir_all(fork.join("old")).unwrap();
        fs::remove_file(fork.join("link")).unwrap();
        symlink("run", fork.join("link")).unwrap();
        fs::set_permissions(fork.join("run"), fs::Permissions::from_mode(0o644)).unwrap();
        let changed = shown(&open.fork().changes().unwrap().changes);
        let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
        assert_eq!((applied.applied.len(), place.tree()), (9, support::tree(&fork)));
        if is_kept {
            let undone = open.fork().undo(&place.never).unwrap();
            assert_eq!((undone.undone.len(), undone.conflicts.len()), (11, 0), "{undone:?}");
            // What was taken back can be applied again.
            assert_eq!(shown(&open.fork().changes().unwrap().changes), changed);
            let error = open.fork().undo(&place.never).unwrap_err();
            assert!(matches!(error, ForkError::NothingApplied { .. }), "{error}");
            let again = open.fork().apply(Apply::default(), &place.never).unwrap();
            assert_eq!((again.applied.len(), again.conflicts.len()), (9, 0));
            open.fork().undo(&place.never).unwrap();
            open.discard().unwrap();
        } else {
            let id = open.fork().id().to_owned();
            open.discard().unwrap();
            let undone = place.store.undo(&id, &place.never).unwrap();
            assert_eq!(undone.conflicts, []);
            let error = place.store.undo(&id, &place.never).unwrap_err();
            assert!(matches!(error, ForkError::NothingApplied { .. }), "{error}");
        }
        assert_eq!(place.tree(), before);
        assert_eq!(mode(&place.base.join("run")), 0o751);
        assert_eq!(mode(&place.base.join("old")), 0o750);
        assert!(!place.base.join("deep").exists() && !place.base.join("empty").exists());
    }
}

#[test]
fn what_somebody_has_changed_since_is_named_and_nothing_is_undone() {
    let Some(place) = Place::new(&[("a", "1"), ("b", "1"), ("c", "1"), ("gone", "1")]) else {
        return;
    };
    let (open, fork) = place.fork();
    for path in ["a", "b", "c", "new"] {
        fs::write(fork.join(path), "fork").unwrap();
    }
    fs::remove_file(fork.join("gone")).unwrap();
    open.fork().apply(Apply::default(), &place.never).unwrap();
    fs::write(place.base.join("b"), "a person's").unwrap();
    fs::remove_file(place.base.join("c")).unwrap();
    fs::write(place.base.join("gone"), "again").unwrap();
    // The same content by a new file is nobody's change.
    fs::write(place.base.join("x"), "fork").unwrap();
    fs::rename(place.base.join("x"), place.base.join("a")).unwrap();
    let before = place.tree();
    let undone = open.fork().undo(&place.never).unwrap();
    assert_eq!(undone.undone, []);
    let told: Vec<_> = undone
        .conflicts
        .iter()
        .map(|it| (it.path.to_str().unwrap(), it.conflict.unwrap()))
        .collect();
    assert_eq!(
        told,
        [("b", Conflict::Changed), ("c", Conflict::Deleted), ("gone", Conflict::Created)]
    );
    assert_eq!(place.tree(), before);
    // What is out of the way by then is undone.
    fs::write(place.base.join("b"), "fork").unwrap();
    fs::write(place.base.join("c"), "fork").unwrap();
    fs::remove_file(place.base.join("gone")).unwrap();
    assert_eq!(open.fork().undo(&place.never).unwrap().conflicts, []);
    let expected = ["a", "b", "c", "gone"].map(|path| (path.into(), "1".to_owned()));
    assert_eq!(place.tree(), expected.into());
}

#[test]
fn applies_are_undone_one_after_the_other() {
    let Some(place) = Place::new(&[("a", "0")]) else { return };
    let (open, fork) = place.fork();
    for text in ["1", "2", "3"] {
        fs::write(fork.join("a"), text).unwrap();
        open.fork().apply(Apply::default(), &place.never).unwrap();
    }
    for text in ["2", "1", "0"] {
        assert_eq!(open.fork().undo(&place.never).unwrap().undone.len(), 1);
        assert_eq!(fs::read_to_string(place.base.join("a")).unwrap(), text);
    }
    // Notes go with their time.
    open.fork().apply(Apply::default(), &place.never).unwrap();
    assert_eq!(fs::read_dir(place.store.path().join(".applied")).unwrap().count(), 1);
    place.store.collect(None).unwrap();
    assert_eq!(fs::read_dir(place.store.path().join(".applied")).unwrap().count(), 1);
    std::thread::sleep(std::time::Duration::from_millis(2100));
    place.store.collect(Some(1000)).unwrap();
    let error = open.fork().undo(&place.never).unwrap_err();
    assert!(matches!(error, ForkError::NothingApplied { .. }), "{error}");
}

#[test]
fn a_note_of_what_never_came_to_be_undoes_nothing() {
    let Some(place) = Place::new(&[("a", "0")]) else { return };
    let (open, fork) = place.fork();
    fs::write(fork.join("a"), "1").unwrap();
    open.fork().apply(Apply::default(), &place.never).unwrap();
    fs::write(fork.join("a"), "2").unwrap();
    open.fork().apply(Apply::default(), &place.never).unwrap();
    // As after a kill between the note and the change.
    fs::write(place.base.join("a"), "1").unwrap();
    let undone = open.fork().undo(&place.never).unwrap();
    assert_eq!((undone.undone, undone.conflicts), (vec![], vec![]));
    assert_eq!(open.fork().undo(&place.never).unwrap().undone.len(), 1);
    assert_eq!(fs::read_to_string(place.base.join("a")).unwrap(), "0");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// The base is what it was before the apply, or what somebody has made of it since.
    #[test]
    fn an_undo_is_the_base_before_or_nothing(
        steps in prop::collection::vec((0_usize..6, 0_u8..5), 1..10),
        since in prop::collection::vec((0_usize..6, 0_u8..5), 0..2),
    ) {
        const FILES: [&str; 6] = ["a", "b", "d/a", "d/e/b", "n/x", "n/m/y"];
        let Some(place) = Place::new(&[("a", "a0"), ("d/a", "da0"), ("d/e/b", "dea0")]) else {
            return Ok(());
        };
        let run = |root: &std::path::Path, steps: &[(usize, u8)]| {
            for (file, what) in steps {
                let path = root.join(FILES[*file]);
                match what {
                    0 => drop(fs::remove_file(&path)),
                    1 => drop(fs::remove_dir_all(path.parent().unwrap()).ok().filter(|()| path.parent() != Some(root))),
                    2 => drop(fs::set_permissions(&path, fs::Permissions::from_mode(0o600))),
                    text => {
                        let _ = fs::create_dir_all(path.parent().unwrap());
                        let _ = fs::write(&path, text.to_string());
                    }
                }
            }
        };
        let steps: Vec<_> = steps.into_iter().filter(|(file, what)| *what != 1 || *file > 1).collect();
        let since: Vec<_> = since.into_iter().filter(|(_, what)| *what != 1).collect();
        let state = |place: &Place| {
            let tree = place.tree();
            let modes: Vec<_> = tree.keys().map(|path| mode(&place.base.join(path))).collect();
            (tree, modes)
        };
        let before = state(&place);
        let (open, fork) = place.fork();
        run(&fork, &steps);
        let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
        prop_assert_eq!(applied.conflicts, vec![]);
        run(&place.base, &since);
        let then = state(&place);
        if applied.applied.is_empty() {
            return Ok(());
        }
        let undone = open.fork().undo(&place.never).unwrap();
        if since.is_empty() {
            prop_assert_eq!(state(&place), before);
        } else if undone.undone.is_empty() {
            prop_assert_eq!(state(&place), then);
        }
    }
}
