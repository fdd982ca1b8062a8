//! What the integration tests of this crate share: journals, calls, children, soak counts.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "each test program uses a part of it; a failed unwrap is a failed test"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use toolwright_journal::{
    Finish, Intent, Journal, JournalError, Location, Options, Outcome, TaskId,
};

/// The acceptance count divided by ten, unless `TOOLWRIGHT_SOAK_FACTOR=10` asks for all of it.
pub fn tenth_of(full: usize) -> usize {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    (full / 10).max(1) * factor
}

/// A directory for a journal.
pub struct Place {
    pub base: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { base: tempfile::tempdir().unwrap() }
    }

    pub fn file(&self) -> PathBuf {
        self.base.path().join("runs.db")
    }

    pub fn open(&self) -> Journal {
        open(&self.file()).unwrap()
    }

    /// The same file without this crate.
    pub fn raw(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.file()).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
        connection
    }

    /// Names in the directory, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.base.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub fn open(path: &Path) -> Result<Journal, JournalError> {
    Journal::open(&Location::File(path.to_owned()), Options::default())
}

pub fn task(node: &str) -> TaskId {
    TaskId { run_id: "run".to_owned(), node_id: node.to_owned(), iteration: 0 }
}

/// A call of `bash`, the tool with all the dangerous properties.
pub fn effect(task: &TaskId, attempt: i64, seq: i64) -> Intent {
    Intent {
        task: task.clone(),
        attempt,
        seq,
        tool_name: "bash".to_owned(),
        input_json: Some(format!(r#"{{"cmd":"touch","args":["{seq}"]}}"#)),
        started_at_ms: 1_790_000_000_000 + seq,
        side_effect: true,
        idempotent: false,
        accepts_idempotency_key: true,
        has_revert: false,
        idempotency_key: None,
        call_token: None,
        args_hash: None,
        ordinal: None,
    }
}

/// A call of `read`.
pub fn reading(task: &TaskId, attempt: i64, seq: i64) -> Intent {
    Intent {
        tool_name: "read".to_owned(),
        side_effect: false,
        idempotent: true,
        ..effect(task, attempt, seq)
    }
}

pub fn success(output: &str) -> Finish {
    ended(Outcome::Success(Some(serde_json::Value::from(output).to_string())))
}

pub fn failure(message: &str) -> Finish {
    ended(Outcome::Error(Some(format!(r#"{{"message":"{message}"}}"#))))
}

pub fn ended(outcome: Outcome) -> Finish {
    Finish { outcome, finished_at_ms: 1_790_000_100_000, whole: false, seen: None, key_read: false }
}

/// A journal with `count` finished calls, closed.
pub fn filled(count: i64) -> Place {
    let place = Place::new();
    let journal = place.open();
    for seq in 1..=count {
        let call = journal.begin(effect(&task("t"), 1, seq)).unwrap();
        journal.finish(call, success(&"x".repeat(200))).unwrap();
    }
    journal.close().unwrap();
    place
}

/// The variant of an error, by name.
pub trait Kind {
    fn kind(&self) -> &'static str;
}

impl Kind for JournalError {
    fn kind(&self) -> &'static str {
        let text = match self {
            Self::Sqlite(error) => format!("{:?}", error.kind),
            error => format!("{error:?}"),
        };
        text.split(' ').next().unwrap().to_owned().leak()
    }
}

/// The error is of this kind and names the file.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, JournalError>, kind: &str) -> JournalError {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    let text = error.to_string();
    assert!(text.contains(".db") && error.path().is_some(), "{text}");
    assert!(text.starts_with(&error.summary()), "{text}");
    error
}

pub fn integrity(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    let answer: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(answer, "ok");
}

/// This test program again, running only `test`, with `TOOLWRIGHT_CHILD` set to `argument`.
pub fn child(test: &str, argument: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env("TOOLWRIGHT_CHILD", argument);
    command
}

/// The argument when this process is such a child.
pub fn child_argument() -> Option<String> {
    std::env::var("TOOLWRIGHT_CHILD").ok()
}

/// A small generator, so that runs can be repeated: `TOOLWRIGHT_SEED` sets it, and it is printed.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        let seed = std::env::var("TOOLWRIGHT_SEED")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| u64::from(std::process::id()) * 2_654_435_761);
        println!("seed {seed}");
        Self(seed | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
