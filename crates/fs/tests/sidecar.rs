//! Sidecar files: private, new, and bounded.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;
use toolwright_fs::Sidecar;

fn private() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o700)).unwrap();
    directory
}

fn refused(directory: &Path, name: &str) -> bool {
    Sidecar::create(directory, name, 10).is_err()
}

#[test]
fn a_sidecar_is_new_and_readable_by_its_owner_alone() {
    let directory = private();
    let mut sidecar = Sidecar::create(directory.path(), "bash-output-1", 100).unwrap();
    assert!(sidecar.write(b"one").unwrap() && sidecar.write(b"two").unwrap());
    assert_eq!((sidecar.bytes(), sidecar.is_full()), (6, false));
    assert_eq!(std::fs::read(sidecar.path()).unwrap(), b"onetwo");
    let mode = std::fs::metadata(sidecar.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(refused(directory.path(), "bash-output-1"), "it is there already");
}

#[test]
fn links_and_shared_directories_are_refused() {
    let directory = private();
    let outside = private();
    std::os::unix::fs::symlink(outside.path().join("x"), directory.path().join("link")).unwrap();
    assert!(refused(directory.path(), "link") && !outside.path().join("x").exists());
    std::os::unix::fs::symlink(directory.path(), outside.path().join("way")).unwrap();
    assert!(refused(&outside.path().join("way"), "a"));
    for name in ["", ".", "..", "a/b", "../a", "a\0b"] {
        assert!(refused(directory.path(), name), "{name:?}");
    }
    assert!(refused(Path::new("relative"), "a"));
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o770)).unwrap();
    assert!(refused(directory.path(), "a"));
}

#[test]
fn at_the_limit_the_last_line_says_so() {
    let directory = private();
    let mut exact = Sidecar::create(directory.path(), "exact", 6).unwrap();
    assert!(exact.write("ab漢x".as_bytes()).unwrap() && !exact.is_full());
    let mut over = Sidecar::create(directory.path(), "over", 4).unwrap();
    assert!(!over.write("ab漢x".as_bytes()).unwrap() && over.is_full());
    assert!(!over.write(b"more").unwrap());
    let text = std::fs::read_to_string(over.path()).unwrap();
    assert_eq!(text, "ab\n[stopped here: the limit of 4 bytes is reached]\n");
    assert_eq!(over.bytes(), text.len() as u64);
}
