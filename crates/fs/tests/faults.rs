//! A system that refuses: every failure is typed and changes nothing.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit};
use support::children::{mount, unshared};
use support::{NEVER, Tree, is_root, kind, snapshot, tenth_of};
use toolwright_fs::{
    Durability, FsError, FsErrorKind, Refusal, Root, UpdateError, WriteOptions, read, update, write,
};

const IN_PLACE: WriteOptions = WriteOptions {
    durability: Durability::Fsync,
    allow_in_place: true,
    wait: Duration::from_secs(60),
    protected: Vec::new(),
    git: toolwright_fs::GitBorder::Open,
};

fn put(root: &Root, path: &str, bytes: &[u8]) -> Result<(), FsError> {
    write(root, path, bytes, &WriteOptions::default(), &NEVER)
}

fn edit(root: &Root, path: &str, bytes: &[u8], options: &WriteOptions) -> Result<(), FsError> {
    let answer = update::<()>(root, path, 1 << 20, options, &NEVER, |_| Ok(bytes.to_vec()));
    answer.map(drop).map_err(|error| match error {
        UpdateError::Fs(error) => error,
        UpdateError::Refused(()) => unreachable!(),
    })
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs `call`, which must fail as expected, name its path, and change nothing.
#[track_caller]
fn refused<T: std::fmt::Debug>(
    directory: &Path,
    (path, code, errno): (&str, &str, &str),
    call: impl FnOnce() -> Result<T, FsError>,
) -> FsError {
    let before = snapshot(directory);
    let error = call().unwrap_err();
    assert_eq!((kind(&error), error.errno()), (code, Some(errno)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&format!("`{path}`")) && text.contains(errno), "{text}");
    assert_eq!(snapshot(directory), before, "{text}");
    error
}

#[test]
fn a_full_disk_changes_nothing() {
    let Some(directory) = support::child_argument() else {
        unshared("a_full_disk_changes_nothing", &Tree::new());
        return;
    };
    let directory = Path::new(&directory);
    mount(&["-t", "tmpfs", "-o", "size=256k", "none"], directory);
    let root = Root::open(directory).unwrap();
    let large = vec![1; 300_000];
    put(&root, "old", &large[..50_000]).unwrap();
    put(&root, "bound", b"bound").unwrap();
    let full = |path| (path, "Io", "ENOSPC");
    refused(directory, full("old"), || put(&root, "old", &large));
    refused(directory, full("a/b/new"), || put(&root, "a/b/new", &large));
    refused(directory, full("old"), || edit(&root, "old", &large, &WriteOptions::default()));
    refused(directory, full("old"), || edit(&root, "old", &large, &IN_PLACE));
    // A write in place keeps the old content too, because space is reserved before anything is
    // overwritten.
    let bound = directory.join("bound");
    mount(&["--bind", bound.to_str().unwrap()], &bound);
    refused(directory, full("bound"), || write(&root, "bound", &large, &IN_PLACE, &NEVER));
    refused(directory, full("bound"), || edit(&root, "bound", &large, &IN_PLACE));
    // A file that fits beside the old content can still be written.
    put(&root, "old", b"fits").unwrap();
}

/// A replaced file is closed, and its space freed, after the call that replaced it.
#[test]
fn room_for_two_copies_is_room_for_any_number_of_writes() {
    let Some(directory) = support::child_argument() else {
        unshared("room_for_two_copies_is_room_for_any_number_of_writes", &Tree::new());
        return;
    };
    let directory = Path::new(&directory);
    mount(&["-t", "tmpfs", "-o", "size=2112k", "none"], directory);
    let root = Root::open(directory).unwrap();
    for round in 0..tenth_of(1000) {
        let bytes = vec![u8::try_from(round % 251).unwrap(); 1 << 20];
        match round % 3 {
            0 | 1 => put(&root, "file", &bytes),
            _ => edit(&root, "file", &bytes, &WriteOptions::default()),
        }
        .unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert!(std::fs::read(directory.join("file")).unwrap() == bytes, "round {round}");
    }
}

#[test]
fn a_read_only_file_system_changes_nothing() {
    let Some(directory) = support::child_argument() else {
        unshared("a_read_only_file_system_changes_nothing", &Tree::new());
        return;
    };
    let directory = Path::new(&directory);
    mount(&["-t", "tmpfs", "none"], directory);
    let root = Root::open(directory).unwrap();
    put(&root, "old", b"old").unwrap();
    drop(root);
    mount(&["-o", "remount,ro"], directory);
    let root = Root::open(directory).unwrap();
    let read_only = |path| (path, "Permission", "EROFS");
    for options in [WriteOptions::default(), IN_PLACE] {
        refused(directory, read_only("old"), || write(&root, "old", b"new", &options, &NEVER));
        refused(directory, read_only("new"), || write(&root, "new", b"new", &options, &NEVER));
        refused(directory, read_only("a/b"), || write(&root, "a/b", b"new", &options, &NEVER));
        refused(directory, read_only("old"), || edit(&root, "old", b"new", &options));
    }
    assert_eq!(read(&root, "old", 10, &NEVER).unwrap(), b"old");
}

#[test]
fn a_bind_mounted_file_is_refused_or_overwritten_in_place() {
    let Some(directory) = support::child_argument() else {
        let tree = Tree::new();
        tree.put("source", "old");
        tree.put("mounted", "hidden");
        if unshared("a_bind_mounted_file_is_refused_or_overwritten_in_place", &tree) {
            assert_eq!(tree.get("source"), b"edited in place, and now longer");
            assert_eq!(tree.get("mounted"), b"hidden");
        }
        return;
    };
    let directory = Path::new(&directory);
    let root = Root::open(directory).unwrap();
    let mounted = directory.join("mounted");
    mount(&["--bind", directory.join("source").to_str().unwrap()], &mounted);
    let busy = ("mounted", "NotReplaceable", "EBUSY");
    for error in [
        refused(directory, busy, || put(&root, "mounted", b"new")),
        refused(directory, busy, || edit(&root, "mounted", b"new", &WriteOptions::default())),
    ] {
        assert!(matches!(
            error,
            FsError { kind: FsErrorKind::NotReplaceable { refusal: Refusal::MountPoint, .. }, .. }
        ));
    }
    write(&root, "mounted", b"in place", &IN_PLACE, &NEVER).unwrap();
    assert_eq!(std::fs::read(&mounted).unwrap(), b"in place");
    write(&root, "mounted", b"", &IN_PLACE, &NEVER).unwrap();
    edit(&root, "mounted", b"edited in place, and now longer", &IN_PLACE).unwrap();
    let names: Vec<_> = snapshot(directory);
    assert!(!names.iter().any(|name| name.contains(".toolwright")), "{names:?}");
}

#[test]
fn too_many_open_files_change_nothing() {
    const TEST: &str = "too_many_open_files_change_nothing";
    let Some(directory) = support::child_argument() else {
        let tree = Tree::new();
        tree.put("dir/old", "old");
        tree.link("dir/old", "link");
        let status = support::child(TEST, tree.root.to_str().unwrap()).status().unwrap();
        assert!(status.success());
        return;
    };
    let directory = Path::new(&directory);
    let before = rustix::process::getrlimit(Resource::Nofile);
    let used = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    let mut failures = 0;
    for spare in 0..12 {
        for resolver in support::RESOLVERS {
            for number in 0..6 {
                let root = Root::open_with(directory, resolver).unwrap();
                std::fs::write(directory.join("dir/old"), "old").unwrap();
                let _ = std::fs::remove_dir_all(directory.join("a"));
                let state = snapshot(directory);
                // One is the root's. The count above includes the one for the listing.
                let tight = Rlimit { current: Some(used + spare), ..before };
                rustix::process::setrlimit(Resource::Nofile, tight).unwrap();
                let options = if number % 2 == 0 { IN_PLACE } else { WriteOptions::default() };
                let (path, answer) = match number {
                    0 => ("link", read(&root, "link", 10, &NEVER).map(drop)),
                    1 | 2 => ("link", write(&root, "link", b"new", &options, &NEVER)),
                    3 => ("a/b/c/new", write(&root, "a/b/c/new", b"new", &options, &NEVER)),
                    _ => ("dir/old", edit(&root, "dir/old", b"new", &options)),
                };
                rustix::process::setrlimit(Resource::Nofile, before).unwrap();
                if let Err(error) = answer {
                    failures += 1;
                    let what = format!("{path}, {spare} spare, {resolver:?}: {error:?}");
                    assert_eq!(error.errno(), Some("EMFILE"), "{what}");
                    assert_eq!(kind(&error), "Io", "{what}");
                    assert_eq!(snapshot(directory), state, "{what}");
                } else if number > 0 {
                    assert_ne!(snapshot(directory), state);
                }
            }
        }
    }
    println!("{failures} failures for want of descriptors");
    assert!(failures > 10);
}

#[test]
fn a_file_over_the_size_limit_of_the_process_changes_nothing_and_kills_nobody() {
    const TEST: &str = "a_file_over_the_size_limit_of_the_process_changes_nothing_and_kills_nobody";
    let Some(directory) = support::child_argument() else {
        let tree = Tree::new();
        tree.put("old", "old");
        let status = support::child(TEST, tree.root.to_str().unwrap()).status().unwrap();
        assert!(status.success(), "{status}");
        return;
    };
    let directory = Path::new(&directory);
    let root = Root::open(directory).unwrap();
    let before = rustix::process::getrlimit(Resource::Fsize);
    let tight = Rlimit { current: Some(10_000), ..before };
    rustix::process::setrlimit(Resource::Fsize, tight).unwrap();
    let large = vec![0; 10_001];
    for options in [WriteOptions::default(), IN_PLACE] {
        let too_big = |path| (path, "Io", "EFBIG");
        refused(directory, too_big("old"), || write(&root, "old", &large, &options, &NEVER));
        refused(directory, too_big("a/new"), || write(&root, "a/new", &large, &options, &NEVER));
        refused(directory, too_big("old"), || edit(&root, "old", &large, &options));
    }
    put(&root, "old", &large[..10_000]).unwrap();
}

#[test]
fn permissions_are_respected_and_explained() {
    const TEST: &str = "permissions_are_respected_and_explained";
    let Some(directory) = support::child_argument() else {
        let tree = Tree::new();
        for (name, mode) in [
            ("closed/file", 0o666),
            ("open/plain", 0o666),
            ("open/read-only", 0o444),
            ("open/secret", 0o000),
            ("open/write-only", 0o222),
            ("open/write-only-marked", 0o222),
            ("locked/file", 0o666),
        ] {
            tree.put(name, "old");
            chmod(&tree.root.join(name), mode);
        }
        let marked = tree.root.join("open/write-only-marked");
        let _ = rustix::fs::setxattr(&marked, "user.mark", b"1", rustix::fs::XattrFlags::empty());
        tree.put("open/others", "old");
        chmod(&tree.root.join("open/others"), 0o666);
        let mut command = support::child(TEST, tree.root.to_str().unwrap());
        if is_root() {
            for name in [
                "closed",
                "open",
                "locked",
                "open/plain",
                "open/read-only",
                "open/secret",
                "open/write-only",
                "open/write-only-marked",
                "closed/file",
            ] {
                std::os::unix::fs::chown(tree.root.join(name), Some(65534), Some(65534)).unwrap();
            }
            command.uid(65534).gid(65534);
        }
        for (name, mode) in [("..", 0o755), ("closed", 0o555), ("open", 0o777), ("locked", 0o000)] {
            chmod(&tree.root.join(name), mode);
        }
        let status = command.status().unwrap();
        for name in ["closed", "locked"] {
            chmod(&tree.root.join(name), 0o777); // so that they can be removed
        }
        assert!(status.success());
        return;
    };
    respected_and_explained(Path::new(&directory));
}

fn respected_and_explained(base: &Path) {
    assert!(!is_root());
    let root = Root::open(base).unwrap();
    let denied = |path| (path, "Permission", "EACCES");
    let open = base.join("open");
    refused(&open, denied("open/secret"), || read(&root, "open/secret", 10, &NEVER));
    refused(&open, denied("open/secret"), || put(&root, "open/secret", b"new"));
    refused(&open, denied("open/read-only"), || put(&root, "open/read-only", b"new"));
    let with = WriteOptions::default();
    refused(&open, denied("open/read-only"), || edit(&root, "open/read-only", b"new", &with));
    refused(&open, denied("locked/file"), || read(&root, "locked/file", 10, &NEVER));
    refused(&open, denied("locked/file"), || put(&root, "locked/file", b"new"));
    refused(&open, denied("closed/new"), || put(&root, "closed/new", b"new"));
    refused(&open, denied("closed/a/new"), || put(&root, "closed/a/new", b"new"));

    // Its directory is not writable.
    let closed = base.join("closed");
    let no = ("closed/file", "NotReplaceable", "EACCES");
    for error in [
        refused(&closed, no, || put(&root, "closed/file", b"new")),
        refused(&closed, no, || edit(&root, "closed/file", b"new", &with)),
    ] {
        let FsError { kind: FsErrorKind::NotReplaceable { refusal, .. }, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!(refusal, Refusal::DirectoryNotWritable);
    }
    write(&root, "closed/file", b"in place", &IN_PLACE, &NEVER).unwrap();
    edit(&root, "closed/file", b"edited", &IN_PLACE).unwrap();
    assert_eq!(std::fs::read(closed.join("file")).unwrap(), b"edited");

    // Writing clears the set-id bits unless a privileged user writes.
    std::fs::write(open.join("set-id"), "old").unwrap();
    chmod(&open.join("set-id"), 0o6755);
    put(&root, "open/set-id", b"new").unwrap();
    assert_eq!(open.join("set-id").metadata().unwrap().mode() & 0o7777, 0o6755);

    // It may be written, but not read.
    put(&root, "open/write-only", b"new and longer").unwrap();
    let meta = open.join("write-only").metadata().unwrap();
    assert_eq!((meta.len(), meta.mode() & 0o7777), (14, 0o222));
    let marked = "open/write-only-marked";
    let has_mark = rustix::fs::listxattr_query(base.join(marked)).is_ok_and(|size| size > 0);
    if has_mark {
        let no = (marked, "NotReplaceable", "EACCES");
        refused(&open, no, || put(&root, marked, b"new"));
        write(&root, marked, b"in place", &IN_PLACE, &NEVER).unwrap();
    }

    // It belongs to another user, who allows every user to write to it.
    let others = open.join("others").metadata().unwrap();
    if others.uid() == rustix::process::geteuid().as_raw() {
        println!("skipped: only root can give the test a stranger's file");
        return;
    }
    let no = ("open/others", "NotReplaceable", "EPERM");
    for error in [
        refused(&open, no, || put(&root, "open/others", b"new")),
        refused(&open, no, || edit(&root, "open/others", b"new", &with)),
    ] {
        let FsError { kind: FsErrorKind::NotReplaceable { refusal, .. }, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!(refusal, Refusal::OwnerNotKeepable);
    }
    write(&root, "open/others", b"in place", &IN_PLACE, &NEVER).unwrap();
    let after = open.join("others").metadata().unwrap();
    assert_eq!((after.uid(), after.ino(), after.len()), (others.uid(), others.ino(), 8));
}

#[test]
fn a_root_that_vanishes_during_a_call_is_not_made_again() {
    for into in ["removed", "moved"] {
        let tree = Tree::new();
        tree.put("dir/file", "old");
        let root = tree.open();
        let away = tree.base.path().join("away");
        let answer = update::<()>(&root, "dir/file", 100, &WriteOptions::default(), &NEVER, |_| {
            match into {
                "removed" => std::fs::remove_dir_all(&tree.root).unwrap(),
                _ => std::fs::rename(&tree.root, &away).unwrap(),
            }
            Ok(b"new".to_vec())
        });
        assert!(!tree.root.exists());
        if into == "removed" {
            let Err(UpdateError::Fs(error)) = answer else { panic!("{answer:?}") };
            assert!(["NotFound", "Conflict"].contains(&kind(&error)));
        } else {
            // Within one call the root is the directory that was opened, wherever it is.
            answer.unwrap();
            assert_eq!(std::fs::read(away.join("dir/file")).unwrap(), b"new");
        }
    }
}

#[test]
fn no_descriptor_is_left_open() {
    const TEST: &str = "no_descriptor_is_left_open";
    let Some(directory) = support::child_argument() else {
        let tree = Tree::new();
        tree.link("../outside", "out");
        let status = support::child(TEST, tree.root.to_str().unwrap()).status().unwrap();
        assert!(status.success());
        return;
    };
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let directory = Path::new(&directory);
    let round = |number: usize| {
        let resolver = support::RESOLVERS[number % 2];
        let root = Root::open_with(directory, resolver).unwrap();
        let options = if number.is_multiple_of(16) { IN_PLACE } else { WriteOptions::default() };
        let _ = write(&root, "a/b/file", b"old", &options, &NEVER);
        let _ = edit(&root, "a/../a/b/file", b"new", &options);
        let _ = read(&root, "a/b/file", 1, &NEVER);
        let _ = write(&root, "out/file", b"old", &options, &NEVER);
        let _ = write(&root, "a/b/file/c", b"old", &options, &NEVER);
        let _ = update::<()>(&root, "a/b/file", 100, &options, &NEVER, |_| {
            std::fs::write(directory.join("a/b/file"), number.to_string()).unwrap();
            Ok(b"lost".to_vec())
        });
        let _ = root.open_directory("a/b");
        let _ = root.open_file("nope");
    };
    round(0);
    let before = open();
    let rounds = tenth_of(10_000) / 8;
    for number in 0..rounds {
        round(number);
    }
    // The last replaced files are closed soon after their calls.
    let patience = Instant::now() + Duration::from_secs(5);
    while open() > before && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Fewer, if one of the first round was still open.
    let left = open();
    assert!(left <= before, "{left} of {before} after {} calls", rounds * 8);
}
