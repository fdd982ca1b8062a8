//! The output of one thread of a search, on its way to the common output.

use std::cell::{Cell, RefCell};
use std::path::Path;

use crate::match_buffer::MatchBuffer;
use crate::reorder_buffer::Key;
use crate::stop_signal::{StopSignal, Stopped};
use crate::work_queue::WorkQueue;

/// A thread buffers this many bytes before it passes them on.
const MAX_BUFFERED_BYTES: usize = 64 << 10;

pub(crate) struct WorkerOutput<'a> {
    queue: &'a WorkQueue<'a>,
    buffer: RefCell<MatchBuffer>,
    /// The current task, if there are several threads. A single thread works in order.
    task: RefCell<Option<Key>>,
    max_buffered: usize,
    /// Whether the output is full, or the search has stopped.
    closed: Cell<bool>,
    /// Why the search has stopped while results were passed on.
    stopped: Cell<Option<Stopped>>,
    opened: Cell<usize>,
}

impl<'a> WorkerOutput<'a> {
    pub(crate) fn new(queue: &'a WorkQueue<'a>) -> Self {
        Self {
            queue,
            buffer: RefCell::new(MatchBuffer::new(queue.max_bytes)),
            task: RefCell::default(),
            max_buffered: MAX_BUFFERED_BYTES.min(queue.max_bytes),
            closed: Cell::default(),
            stopped: Cell::default(),
            opened: Cell::default(),
        }
    }

    pub(crate) fn stop_signal(&self) -> StopSignal<'a> {
        self.queue.stop_signal
    }

    /// The results that follow are from this path.
    pub(crate) fn enter(&self, path: &Path) {
        self.buffer.borrow_mut().enter(path);
    }

    /// Appends a line, given in pieces. Returns false if the search need not go on.
    pub(crate) fn push_line(&self, pieces: &[&[u8]], matched: bool) -> bool {
        let mut buffer = self.buffer.borrow_mut();
        for piece in pieces {
            buffer.push(piece);
        }
        buffer.commit(matched);
        if buffer.output_size() < self.max_buffered && !buffer.overflow {
            return true;
        }
        self.pass_on(&mut buffer)
    }

    fn pass_on(&self, buffer: &mut MatchBuffer) -> bool {
        match self.queue.append(self.task.borrow().as_ref(), buffer) {
            Ok(more) => self.closed.set(!more),
            Err(stopped) => {
                self.stopped.set(Some(stopped));
                self.closed.set(true);
            }
        }
        !self.closed.get()
    }

    /// Records that `path` was not searched, or not to its end.
    pub(crate) fn skip(&self, path: &Path, reason: String) {
        self.buffer.borrow_mut().skip(path.to_owned(), reason);
    }

    /// Why the search need not go on, unless the output is full.
    pub(crate) fn stopped(&self) -> Option<Stopped> {
        self.stopped.get()
    }

    /// Ends a file. A single thread passes its lines on at once, so that it opens no file after the
    /// one in which the output became full.
    pub(crate) fn end_file(&self) -> bool {
        !self.closed.get() && (self.task.borrow().is_some() || self.flush())
    }

    /// Passes on what is buffered. Returns false if the search need not go on.
    pub(crate) fn flush(&self) -> bool {
        let mut buffer = self.buffer.borrow_mut();
        if buffer.is_empty() { !self.closed.get() } else { self.pass_on(&mut buffer) }
    }

    /// Counts a file or a directory that was opened.
    pub(crate) fn count_opened(&self) {
        self.opened.set(self.opened.get() + 1);
    }

    /// The number of files and directories that were opened.
    pub(crate) fn opened(&self) -> usize {
        self.opened.get()
    }

    pub(crate) fn begin_task(&self, task: Key) {
        self.task.replace(Some(task));
    }

    /// Takes the results that were not passed on.
    pub(crate) fn take(&self) -> MatchBuffer {
        self.buffer.replace(MatchBuffer::new(self.queue.max_bytes))
    }
}
