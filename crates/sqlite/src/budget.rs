//! An end for statements on files that are made to have none.
//!
//! A file can come from anybody. A view or a trigger can run for ever, so neither is ever run; what is
//! left are pages that point at each other, as no database of this size has them. Steps of `SQLite` are
//! counted, and a statement that takes more than a file of this size can need is stopped.

use std::cell::Cell;
use std::ffi::c_int;
use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;

use crate::connection::beside;

/// So many steps of `SQLite` are one tick: about ten milliseconds.
const TICK: c_int = 1 << 20;
/// The ticks of the smallest file.
const LEAST: u64 = 16;
/// A file has one more for so many bytes. A row of ours takes less than a hundred steps, and
/// about as many bytes.
const BYTES: u64 = 512 << 10;

thread_local! {
    /// The ticks of what this thread does now.
    static TICKS: Cell<u64> = const { Cell::new(0) };
}

/// Begins to count anew.
pub(crate) fn begin() {
    TICKS.set(0);
}

/// Has a connection count.
pub(crate) fn install(connection: &Connection, path: PathBuf) -> rusqlite::Result<()> {
    begin();
    connection.progress_handler(
        TICK,
        Some(move || {
            let ticks = TICKS.get() + 1;
            TICKS.set(ticks);
            ticks > LEAST && ticks > LEAST + bytes(&path) / BYTES
        }),
    )
}

/// Of the file and its log.
fn bytes(path: &std::path::Path) -> u64 {
    let length = |path: &std::path::Path| fs::metadata(path).map_or(0, |found| found.len());
    length(path).saturating_add(length(&beside(path, "-wal")))
}
