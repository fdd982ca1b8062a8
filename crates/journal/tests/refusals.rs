//! Files that are not a journal, or cannot be one: told when they are opened, and left as they are.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{
    Kind, Place, Random, effect, filled, integrity, open, reading, refused, success, task,
};
use toolwright_journal::{
    Access, Journal, JournalError, Location, Options, Order, SqliteError, SqliteErrorKind, Status,
};

fn reader(path: &Path) -> Result<Journal, JournalError> {
    let options = Options { access: Access::ReadOnly, ..Options::default() };
    Journal::open(&Location::File(path.to_owned()), options)
}

/// The user of the tests may write everywhere if it is root; then a child gives up that right.
fn as_ordinary_user(test: &str, place: &Place) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    if support::child_argument().is_some() {
        return true;
    }
    let program = support::child(test, "");
    let possible = Command::new("setpriv").arg("--version").stdout(Stdio::null()).status();
    if !possible.is_ok_and(|status| status.success()) {
        println!("skipped: setpriv, which gives up the rights of root, is not installed");
        return false;
    }
    let status = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all", "--securebits=+noroot,+noroot_locked"])
        .arg(program.get_program())
        .args(program.get_args())
        .env("TOOLWRIGHT_CHILD", place.base.path())
        .status()
        .unwrap();
    assert!(status.success());
    false
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn unwritable_file() -> Option<PathBuf> {
    support::child_argument().map(|base| PathBuf::from(base).join("runs.db"))
}

#[test]
fn a_file_that_cannot_be_written_is_told_at_once_and_can_be_read() {
    const TEST: &str = "a_file_that_cannot_be_written_is_told_at_once_and_can_be_read";
    let place = filled(3);
    if !as_ordinary_user(TEST, &place) {
        return;
    }
    let path = unwritable_file().unwrap_or(place.file());
    mode(&path, 0o444);
    refused(open(&path), "ReadOnly");
    let journal = reader(&path).unwrap();
    assert_eq!(journal.list(&task("t"), false).unwrap().calls.len(), 3);
    refused(journal.begin(effect(&task("t"), 1, 9)), "ReadOnly");
    refused(journal.record(reading(&task("t"), 1, 9), success("")), "ReadOnly");
    refused(journal.recover("{}"), "ReadOnly");
    mode(&path, 0o644);
}

#[test]
fn a_directory_that_cannot_be_written_is_told_and_its_journal_can_be_read() {
    const TEST: &str = "a_directory_that_cannot_be_written_is_told_and_its_journal_can_be_read";
    let place = filled(3);
    if !as_ordinary_user(TEST, &place) {
        return;
    }
    let path = unwritable_file().unwrap_or(place.file());
    let directory = path.parent().unwrap();
    mode(directory, 0o555);
    let error = open(&path).unwrap_err();
    assert!(["ReadOnly", "CannotOpen"].contains(&error.kind()), "{error}");
    refused(open(&directory.join("new.db")), "ReadOnly");
    let journal = reader(&path).unwrap();
    assert_eq!(journal.list(&task("t"), false).unwrap().calls.len(), 3);
    mode(directory, 0o755);
}

#[test]
fn what_is_not_there_is_told() {
    let place = Place::new();
    refused(reader(&place.file()), "NotFound");
    refused(open(&place.base.path().join("no/such/runs.db")), "NotFound");
    let directory = place.base.path().join("directory.db");
    fs::create_dir(&directory).unwrap();
    let error = refused(open(&directory), "CannotOpen");
    assert!(error.to_string().contains("it is a directory"), "{error}");
    refused(reader(&directory), "CannotOpen");
}

#[test]
fn a_file_of_another_kind_is_not_touched() {
    let place = Place::new();
    for content in ["text ".repeat(1000), "SQLite format 3\0".to_owned() + &"x".repeat(5000)] {
        fs::write(place.file(), &content).unwrap();
        for result in [open(&place.file()), reader(&place.file())] {
            refused(result, "NotADatabase");
        }
        assert_eq!(fs::read_to_string(place.file()).unwrap(), content);
    }
    assert_eq!(place.names(), ["runs.db"]);
}

#[test]
fn a_table_of_another_kind_is_not_touched() {
    let place = Place::new();
    place.raw().execute_batch("CREATE TABLE _smithers_tool_calls (id, what)").unwrap();
    let error = refused(open(&place.file()), "WrongSchema");
    assert!(error.to_string().contains("no column `run_id`"), "{error}");
    refused(reader(&place.file()), "WrongSchema");
    let other = Place::new();
    other.raw().execute_batch("CREATE TABLE orders (id)").unwrap();
    let error = refused(reader(&other.file()), "WrongSchema");
    assert!(error.to_string().contains("it has no table"), "{error}");
    // A database of the user's own can hold a journal too.
    other.open().begin(effect(&task("t"), 1, 1)).unwrap();
}

#[test]
fn a_damaged_file_is_told_and_never_a_panic() {
    let place = filled(300);
    let whole = fs::read(place.file()).unwrap();
    let mut random = Random::new();
    let mut seen = std::collections::BTreeMap::<&str, usize>::new();
    for _ in 0..support::tenth_of(600) {
        let mut damaged = whole.clone();
        for _ in 0..=random.below(4) {
            let from = usize::try_from(random.below(damaged.len() as u64)).unwrap();
            let longest = [2, 20, 200, 3000][usize::try_from(random.below(4)).unwrap()];
            let length = usize::try_from(random.below(longest)).unwrap();
            let value = u8::try_from(random.below(256)).unwrap();
            let end = (from + length).min(damaged.len());
            damaged[from..end].fill(value);
        }
        if random.below(3) == 0 {
            damaged.truncate(usize::try_from(random.below(damaged.len() as u64)).unwrap());
        }
        let other = Place::new();
        fs::write(other.file(), &damaged).unwrap();
        let used = open(&other.file()).and_then(|journal| {
            journal.list(&task("t"), false)?;
            journal.list_run("run", Order::Forward, false)?;
            journal.list_runs()?;
            journal.recover("{}")?;
            let call = journal.begin(effect(&task("t"), 2, 1))?;
            journal.finish(call, success("done"))?;
            journal.record(reading(&task("t"), 2, 2), success("text"))?;
            journal.close()
        });
        if let Err(error @ JournalError::Sqlite(SqliteError { kind: SqliteErrorKind::Io, .. })) =
            &used
        {
            println!("{error} {error:?}");
        }
        let code = used.err().map_or("fine", |error| error.kind());
        *seen.entry(code).or_default() += 1;
        // And by who only reads.
        if let Ok(journal) = reader(&other.file()) {
            let _ = journal.tail(0, usize::MAX);
        }
    }
    println!("{seen:?}");
    assert!(seen.contains_key("Corrupt"), "{seen:?}");
    let expected =
        ["fine", "Corrupt", "NotADatabase", "WrongSchema", "Duplicate", "Unwritten", "Missing"];
    assert!(seen.keys().all(|code| expected.contains(code)), "{seen:?}");
}

#[test]
fn a_log_that_was_cut_loses_its_end_and_nothing_else() {
    const TEST: &str = "a_log_that_was_cut_loses_its_end_and_nothing_else";
    if let Some(path) = support::child_argument() {
        let journal = open(Path::new(&path)).unwrap();
        for seq in 1..=20 {
            let call = journal.begin(effect(&task("t"), 1, seq)).unwrap();
            journal.finish(call, success("done")).unwrap();
        }
        let this = rustix::process::getpid();
        rustix::process::kill_process(this, rustix::process::Signal::KILL).unwrap();
    }
    let place = Place::new();
    let mut program = support::child(TEST, place.file().to_str().unwrap());
    assert!(!program.stdout(Stdio::null()).status().unwrap().success());
    let log = place.base.path().join("runs.db-wal");
    let whole = fs::metadata(&log).unwrap().len();
    let mut counts = Vec::new();
    for part in (0..=10).rev() {
        let copy = Place::new();
        for name in ["runs.db", "runs.db-wal"] {
            fs::copy(place.base.path().join(name), copy.base.path().join(name)).unwrap();
        }
        let cut =
            OpenOptions::new().write(true).open(copy.base.path().join("runs.db-wal")).unwrap();
        cut.set_len(whole * part / 10 + u64::from(part < 10) * 7).unwrap();
        integrity(&copy.file());
        let journal = copy.open();
        let calls = journal.list(&task("t"), false).unwrap().calls;
        // The first so many calls, the last of them perhaps without its outcome.
        assert!(calls.iter().zip(1..).all(|(call, seq)| call.seq == seq));
        let open = calls.iter().filter(|call| call.status == Status::Started).count();
        assert!(open <= 1 && calls.iter().rev().skip(1).all(|call| call.status == Status::Success));
        counts.push(calls.len());
        journal.begin(effect(&task("t"), 2, 1)).unwrap();
    }
    assert_eq!(counts[0], 20);
    assert!(counts.is_sorted_by(|more, fewer| more >= fewer) && counts[10] == 0, "{counts:?}");
}
