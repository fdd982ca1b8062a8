//! Writes of whole files: what they create, what they keep, and what others see of them.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::XattrFlags;
use rustix::io::Errno;
use support::{NEVER, RESOLVERS, Tree, checked, is_root, self_checking, tenth_of};
use toolwright_fs::{Durability, FsError, FsErrorKind, Root, WriteOptions, read, write};

fn put(root: &Root, path: &str, bytes: &[u8]) -> Result<(), FsError> {
    write(root, path, bytes, &WriteOptions::default(), &NEVER)
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn umask() -> u64 {
    let old = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    rustix::process::umask(old);
    old.as_raw_mode().into()
}

#[test]
fn new_files_and_their_parents_have_the_modes_that_the_umask_leaves() {
    for resolver in RESOLVERS {
        let tree = Tree::new();
        let root = Root::open_with(&tree.root, resolver).unwrap();
        put(&root, "a/b/c/file", b"new").unwrap();
        assert_eq!(tree.get("a/b/c/file"), b"new");
        assert_eq!(u64::from(mode(&tree.root.join("a/b/c/file"))), 0o666 & !umask());
        for parent in ["a", "a/b", "a/b/c"] {
            assert_eq!(u64::from(mode(&tree.root.join(parent))), 0o777 & !umask());
        }
        let fsync = WriteOptions { durability: Durability::Fsync, ..WriteOptions::default() };
        write(&root, "a/b/d/synced", b"new", &fsync, &NEVER).unwrap();
        assert_eq!(tree.get("a/b/d/synced"), b"new");
        assert!(tree.leftovers().is_empty());
    }
}

#[test]
fn a_replaced_file_keeps_its_mode() {
    let tree = Tree::new();
    let root = tree.open();
    for expected in [0o600, 0o640, 0o755, 0o777, 0o4755, 0o2755, 0o6711, 0o1644] {
        tree.put("file", "old");
        set_mode(&tree.root.join("file"), expected);
        put(&root, "file", b"new").unwrap();
        assert_eq!((mode(&tree.root.join("file")), tree.get("file")), (expected, b"new".to_vec()));
    }
}

#[test]
fn a_new_file_in_a_set_group_directory_belongs_to_its_group_and_a_replaced_one_to_its_own() {
    if !is_root() {
        return;
    }
    let tree = Tree::new();
    let root = tree.open();
    std::fs::create_dir(tree.root.join("shared")).unwrap();
    std::os::unix::fs::chown(tree.root.join("shared"), None, Some(4321)).unwrap();
    set_mode(&tree.root.join("shared"), 0o2775);
    put(&root, "shared/sub/new", b"new").unwrap();
    assert_eq!(tree.root.join("shared/sub/new").metadata().unwrap().gid(), 4321);
    assert_eq!(mode(&tree.root.join("shared/sub")) & 0o2000, 0o2000);
    tree.put("shared/old", "old");
    std::os::unix::fs::chown(tree.root.join("shared/old"), Some(1234), Some(99)).unwrap();
    set_mode(&tree.root.join("shared/old"), 0o4750);
    put(&root, "shared/old", b"new").unwrap();
    let meta = tree.root.join("shared/old").metadata().unwrap();
    assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o7777), (1234, 99, 0o4750));
}

/// An access list in the kernel's form: owner rw, user 4242 `named`, group `group`, mask rw, others
/// nothing.
fn access_list(named: u16, group: u16) -> Vec<u8> {
    let entry = |tag: u16, permissions: u16, id: u32| {
        [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [
        2_u32.to_le_bytes().to_vec(),
        entry(0x01, 6, u32::MAX),
        entry(0x02, named, 4242),
        entry(0x04, group, u32::MAX),
        entry(0x10, 6, u32::MAX),
        entry(0x20, 0, u32::MAX),
    ]
    .concat()
}

fn get_xattr(path: &Path, name: &str) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; 70_000];
    let size = rustix::fs::getxattr(path, name, &mut value[..])?;
    value.truncate(size);
    Ok(value)
}

fn set_xattr(path: &Path, name: &str, value: &[u8]) -> bool {
    rustix::fs::setxattr(path, name, value, XattrFlags::empty()).is_ok()
}

#[test]
fn extended_attributes_and_access_lists_are_kept() {
    let tree = Tree::new();
    let root = tree.open();
    tree.put("file", "old");
    let path = tree.root.join("file");
    let large = vec![b'x'; 3000];
    for (name, value) in
        [("user.small", &b"value"[..]), ("user.large", &large), ("user.empty", b"")]
    {
        if !set_xattr(&path, name, value) {
            return; // a file system without
        }
        put(&root, "file", b"new").unwrap();
        assert_eq!(get_xattr(&path, name).unwrap(), value);
    }
    let list = access_list(6, 4);
    if set_xattr(&path, "system.posix_acl_access", &list) {
        let before = mode(&path);
        put(&root, "file", b"newer").unwrap();
        assert_eq!(get_xattr(&path, "system.posix_acl_access").unwrap(), list);
        assert_eq!(mode(&path), before);
    }
    assert_eq!(get_xattr(&path, "user.small").unwrap(), b"value");
}

#[test]
fn a_replaced_file_gets_no_access_list_that_it_did_not_have() {
    let tree = Tree::new();
    let root = tree.open();
    tree.put("dir/file", "old");
    set_mode(&tree.root.join("dir/file"), 0o660);
    if !set_xattr(&tree.root.join("dir"), "system.posix_acl_default", &access_list(6, 4)) {
        return; // a file system without
    }
    put(&root, "dir/file", b"new").unwrap();
    let list = get_xattr(&tree.root.join("dir/file"), "system.posix_acl_access");
    assert!(list.is_err(), "user 4242 could not read the old file: {list:?}");
    assert_eq!(mode(&tree.root.join("dir/file")), 0o660);
    // A new file takes the directory's default instead.
    put(&root, "dir/new", b"new").unwrap();
    assert!(get_xattr(&tree.root.join("dir/new"), "system.posix_acl_access").is_ok());
}

#[test]
fn a_write_through_a_link_replaces_the_target_and_keeps_the_link() {
    for resolver in RESOLVERS {
        let tree = Tree::new();
        let root = Root::open_with(&tree.root, resolver).unwrap();
        tree.put("real/file", "old");
        tree.link("real/file", "link");
        tree.link(tree.root.join("link"), "link-to-link");
        tree.link("real", "directory");
        for (path, bytes) in [("link", b"1"), ("link-to-link", b"2"), ("directory/file", b"3")] {
            put(&root, path, bytes).unwrap();
            assert_eq!(tree.get("real/file"), bytes);
        }
        assert!(tree.root.join("link").is_symlink() && tree.root.join("link-to-link").is_symlink());
        assert_eq!(std::fs::read_dir(tree.root.join("real")).unwrap().count(), 1);
    }
}

#[test]
fn a_hard_link_is_broken_and_the_other_name_keeps_its_bytes() {
    let tree = Tree::new();
    let elsewhere = tree.outside.join("linked");
    std::fs::write(&elsewhere, "shared").unwrap();
    std::fs::hard_link(&elsewhere, tree.root.join("file")).unwrap();
    put(&tree.open(), "file", b"new").unwrap();
    assert_eq!(std::fs::read(&elsewhere).unwrap(), b"shared");
    assert_eq!(tree.get("file"), b"new");
}

#[test]
fn names_may_be_as_long_as_the_file_system_allows() {
    let tree = Tree::new();
    let root = tree.open();
    let longest = "n".repeat(255);
    for path in [longest.clone(), format!("{longest}/{longest}/é{}", &longest[2..])] {
        let tree = if path.len() == 255 { &tree } else { &Tree::new() };
        let root = if path.len() == 255 { &root } else { &tree.open() };
        for content in [b"first", b"again"] {
            put(root, &path, content).unwrap();
            assert_eq!(tree.get(&path), content);
        }
    }
    let error = put(&root, &"n".repeat(256), b"x").unwrap_err();
    assert!(matches!(error, FsError { kind: FsErrorKind::PathInvalid { .. }, .. }), "{error:?}");
}

#[test]
fn parents_that_were_created_are_removed_again_on_an_error() {
    let tree = Tree::new();
    let root = tree.open();
    std::fs::create_dir(tree.root.join("there")).unwrap();
    let too_long = format!("there/a/b/{}", "n".repeat(256));
    assert!(put(&root, &too_long, b"x").is_err());
    assert!(put(&root, "there/a/../../../outside/file", b"x").is_err());
    assert!(put(&root, "there/a/b/..", b"x").is_err());
    assert_eq!(tree.listing(), ["there"]);
}

#[test]
fn a_cancelled_write_leaves_nothing() {
    let tree = Tree::new();
    let root = tree.open();
    let cancel = AtomicBool::new(true);
    let options = WriteOptions::default();
    let answer = write(&root, "a/b/file", b"x", &options, &cancel);
    assert!(matches!(answer, Err(FsError { kind: FsErrorKind::Cancelled, .. })));
    assert!(tree.listing().is_empty());
    // In the middle: the flag is checked between strides, and a gigabyte has many.
    let large = vec![0; 256 << 20];
    for delay in [0, 1, 5, 20] {
        cancel.store(false, Ordering::Relaxed);
        let answer = std::thread::scope(|scope| {
            let call = scope.spawn(|| write(&root, "a/b/file", &large, &options, &cancel));
            std::thread::sleep(Duration::from_millis(delay));
            cancel.store(true, Ordering::Relaxed);
            call.join().unwrap()
        });
        assert!(matches!(answer, Err(FsError { kind: FsErrorKind::Cancelled, .. })), "{answer:?}");
        assert!(tree.listing().is_empty(), "{:?}", tree.listing());
    }
}

#[test]
fn readers_see_the_old_or_the_new_bytes_and_never_a_mixture() {
    let tree = Tree::new();
    let root = tree.open();
    let options = WriteOptions::default();
    put(&root, "file", &self_checking(0, 10)).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut seen, mut last) = (0, 0);
            while !done.load(Ordering::Relaxed) {
                let by_us = read(&root, "file", 1 << 20, &NEVER).unwrap();
                for bytes in [by_us, tree.get("file")] {
                    let tag = checked(&bytes).expect("a version in full");
                    assert!(tag >= last, "an older version came back");
                    last = tag;
                    seen += 1;
                }
            }
            seen
        });
        for tag in 1..=tenth_of(20_000) as u64 {
            let length = [1, 100, 5_000, 190_000][usize::try_from(tag % 4).unwrap()];
            let bytes = self_checking(tag, length);
            if tag % 3 == 0 {
                toolwright_fs::update::<()>(&root, "file", 1 << 20, &options, &NEVER, |_| {
                    Ok(bytes)
                })
                .unwrap();
            } else {
                put(&root, "file", &bytes).unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 100);
    });
    assert!(tree.leftovers().is_empty());
}

#[test]
fn many_writers_at_once_leave_one_of_their_versions_in_full() {
    let tree = Tree::new();
    let root = tree.open();
    std::thread::scope(|scope| {
        for tag in 0..64_u64 {
            let root = &root;
            scope.spawn(move || {
                for round in 0..20 {
                    put(root, "same", &self_checking(tag, 20_000)).unwrap();
                    put(root, &format!("own-{tag}"), &self_checking(round, 100)).unwrap();
                }
            });
        }
    });
    assert!(checked(&tree.get("same")).is_some());
    assert!((0..64).all(|tag| checked(&tree.get(&format!("own-{tag}"))) == Some(19)));
    assert_eq!(tree.listing().len(), 65);
}

#[test]
fn creators_of_the_same_parents_do_not_fail_when_others_take_theirs_back() {
    for resolver in RESOLVERS {
        for _ in 0..tenth_of(500) {
            let tree = Tree::new();
            let root = Root::open_with(&tree.root, resolver).unwrap();
            std::thread::scope(|scope| {
                for number in 0..8 {
                    let root = &root;
                    scope.spawn(move || {
                        // Every other one fails after it has created the parents, and removes them.
                        if number % 2 == 0 {
                            put(root, &format!("a/b/c/d/{number}"), b"new").unwrap();
                        } else {
                            let path = format!("a/b/c/d/{}", "n".repeat(256));
                            assert!(put(root, &path, b"x").is_err());
                        }
                    });
                }
            });
            assert_eq!(tree.listing().len(), 4 + 4, "{:?}", tree.listing());
        }
    }
}
