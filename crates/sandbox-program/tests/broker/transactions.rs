//! A supervisor ends what its killed host has begun in a git directory.

use std::fs;
use std::io::{Read, Write, pipe};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Signal, geteuid, kill_process};
use toolwright_git::directory::Directory;
use toolwright_git::transaction::Transaction;

use super::sandbox::{Sandbox, find};
use super::worker::{fork, wait};

const NOBODY: u32 = 65534;
const NAMES: [&str; 4] = ["index", "HEAD", "refs/heads/a", "refs/heads/b"];

/// A host that commits as fast as it can.
fn commit_for_ever(git: &Path) {
    let git = Directory::open(git).unwrap();
    for number in 0.. {
        let mut transaction = Transaction::begin(&git).unwrap();
        for name in NAMES {
            let path = Path::new(name);
            transaction.lock(path, 0o644).unwrap();
            transaction.write(path, format!("{number}\n").as_bytes()).unwrap();
        }
        assert!(transaction.commit().unwrap().is_empty());
    }
}

fn become_user(user: u32) {
    // SAFETY: the calls change only the identity of this process.
    let became = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(user, user, user) == 0
            && libc::setresuid(user, user, user) == 0
    };
    assert!(became);
}

/// The locks and the directories of transactions that are left.
fn left(git: &Path) -> Vec<PathBuf> {
    let mut left = Vec::new();
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        find(git, &mut |path| {
            let is_lock = path.extension().is_some_and(|extension| extension == "lock");
            if is_lock || path.ends_with("toolwright") {
                left.push(path.to_owned());
            }
        });
    }));
    left
}

fn repository(user: Option<u32>) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let git = root.join(".git");
    fs::create_dir_all(git.join("refs/heads")).unwrap();
    fs::create_dir(git.join("objects")).unwrap();
    for name in NAMES {
        fs::write(git.join(name), "0\n").unwrap();
    }
    chown(&root, user, user).unwrap();
    chown(&git, user, user).unwrap();
    find(&git, &mut |path| chown(path, user, user).unwrap());
    (place, root, git)
}

fn killed_hosts(user: Option<u32>) {
    let (_place, root, git) = repository(user);
    for round in 0..25_u64 {
        let (mut ready, mut is_ready) = pipe().unwrap();
        let host = fork(|| {
            user.into_iter().for_each(become_user);
            let mut sandbox = Sandbox::start_at(&root, |plan| plan.forks = vec![git.clone()]);
            // It has to be there before the first transaction is.
            let held = sandbox.layers.forks.holds() && sandbox.run("true").status.success();
            is_ready.write_all(&[u8::from(held)]).unwrap();
            commit_for_ever(&git);
        });
        let mut held = [0];
        ready.read_exact(&mut held).unwrap();
        sleep(Duration::from_micros(10_000 + round * 731));
        kill_process(host, Signal::KILL).unwrap();
        wait(host);
        if held == [0] {
            eprintln!("skipped: no forks");
            return;
        }
        let began = Instant::now();
        while !left(&git).is_empty() {
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", left(&git));
            sleep(Duration::from_millis(1));
        }
        // All of it or nothing, and nothing that belongs to somebody else.
        let all = NAMES.map(|name| fs::read_to_string(git.join(name)).unwrap());
        assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
        let owner = user.unwrap_or(geteuid().as_raw());
        find(&git, &mut |path| assert_eq!(fs::metadata(path).unwrap().uid(), owner));
    }
}

#[test]
fn those_of_a_killed_host_are_ended() {
    killed_hosts(None);
}

#[test]
fn those_of_another_user_too() {
    if !geteuid().is_root() {
        eprintln!("skipped: not root");
        return;
    }
    killed_hosts(Some(NOBODY));
}

/// Where nothing was begun, the end takes no longer for it.
#[test]
fn a_living_host_keeps_its_own() {
    let (_place, root, git) = repository(None);
    let sandbox = Sandbox::start_at(&root, |plan| plan.forks = vec![git.clone()]);
    let directory = Directory::open(&git).unwrap();
    let mut transaction = Transaction::begin(&directory).unwrap();
    transaction.lock(Path::new("index"), 0o644).unwrap();
    let began = Instant::now();
    drop(sandbox);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(git.join("index.lock").exists());
    drop(transaction);
    assert!(left(&git).is_empty());
}
