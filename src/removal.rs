//! Removing the directories of sessions, off the JavaScript thread.

use std::path::{Path, PathBuf};
use std::time::Instant;

use napi_derive::napi;

use crate::job::{self, Promised};
use crate::options;
use crate::outcome::Outcome;

/// Ends what waits for more commands that would use `directory` (absolute), and removes what can be
/// removed of it. Gives the reason why something is left.
#[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
pub fn remove_directory(directory: String, limit_ms: f64) -> Promised<Option<String>> {
    job::long(move || {
        let directory = PathBuf::from(directory);
        toolwright_exec::release_directory(&directory);
        let removed = toolwright_fs::remove_tree(&directory, deadline(limit_ms));
        Outcome::done(removed.err().map(|error| error.to_string()))
    })
}

/// The name of this process at the beginning of names of directories: see `removeAbandoned`.
#[napi(catch_unwind)]
pub fn process_name() -> String {
    toolwright_process::ShortId::current().to_string()
}

/// Removes the directories in `base` whose names begin with the `processName` of a process that is gone,
/// and a hyphen. Works in the background.
#[napi(catch_unwind)]
pub fn remove_abandoned(base: String, limit_ms: f64) {
    job::detached(move || {
        // The next call removes the rest.
        let _ = toolwright_fs::remove_abandoned(Path::new(&base), deadline(limit_ms));
    });
}

/// Removes what can be removed of directories within the time limit, on this thread: for the end of a process.
#[napi(catch_unwind)]
pub fn remove_now(directories: Vec<String>, limit_ms: f64) {
    let deadline = deadline(limit_ms);
    for directory in directories {
        // The next process removes the rest.
        let _ = toolwright_fs::remove_tree(Path::new(&directory), deadline);
    }
}

fn deadline(limit_ms: f64) -> Option<Instant> {
    Instant::now().checked_add(options::milliseconds(limit_ms))
}
