//! Removing the directories of sessions, off the JavaScript thread.

use std::path::PathBuf;

use napi_derive::napi;
use toolwright_core::directories;
use toolwright_core::failure::Failure;

use crate::call::{self, Promised};
use crate::cross::Cross;

/// Ends what waits for more commands that would use `directory` (absolute), and removes what can be
/// removed of it. Gives the reason why something is left.
#[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
pub fn remove_directory(directory: String, limit_ms: f64) -> Promised<Option<String>> {
    call::unstoppable(move || {
        Ok::<_, Failure>(directories::remove(&PathBuf::from(directory), limit_ms.cross()))
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
    call::detached(move || directories::remove_abandoned(&PathBuf::from(base), limit_ms.cross()));
}

/// Removes what can be removed of directories within the time limit, on this thread: for the end of a process.
#[napi(catch_unwind)]
pub fn remove_now(directories: Vec<String>, limit_ms: f64) {
    let directories: Vec<PathBuf> = directories.cross();
    directories::remove_all(&directories, limit_ms.cross());
}
