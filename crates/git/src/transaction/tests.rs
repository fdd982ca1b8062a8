//! What a transaction writes, and what it leaves alone.

mod kills;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{Transaction, TransactionError, recover};
use crate::directory::Directory;

const SOME: &str = "1111111111111111111111111111111111111111\n";
const OTHER: &str = "2222222222222222222222222222222222222222\n";

fn open(path: &Path) -> Directory {
    Directory::open(&path.canonicalize().expect("a path")).expect("a directory")
}

/// A git directory without objects.
fn repository(path: &Path) {
    let linked = "worktrees/gone/logs/refs";
    for directory in ["refs/heads", "refs/tags", "logs/refs/heads", linked] {
        fs::create_dir_all(path.join(directory)).expect("a directory");
    }
    for (file, content) in [
        ("HEAD", "ref: refs/heads/main\n"),
        ("index", "old index"),
        ("refs/heads/main", SOME),
        ("refs/heads/gone", SOME),
        ("logs/HEAD", "one\n"),
        ("logs/refs/heads/main", "one\n"),
        ("logs/refs/heads/gone", "one\n"),
        ("packed-refs", "packed old"),
        ("MERGE_HEAD", SOME),
        ("MERGE_MSG", "old message"),
        ("worktrees/gone/HEAD", SOME),
        ("worktrees/gone/gitdir", "/nowhere/.git\n"),
        ("worktrees/gone/logs/HEAD", "one\n"),
    ] {
        fs::write(path.join(file), content).expect("a file");
    }
}

/// What a command can bring back, in one transaction.
fn change(git: &Directory) -> Result<(), TransactionError> {
    let mut transaction = Transaction::begin(git).expect("a transaction");
    for path in [
        "HEAD",
        "refs/heads/main",
        "refs/heads/new/branch",
        "refs/heads/gone",
        "index",
        "packed-refs",
        "worktrees/gone/HEAD",
        "worktrees/gone/index",
    ] {
        transaction.lock(path.as_ref(), 0o644)?;
    }
    transaction.write("refs/heads/main".as_ref(), OTHER.as_bytes())?;
    transaction.write("refs/heads/new/branch".as_ref(), OTHER.as_bytes())?;
    transaction.write("HEAD".as_ref(), b"ref: refs/heads/new/branch\n")?;
    transaction.write("index".as_ref(), &b"new index".repeat(1000))?;
    transaction.write("packed-refs".as_ref(), b"packed new")?;
    transaction.remove("refs/heads/gone".as_ref())?;
    transaction.discard("logs/refs/heads/gone".as_ref())?;
    transaction.append("logs/HEAD".as_ref(), b"two\nthree\n")?;
    transaction.append("logs/refs/heads/main".as_ref(), b"two\n")?;
    transaction.append("logs/refs/heads/new/branch".as_ref(), b"first\n")?;
    transaction.discard("MERGE_HEAD".as_ref())?;
    transaction.put("MERGE_MSG".as_ref(), b"new message", 0o644)?;
    transaction.detach("worktrees/gone".as_ref())?;
    transaction.put("rebase-merge/done".as_ref(), b"pick", 0o644)?;
    let unfinished = transaction.commit()?;
    assert!(unfinished.is_empty(), "{unfinished:?}");
    Ok(())
}

/// Every file and its content, and every directory.
fn state(path: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut directories = vec![path.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let entry = entry.expect("an entry");
            let below = entry.path().strip_prefix(path).expect("a path").to_owned();
            let kind = entry.file_type().expect("a type");
            let content = if kind.is_dir() {
                directories.push(entry.path());
                "directory".to_owned()
            } else if kind.is_symlink() {
                format!("to {}", fs::read_link(entry.path()).expect("a link").display())
            } else {
                let content = fs::read(entry.path()).expect("a file");
                let start = String::from_utf8_lossy(&content[..content.len().min(20)]).into_owned();
                format!("{start:?} {} {}", content.len(), super::step::sum(&content))
            };
            all.insert(below, content);
        }
    }
    all
}

#[test]
fn the_living_are_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    repository(directory.path());
    let git = open(directory.path());
    let before = state(directory.path());
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    transaction.lock("index".as_ref(), 0o644).expect("a lock");
    let recovered = recover(&git).expect("a recovery");
    assert_eq!((recovered.alive, recovered.finished, recovered.taken_back), (1, 0, 0));
    assert!(directory.path().join("index.lock").exists());
    let mut other = Transaction::begin(&git).expect("a transaction");
    assert!(matches!(other.lock("index".as_ref(), 0o644), Err(TransactionError::Held(_))));
    drop(other);
    assert!(directory.path().join("index.lock").exists());
    drop(transaction);
    assert_eq!(state(directory.path()), before);
}

#[test]
fn a_lock_that_somebody_took_in_place_of_ours_stays() {
    let directory = tempfile::tempdir().expect("a directory");
    repository(directory.path());
    let git = open(directory.path());
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    transaction.lock("index".as_ref(), 0o644).expect("a lock");
    transaction.write("index".as_ref(), b"ours").expect("a write");
    let lock = directory.path().join("index.lock");
    fs::remove_file(&lock).expect("a lock");
    fs::write(&lock, "theirs").expect("a lock");
    transaction.commit().expect("a commit");
    assert_eq!(fs::read(&lock).expect("a lock"), b"theirs");
    assert_eq!(fs::read(directory.path().join("index")).expect("an index"), b"old index");
}

#[test]
fn what_the_person_set_up_otherwise_is_refused_by_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    repository(path);
    fs::create_dir(path.join("elsewhere")).expect("a directory");
    symlink("main", path.join("refs/heads/link")).expect("a link");
    symlink("elsewhere", path.join("refs/linked")).expect("a link");
    symlink("main", path.join("logs/refs/heads/link")).expect("a link");
    fs::create_dir_all(path.join("refs/heads/full")).expect("a directory");
    fs::write(path.join("refs/heads/full/x"), SOME).expect("a file");
    let before = state(path);
    let git = open(path);
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    let mut lock = |path: &str| transaction.lock(path.as_ref(), 0o644);
    assert!(matches!(lock("refs/heads/link"), Err(TransactionError::WrongKind(_))));
    assert!(matches!(lock("refs/linked/x"), Err(TransactionError::WrongKind(_))));
    assert!(matches!(lock("refs/heads/main/x"), Err(TransactionError::InTheWay(_))));
    for bad in [
        "/etc/passwd",
        "../x",
        "hooks/pre-commit",
        "objects/info/alternates",
        "index.lock",
        "toolwright/x",
    ] {
        assert!(matches!(lock(bad), Err(TransactionError::Path(_))), "{bad}");
    }
    lock("refs/heads/full").expect("a lock");
    assert!(matches!(
        transaction.write("refs/heads/full".as_ref(), b""),
        Err(TransactionError::InTheWay(_))
    ));
    assert!(matches!(
        transaction.write("index".as_ref(), b""),
        Err(TransactionError::NotLocked(_))
    ));
    assert!(matches!(
        transaction.put("index".as_ref(), b"", 0o644),
        Err(TransactionError::NotLocked(_))
    ));
    assert!(matches!(
        transaction.append("logs/HEAD".as_ref(), b""),
        Err(TransactionError::NotLocked(_))
    ));
    assert!(matches!(
        transaction.put("worktrees/w/HEAD".as_ref(), b"", 0o644),
        Err(TransactionError::NotLocked(_))
    ));
    symlink("elsewhere", path.join("logs/refs/linked")).expect("a link");
    fs::remove_file(path.join("refs/linked")).expect("a link");
    transaction.lock("refs/linked/x".as_ref(), 0o644).expect("a lock");
    assert!(matches!(
        transaction.append("logs/refs/linked/x".as_ref(), b""),
        Err(TransactionError::WrongKind(_))
    ));
    drop(transaction);
    fs::remove_file(path.join("logs/refs/linked")).expect("a link");
    // As with git, a directory for a kind of references stays.
    fs::remove_dir(path.join("refs/linked")).expect("a directory");
    symlink("elsewhere", path.join("refs/linked")).expect("a link");
    assert_eq!(state(path), before);
}

#[test]
fn a_file_keeps_its_mode_and_a_changed_one_stays() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    repository(path);
    fs::set_permissions(path.join("index"), fs::Permissions::from_mode(0o600)).expect("a mode");
    let git = open(path);
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    transaction.lock("index".as_ref(), 0o644).expect("a lock");
    transaction.write("index".as_ref(), b"new").expect("a write");
    transaction.discard("MERGE_HEAD".as_ref()).expect("a step");
    fs::write(path.join("MERGE_HEAD"), "another merge").expect("a file");
    transaction.commit().expect("a commit");
    assert_eq!(fs::metadata(path.join("index")).expect("a file").mode() & 0o777, 0o600);
    assert_eq!(fs::read(path.join("MERGE_HEAD")).expect("a file"), b"another merge");
}

#[test]
fn only_the_directory_that_was_looked_at_is_taken_away() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    repository(path);
    let git = open(path);
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    for bad in ["worktrees", "worktrees/gone/logs", "refs/heads", "x/y", "worktrees/.."] {
        let refused = transaction.detach(bad.as_ref());
        assert!(matches!(refused, Err(TransactionError::Path(_))), "{bad}");
    }
    transaction.detach("worktrees/none".as_ref()).expect("nothing to do");
    transaction.detach("worktrees/gone".as_ref()).expect("a step");
    fs::rename(path.join("worktrees/gone"), path.join("worktrees/moved")).expect("a rename");
    fs::create_dir(path.join("worktrees/gone")).expect("a directory");
    fs::write(path.join("worktrees/gone/HEAD"), OTHER).expect("a file");
    assert!(transaction.commit().expect("a commit").is_empty());
    assert!(path.join("worktrees/gone/HEAD").exists());
    assert!(path.join("worktrees/moved/HEAD").exists());
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    transaction.detach("worktrees/gone".as_ref()).expect("a step");
    transaction.detach("worktrees/moved".as_ref()).expect("a step");
    assert!(transaction.commit().expect("a commit").is_empty());
    assert!(!path.join("worktrees").exists() && !path.join("toolwright").exists());
}
