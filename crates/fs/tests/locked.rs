//! A directory that another program has locked: an edit waits a little, and its result is correct.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::FlockOperation;
use support::{NEVER, Tree};
use toolwright_fs::{FsError, FsErrorKind, UpdateError, Updated, WriteOptions, update};

fn appended(tree: &Tree, wait: Duration, cancel: &AtomicBool) -> Result<Updated, UpdateError<()>> {
    let options = WriteOptions { wait, ..WriteOptions::default() };
    update(&tree.open(), "file", 1 << 20, &options, cancel, |old| Ok([old, b"more\n"].concat()))
}

fn locked(tree: &Tree) -> File {
    let directory = File::open(&tree.root).unwrap();
    rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive).unwrap();
    directory
}

#[test]
fn an_edit_that_may_not_wait_is_busy_and_changes_nothing() {
    let tree = Tree::new();
    tree.put("file", "old\n");
    let _lock = locked(&tree);
    let answer = appended(&tree, Duration::from_millis(5), &NEVER);
    assert!(
        matches!(answer, Err(UpdateError::Fs(FsError { kind: FsErrorKind::Busy { .. }, .. }))),
        "{answer:?}"
    );
    assert_eq!(tree.get("file"), b"old\n");
    assert!(tree.leftovers().is_empty());
}

#[test]
fn an_edit_that_may_wait_goes_on_without_the_lock_of_a_stranger() {
    let tree = Tree::new();
    tree.put("file", "old\n");
    let _lock = locked(&tree);
    appended(&tree, Duration::from_secs(60), &NEVER).unwrap();
    assert_eq!(tree.get("file"), b"old\nmore\n");
}

#[test]
fn an_edit_that_is_cancelled_while_it_waits_never_lands() {
    let tree = Tree::new();
    tree.put("file", "old\n");
    let _lock = locked(&tree);
    let cancel = AtomicBool::new(false);
    let answer = std::thread::scope(|scope| {
        let edit = scope.spawn(|| appended(&tree, Duration::from_secs(60), &cancel));
        std::thread::sleep(Duration::from_millis(50));
        cancel.store(true, Ordering::Relaxed);
        edit.join().unwrap()
    });
    assert!(
        matches!(answer, Err(UpdateError::Fs(FsError { kind: FsErrorKind::Cancelled, .. }))),
        "{answer:?}"
    );
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(tree.get("file"), b"old\n");
    assert!(tree.leftovers().is_empty());
}

#[test]
fn a_new_file_is_not_given_a_name_that_stands_for_another() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let tree = Tree::new();
    std::fs::write(tree.root.join(OsStr::from_bytes(b"bad\xff.txt")), "old").unwrap();
    let options = WriteOptions::default();
    let refused = toolwright_fs::write(&tree.open(), "bad\u{fffd}.txt", b"new", &options, &NEVER)
        .unwrap_err();
    assert!(
        matches!(refused, FsError { kind: FsErrorKind::PathInvalid { .. }, .. }),
        "{refused:?}"
    );
    assert_eq!(tree.listing().len(), 1);
    // A file that really has the character in its name can be written.
    tree.put("real\u{fffd}.txt", "old");
    toolwright_fs::write(&tree.open(), "real\u{fffd}.txt", b"new", &options, &NEVER).unwrap();
    assert_eq!(tree.get("real\u{fffd}.txt"), b"new");
}
