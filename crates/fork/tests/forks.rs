//! Forks of real directories, made in a namespace of this test's own.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, open};
use rustix::mount::{MountPropagationFlags, MoveMountFlags, mount_change, move_mount};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use toolwright_fork::{Fork, Hidden};

fn directory(path: &Path) -> OwnedFd {
    open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

/// Runs a test in namespaces of its own, on a thread. `false`: this machine permits none.
fn isolated(test: impl FnOnce() + Send) -> bool {
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            // A thread of a process with several may make no user namespace, so this test needs root.
            // SAFETY: nothing else runs on this thread.
            let entered = unsafe { unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS) };
            if entered.is_err() {
                return false;
            }
            mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
            test();
            true
        });
        run.join().expect("the test")
    })
}

#[test]
fn a_fork_keeps_what_is_written_to_it() {
    let place = tempfile::tempdir().unwrap();
    let (base, seen, hidden) =
        (place.path().join("base"), place.path().join("seen"), place.path().join("hidden"));
    for directory in [&base, &seen, &hidden] {
        fs::create_dir(directory).unwrap();
    }
    fs::create_dir(base.join("objects")).unwrap();
    fs::write(base.join("objects/large"), "x").unwrap();
    fs::write(base.join("HEAD"), "one").unwrap();
    fs::write(base.join("gone"), "two").unwrap();
    let ran = isolated(|| {
        let hidden = Hidden::new(directory(&hidden));
        let fork = match Fork::new(&hidden, directory(&base), Some("objects"), |objects| {
            rustix::fs::mkdirat(objects, "info", Mode::from_raw_mode(0o755))
        }) {
            Ok(fork) => fork,
            Err(errno) => return eprintln!("skipped: no overlay here ({errno})"),
        };
        move_mount(&fork.mount, c"", CWD, &seen, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).unwrap();
        assert_eq!(fs::read_to_string(seen.join("HEAD")).unwrap(), "one");
        assert!(!seen.join("objects/large").exists());
        fs::write(seen.join("HEAD"), "changed").unwrap();
        fs::remove_file(seen.join("gone")).unwrap();
        fs::write(seen.join("objects/new"), "new").unwrap();
        let changes = format!("/proc/self/fd/{}", fork.changes.as_raw_fd());
        let changes = Path::new(&changes);
        assert_eq!(fs::read_to_string(changes.join("HEAD")).unwrap(), "changed");
        let whiteout = changes.join("gone").symlink_metadata().unwrap();
        assert!(whiteout.file_type().is_char_device() && whiteout.rdev() == 0);
        assert_eq!(fs::read_to_string(changes.join("objects/new")).unwrap(), "new");
    });
    if !ran {
        eprintln!("skipped: no mount namespace here");
    }
    assert_eq!(fs::read_to_string(base.join("HEAD")).unwrap(), "one");
    assert!(base.join("gone").exists());
    assert_eq!(fs::read_dir(base.join("objects")).unwrap().count(), 1);
}
