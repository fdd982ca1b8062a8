//! File systems that can neither exchange two files nor rename without replacing, and two copies of this
//! library in one process.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::convert::Infallible;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::{Change, ChangeLimits, ChangeSet, FileChange, Judge, Place, plan_in, settle, stage};
use crate::publish::WITHOUT_FLAGS;
use crate::temporary::PlanState;
use crate::{FsErrorKind, GitBorder, Root, UpdateError, WriteOptions};

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_replaced_where_they_cannot_be_exchanged() {
    WITHOUT_FLAGS.set(true);
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    let get = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    let root = Root::open(directory.path()).unwrap();
    let at = |path, change| FileChange { place: Place::Path(path), change };
    let changes = [
        at("a", Change::Update),
        at("b", Change::Delete),
        at("c", Change::Create { mode: None }),
        at("d", Change::Update),
    ];
    let set =
        ChangeSet { root: &root, changes: &changes, emptied: &[], limits: ChangeLimits::default() };
    for theirs in [None, Some("a"), Some("b"), Some("c"), Some("d")] {
        for name in ["a", "b", "d"] {
            put(name, "1");
        }
        let _ = std::fs::remove_file(directory.path().join("c"));
        let cancel = AtomicBool::new(false);
        let answer = set.run(&WriteOptions::default(), &cancel, |index, _| {
            if let (3, Some(name)) = (index, theirs) {
                put(name, "theirs");
            }
            Ok::<_, Infallible>(b"2".to_vec())
        });
        match theirs {
            None => {
                answer.unwrap();
                assert_eq!(names(directory.path()), ["a", "c", "d"]);
                assert_eq!(["a", "c", "d"].map(get), ["2", "2", "2"]);
            }
            Some(theirs) => {
                let Err(UpdateError::Fs(error)) = answer else { panic!("{theirs} is refused") };
                assert!(matches!(error.kind, FsErrorKind::Conflict), "{error:?}");
                let expected: &[&str] =
                    if theirs == "c" { &["a", "b", "c", "d"] } else { &["a", "b", "d"] };
                assert_eq!(names(directory.path()), expected);
                for name in expected {
                    assert_eq!(get(name), if *name == theirs { "theirs" } else { "1" });
                }
            }
        }
    }
    WITHOUT_FLAGS.set(false);
}

#[test]
fn a_second_copy_of_the_library_leaves_a_running_set_alone() {
    let directory = tempfile::tempdir().unwrap();
    let root = Root::open(directory.path()).unwrap();
    let (set, active, draft) = stage::draft(root.as_fd(), "").unwrap();
    drop(active); // the other copy has its own list of them
    let judge = Judge { may_change: &|_| true, git: GitBorder::Open };
    settle(root.as_fd(), set, PlanState::Draft, judge).unwrap();
    assert_eq!(plan_in(root.as_fd(), set), Some(PlanState::Draft));
    drop(draft);
    settle(root.as_fd(), set, PlanState::Draft, judge).unwrap();
    assert_eq!(plan_in(root.as_fd(), set), None);
}
