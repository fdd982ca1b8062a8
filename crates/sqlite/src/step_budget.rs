//! A limit on the steps of a statement, for files that were crafted to make it run for ever.
//!
//! A file can come from anyone. A view or a trigger can run for ever, so neither is ever run. What is
//! left are pages that point at each other, as they do in no database of this size. The steps of
//! `SQLite` are counted, and a statement that takes more than a file of this size can need is stopped.

use std::cell::Cell;
use std::ffi::c_int;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::path::beside;

/// The steps of one tick: about ten milliseconds.
const TICK: c_int = 1 << 20;
/// The ticks of the smallest file.
const MIN_TICKS: u64 = 16;
/// A file has one more tick for each of these many bytes. A row takes less than a hundred steps, and
/// about as many bytes.
const BYTES_PER_TICK: u64 = 512 << 10;

thread_local! {
    /// The ticks of the statement that this thread runs.
    static TICKS: Cell<u64> = const { Cell::new(0) };
}

/// Begins to count anew.
pub(crate) fn reset() {
    TICKS.set(0);
}

/// Makes a connection count.
pub(crate) fn install(connection: &Connection, path: PathBuf) -> rusqlite::Result<()> {
    reset();
    connection.progress_handler(
        TICK,
        Some(move || {
            let ticks = TICKS.get() + 1;
            TICKS.set(ticks);
            ticks > MIN_TICKS && ticks > MIN_TICKS + size(&path) / BYTES_PER_TICK
        }),
    )
}

/// The size of the file and its log.
fn size(path: &Path) -> u64 {
    let length = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    length(path).saturating_add(length(&beside(path, "-wal")))
}
