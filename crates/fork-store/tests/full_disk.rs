//! A store on a file system that is full.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use support::{sh, view};
use toolwright_fork_store::{Apply, ForkError, Store};

/// Runs a test on a thread with mounts of its own. `false`: this takes root.
fn with_own_mounts(test: impl FnOnce() + Send) -> bool {
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            // SAFETY: the flags do not unshare the table of descriptors, and the thread ends with the test.
            let entered = unsafe { unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS) };
            if entered.is_err() {
                return false;
            }
            mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
            test();
            true
        });
        run.join().unwrap()
    })
}

#[test]
fn a_full_disk_is_told_and_nothing_of_the_base_is_lost() {
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let above = temporary.path().canonicalize().unwrap();
    let [base, disk] = ["base", "disk"].map(|name| above.join(name));
    for directory in [&base, &disk] {
        fs::create_dir(directory).unwrap();
    }
    for number in 0..50 {
        fs::write(base.join(format!("f{number}")), "base").unwrap();
    }
    fs::write(base.join("large"), vec![b'x'; 3 << 20]).unwrap();
    let ran = with_own_mounts(|| {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("tmpfs", &disk, "tmpfs", flags, Some(c"size=2m,nr_inodes=300")).unwrap();
        let never = std::sync::atomic::AtomicBool::new(false);
        let store = Store::open(&disk.join("forks"), Vec::new()).unwrap();
        let open = match store.fork(&base, None) {
            Ok(open) => open,
            Err(ForkError::Unavailable { reason, .. }) => return eprintln!("skipped: {reason}"),
            Err(error) => panic!("{error}"),
        };
        let fork = view(&open);
        fs::write(fork.join("f1"), "fork").unwrap();
        // To append to it is to copy it, for which there is no room.
        let output = sh(&open, "echo more >> large || echo refused; cat f1");
        assert!(output.ends_with("refused\nfork"), "{output}");
        assert!(fs::write(fork.join("new"), vec![0; 4 << 20]).is_err());
        fs::remove_file(fork.join("new")).unwrap();
        assert_eq!(fs::read(base.join("large")).unwrap().len(), 3 << 20);
        // What is there can still be compared and applied.
        let applied = open.fork().apply(Apply::default(), &never).unwrap();
        assert_eq!(support::shown(&applied.applied), ["~ f1"]);
        assert_eq!(fs::read_to_string(base.join("f1")).unwrap(), "fork");
        fill(&disk);
        let refused = store.fork(&base, None);
        assert!(matches!(refused, Err(ForkError::Io { .. })), "{refused:?}");
        open.discard().unwrap();
        assert_eq!(fs::read(base.join("large")).unwrap().len(), 3 << 20);
    });
    if !ran {
        eprintln!("skipped: no mounts of its own");
    }
}

fn fill(disk: &Path) {
    let mut bytes = vec![0; 1 << 20];
    while !bytes.is_empty() {
        for number in 0_u32.. {
            if fs::write(disk.join(format!("fill-{}-{number}", bytes.len())), &bytes).is_err() {
                break;
            }
        }
        bytes.truncate(bytes.len() / 16);
    }
    // No inode is left for an empty file either.
    for number in 0_u32.. {
        if fs::write(disk.join(format!("fill-{number}")), "").is_err() {
            break;
        }
    }
}
