//! Files that have been replaced are closed when nobody waits for it.
//!
//! With its last descriptor a file without a name gives its space back, and a file system may first
//! wait for the disk: on ext4 the close takes a third of the time of a whole write, and most of it
//! where the file before was written just now. So a thread of their own closes them.
//!
//! Space that is not given back yet is missing to the next write. One that finds none waits for the
//! closes that are on their way, and tries again.

use std::fs::File;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{mem, thread};

/// Beyond these, whoever has replaced a file closes it: the disk is slower than the writers.
const MAX_PENDING: u64 = 32;
/// The thread ends when it has had nothing to do for this long.
const IDLE: Duration = Duration::from_secs(10);
/// How long a write that finds no space waits for what is being closed.
const PATIENCE: Duration = Duration::from_secs(1);

struct Closing {
    files: Vec<File>,
    /// How many there have been, and how many of them are closed. They are closed in turn.
    brought: u64,
    closed: u64,
    has_thread: bool,
}

static CLOSING: Mutex<Closing> =
    Mutex::new(Closing { files: Vec::new(), brought: 0, closed: 0, has_thread: false });
static BROUGHT: Condvar = Condvar::new();
static CLOSED: Condvar = Condvar::new();

/// Closes a file that has lost its name, soon.
pub(crate) fn close_later(file: File) {
    let mut closing = closing();
    if closing.brought - closing.closed >= MAX_PENDING {
        return;
    }
    if !closing.has_thread {
        let builder = thread::Builder::new().name("toolwright-close".to_owned());
        // A small stack: there is nothing on it.
        closing.has_thread = builder.stack_size(64 << 10).spawn(close).is_ok();
    }
    if closing.has_thread {
        closing.files.push(file);
        closing.brought += 1;
        BROUGHT.notify_one();
    }
}

/// Waits until what is being closed now is closed; others may bring more meanwhile. False when that was
/// nothing, and has made no room.
pub(crate) fn wait_for_space() -> bool {
    let closing = closing();
    let last = closing.brought;
    if closing.closed == last {
        return false;
    }
    let waited = CLOSED.wait_timeout_while(closing, PATIENCE, |closing| closing.closed < last);
    let (closing, _) = waited.unwrap_or_else(PoisonError::into_inner);
    closing.closed >= last
}

fn close() {
    let mut closing = closing();
    loop {
        let waited = BROUGHT.wait_timeout_while(closing, IDLE, |closing| closing.files.is_empty());
        closing = waited.unwrap_or_else(PoisonError::into_inner).0;
        let files = mem::take(&mut closing.files);
        if files.is_empty() {
            closing.has_thread = false;
            return;
        }
        drop(closing);
        let count = files.len() as u64;
        drop(files);
        closing = self::closing();
        closing.closed += count;
        CLOSED.notify_all();
    }
}

fn closing() -> MutexGuard<'static, Closing> {
    CLOSING.lock().unwrap_or_else(PoisonError::into_inner)
}
