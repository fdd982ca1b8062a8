//! How a store is used.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rusqlite::OptionalExtension;
use toolwright_sqlite::Database;

use crate::CheckpointError;
use crate::error::{Result, Tx};

/// How a store is used.
#[derive(Debug, Clone)]
pub struct Options {
    /// Lines as in a `.gitignore`, which beat every ignore file. `node_modules/` comes before them.
    pub ignore: Vec<String>,
    /// Keep what ignore files leave out.
    pub with_ignored: bool,
    /// A larger file is not kept, in bytes.
    pub max_file_bytes: u64,
    /// The most that the store keeps, in bytes. The oldest checkpoints go first.
    pub max_bytes: u64,
    /// A checkpoint that is older is removed, unless it is the newest.
    pub max_age: Duration,
    /// How long to wait for other processes.
    pub busy_timeout: Duration,
    /// What is left out, and how large a file may be, are as they were when the store was opened the last
    /// time, for a program that only looks at it.
    pub inherit: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ignore: Vec::new(),
            with_ignored: false,
            max_file_bytes: 64 << 20,
            max_bytes: 1 << 30,
            max_age: Duration::from_secs(30 * 24 * 3600),
            busy_timeout: Duration::from_secs(30),
            inherit: false,
        }
    }
}

/// What is left out whatever the ignore files say, unless a line of the options takes it in again.
const NEVER_WITHOUT_ASKING: &str = "node_modules/";

/// The lines of the options.
pub(crate) fn own_rules(options: &Options) -> Result<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    let lines = options.ignore.iter().map(String::as_str);
    for line in [NEVER_WITHOUT_ASKING].into_iter().chain(lines) {
        let invalid = |error: ignore::Error| CheckpointError::Pattern {
            pattern: line.to_owned(),
            message: error.to_string(),
        };
        builder.add_line(None::<PathBuf>, line).map_err(invalid)?;
    }
    builder.build().map_err(|error| CheckpointError::Pattern {
        pattern: options.ignore.join(" "),
        message: error.to_string(),
    })
}

/// What the lines of the options say; `None` leaves the decision to the ignore files.
pub(crate) fn decision(rules: &Gitignore, path: &Path, is_directory: bool) -> Option<bool> {
    match rules.matched(path, is_directory) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

impl Options {
    /// What another opening of the store can inherit: a line for each part.
    fn inheritable(&self) -> String {
        let Self { ignore, with_ignored, max_file_bytes, .. } = self;
        let mut text = format!("{with_ignored}\n{max_file_bytes}");
        for line in ignore {
            text.push('\n');
            text.push_str(line);
        }
        text
    }

    /// Takes over what an earlier opening had, or notes what this one has.
    pub(crate) fn share(&mut self, database: &Database) -> Result<()> {
        if self.inherit {
            let noted = database.read("opening a store", |connection| -> Tx<Option<String>> {
                let sql = "SELECT value FROM checkpoint_store WHERE key = 'options'";
                let mut statement = connection.prepare_cached(sql)?;
                Ok(statement.query_row([], |row| row.get(0)).optional()?)
            })?;
            let noted = noted.unwrap_or_default();
            let mut lines = noted.split('\n');
            if let (Some(with_ignored), Some(Ok(max))) =
                (lines.next(), lines.next().map(str::parse))
            {
                self.with_ignored = with_ignored == "true";
                self.max_file_bytes = max;
                self.ignore = lines.map(str::to_owned).collect();
            }
            return Ok(());
        }
        let text = self.inheritable();
        database.transaction("opening a store", |connection| -> Tx<()> {
            let sql = "INSERT OR REPLACE INTO checkpoint_store VALUES ('options', ?1)";
            connection.prepare_cached(sql)?.execute([&text])?;
            Ok(())
        })
    }
}

/// How far a long operation has come. Read it from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Progress {
    /// The files that were looked at, or restored.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// The bytes that were read, or restored.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.files.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, files: u64, bytes: u64) {
        self.files.fetch_add(files, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
