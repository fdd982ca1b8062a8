//! Files that the process has reserved: no call reads, replaces or even opens them, by any name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use toolwright_fs::{
    DirectoryGrant, FsError, FsErrorKind, OpenTarget, Resolver, Root, Roots, WriteOptions,
};
use toolwright_reserved::Reservation;

struct Place {
    /// Dropped first: a file of another test may get the inode of a removed one, and would be reserved.
    _reservation: Reservation,
    directory: tempfile::TempDir,
}

/// A root with an open journal in it, and three other names for that.
fn place() -> Place {
    let directory = tempfile::tempdir().expect("directory");
    let at = |name: &str| directory.path().join(name);
    let real = fs::canonicalize(directory.path()).expect("real");
    fs::write(at("runs.db"), "rows\n").expect("written");
    fs::write(at("runs.db-shm"), "index\n").expect("written");
    fs::create_dir(at("runs.db.locks")).expect("made");
    fs::hard_link(at("runs.db"), at("hard.txt")).expect("linked");
    symlink("runs.db", at("soft.txt")).expect("linked");
    symlink(real.join("runs.db"), at("absolute.txt")).expect("linked");
    fs::write(at("free.txt"), "free\n").expect("written");
    let names = ["runs.db", "runs.db-shm", "runs.db.locks"];
    let paths = names.iter().map(|name| real.join(name)).collect();
    Place { _reservation: toolwright_reserved::reserve(paths), directory }
}

const NAMES: [&str; 5] = ["runs.db", "runs.db-shm", "hard.txt", "soft.txt", "absolute.txt"];

fn refused<T: std::fmt::Debug>(what: &str, result: Result<T, FsError>) {
    match result {
        Err(error @ FsError { kind: FsErrorKind::Reserved, .. }) => {
            assert!(error.to_string().contains("open journal"), "{error}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn no_call_reads_or_replaces_it() {
    let place = place();
    let never = AtomicBool::new(false);
    for resolver in [Resolver::Automatic, Resolver::Walk] {
        let root = Root::open_with(place.directory.path(), resolver).expect("root");
        for name in NAMES {
            refused(name, toolwright_fs::read(&root, name, 1 << 20, &never));
            let written =
                toolwright_fs::write(&root, name, b"forged", &WriteOptions::default(), &never);
            refused(name, written);
            assert!(root.open_listed(Path::new(name)).is_err(), "{name}");
        }
        let inside = "runs.db.locks/task";
        let made = toolwright_fs::write(&root, inside, b"", &WriteOptions::default(), &never);
        refused(inside, made);
        let free = toolwright_fs::read(&root, "free.txt", 1 << 20, &never).expect("free");
        assert_eq!(free, b"free\n");
    }
    assert_eq!(fs::read(place.directory.path().join("runs.db")).expect("there"), b"rows\n");
}

#[test]
fn nor_does_one_that_holds_what_it_opens() {
    let place = place();
    let root = place.directory.path().to_path_buf();
    let granted = DirectoryGrant::new("rootDir", &root);
    granted.identify().expect("there");
    for resolver in [Resolver::Automatic, Resolver::Walk] {
        let roots = Roots::open_with(std::slice::from_ref(&root), &[], resolver).expect("roots");
        for name in NAMES {
            refused(name, roots.open_target(name).expect("found").check_readable());
            refused(name, roots.open_target(name).expect("found").check_writable());
            assert!(OpenTarget::try_open_cached(&granted, name).is_none(), "{name}");
        }
        let mut free = roots.open_target("free.txt").expect("found");
        free.check_readable().expect("free");
    }
}

/// A process that closes a descriptor of a database loses its locks on it.
#[cfg(target_os = "linux")]
#[test]
fn nothing_opens_it_while_it_is_refused() {
    let place = place();
    let path = fs::canonicalize(place.directory.path()).expect("real").join("runs.db");
    let lock = fs::File::options().read(true).write(true).open(&path).expect("opened");
    rustix::fs::fcntl_lock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive)
        .expect("locked");
    let never = AtomicBool::new(false);
    let root = Root::open(place.directory.path()).expect("root");
    for name in NAMES {
        refused(name, toolwright_fs::read(&root, name, 1 << 20, &never));
        assert!(root.open_listed(Path::new(name)).is_err(), "{name}");
    }
    let locks = fs::read_to_string("/proc/locks").expect("locks");
    let own = format!("POSIX  ADVISORY  WRITE {}", std::process::id());
    assert!(locks.lines().any(|line| line.contains(&own)), "{locks}");
}
