//! Closes replaced files on a thread of its own.
//!
//! Closing the last descriptor of an unlinked file frees its space, and the file system may first
//! wait for the disk. On ext4 the close takes a third of the time of a whole write, and most of it
//! if the old file was written just before.
//!
//! Space that is not freed yet is missing for the next write. A write that finds none waits for the
//! pending closes and tries again ([`with_space`]).

use std::fs::File;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{mem, thread};

use rustix::io::Errno;

/// Beyond this many, the writer closes the file itself: the disk is slower than the writers.
const MAX_PENDING: u64 = 32;
/// The thread ends after this long without work.
const IDLE: Duration = Duration::from_secs(10);
/// How long a write without space waits for pending closes.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// How often a write without space tries again.
const MAX_RETRIES: usize = 3;

struct CloseQueue {
    files: Vec<File>,
    /// The number of files added so far, and the number closed. They are closed in order.
    added: u64,
    closed: u64,
    has_thread: bool,
}

static QUEUE: Mutex<CloseQueue> =
    Mutex::new(CloseQueue { files: Vec::new(), added: 0, closed: 0, has_thread: false });
static ADDED: Condvar = Condvar::new();
static CLOSED: Condvar = Condvar::new();

/// Closes an unlinked file soon.
pub(crate) fn close_later(file: File) {
    let mut queue = queue();
    if queue.added - queue.closed >= MAX_PENDING {
        return;
    }
    if !queue.has_thread {
        let builder = thread::Builder::new().name("toolwright-close".to_owned());
        // The thread needs little stack.
        queue.has_thread = builder.stack_size(64 << 10).spawn(close).is_ok();
    }
    if queue.has_thread {
        queue.files.push(file);
        queue.added += 1;
        ADDED.notify_one();
    }
}

/// Runs `attempt`, and runs it again if it found no space while closes were pending.
pub(crate) fn with_space<T>(mut attempt: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    for _ in 0..MAX_RETRIES {
        let closed = queue().closed;
        match attempt() {
            Err(Errno::NOSPC | Errno::DQUOT) if was_space_freed(closed) => {}
            result => return result,
        }
    }
    attempt()
}

/// Waits until the files that are pending now are closed. Returns false if none was closed since
/// `closed` was counted. A close that ended during a failed attempt may have come too late for it.
fn was_space_freed(closed: u64) -> bool {
    let queue = queue();
    let last = queue.added;
    let waited = CLOSED.wait_timeout_while(queue, MAX_WAIT, |queue| queue.closed < last);
    let (queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
    queue.closed > closed
}

fn close() {
    let mut queue = queue();
    loop {
        let waited = ADDED.wait_timeout_while(queue, IDLE, |queue| queue.files.is_empty());
        queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        let files = mem::take(&mut queue.files);
        if files.is_empty() {
            queue.has_thread = false;
            return;
        }
        drop(queue);
        let count = files.len() as u64;
        drop(files);
        queue = self::queue();
        queue.closed += count;
        CLOSED.notify_all();
    }
}

fn queue() -> MutexGuard<'static, CloseQueue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}
