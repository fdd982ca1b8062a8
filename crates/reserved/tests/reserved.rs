//! What is reserved, for how long, and by which of its names.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

fn numbers(path: &Path) -> (u64, u64) {
    let metadata = fs::metadata(path).expect("there");
    (metadata.dev(), metadata.ino())
}

#[test]
fn a_file_is_reserved_under_all_its_names_until_the_last_reservation_is_gone() {
    let directory = tempfile::tempdir().expect("directory");
    let (path, absent) = (directory.path().join("runs.db"), directory.path().join("runs.db-wal"));
    fs::write(&path, "rows").expect("written");
    let (device, inode) = numbers(&path);
    assert!(!toolwright_reserved::holds(device, inode));

    let first = toolwright_reserved::reserve(vec![path.clone(), absent.clone()]);
    let second = toolwright_reserved::reserve(vec![path.clone()]);
    let other = directory.path().join("other");
    fs::hard_link(&path, &other).expect("linked");
    let (device, inode) = numbers(&other);
    assert!(toolwright_reserved::holds(device, inode));
    assert!(toolwright_reserved::may_be(b"runs.db-wal", 0));
    assert!(toolwright_reserved::may_be(b"other", inode));
    assert!(toolwright_reserved::is_at(&absent));
    assert_eq!(toolwright_reserved::paths(), [path.clone(), absent]);

    // A descriptor that is handed over stays open as long as the file is reserved.
    let opened = OwnedFd::from(fs::File::open(&path).expect("opened"));
    toolwright_reserved::keep(opened);
    drop(first);
    assert!(toolwright_reserved::holds(device, inode));
    drop(second);
    assert!(!toolwright_reserved::holds(device, inode));
    assert!(!toolwright_reserved::is_any());
}
