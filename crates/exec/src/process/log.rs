//! The output of a background process: its beginning, its end, and all of it in a file.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags, open};
#[cfg(target_os = "linux")]
use rustix::io::Errno;

use crate::output_mask::{MaskedStream, OutputMask};

/// How much of one stream is kept, and where.
#[derive(Debug, Default)]
pub struct LogLimits {
    /// How much of the beginning stays in memory.
    pub head_bytes: usize,
    /// How much of the end stays in memory.
    pub tail_bytes: usize,
    /// Whether the process has to wait while this much of its output has not been read. Without that,
    /// output that no one reads is forgotten from the middle.
    pub holds: bool,
    /// Gets the output from its beginning, whatever is forgotten in memory. It is read and written by
    /// position.
    pub file: Option<File>,
    /// The file gets no more than this.
    pub file_bytes: u64,
}

/// A file without a name in `directory`, for [`LogLimits::file`]. Its space is free again when the process
/// and its owner are gone, however they end.
#[expect(clippy::disallowed_methods, reason = "it makes a file, and reads none")]
pub fn unnamed_file(directory: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match open(directory, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok(file.into()),
            // A file system without such files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let name = format!(".toolwright-output-{}-{:x}", std::process::id(), unique());
    let path = directory.join(name);
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A part of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Where they begin, counted from the first byte of the stream. It is later than asked for where
    /// what comes before has been forgotten.
    pub at: u64,
    /// How much the process has written so far.
    pub total: u64,
    /// No more will come.
    pub is_ended: bool,
}

impl Piece {
    /// Where the next part begins.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.at + size(self.bytes.len())
    }
}

#[cfg_attr(
    all(not(target_os = "linux"), not(test)),
    expect(dead_code, reason = "kept of background processes")
)]
#[derive(Debug)]
pub(super) struct Log {
    limits: LogLimits,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    /// How much the file has.
    in_file: u64,
    /// A reader has acknowledged everything before this.
    read_to: u64,
    is_ended: bool,
    /// What takes secrets out of it first. Positions are those of the masked stream.
    mask: Option<MaskedStream>,
}

#[cfg_attr(
    all(not(target_os = "linux"), not(test)),
    expect(dead_code, reason = "kept of background processes")
)]
impl Log {
    pub(super) fn new(limits: LogLimits, mask: Option<&Arc<OutputMask>>) -> Self {
        Self {
            mask: mask.map(MaskedStream::new),
            limits,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            in_file: 0,
            read_to: 0,
            is_ended: false,
        }
    }

    /// How much may be pushed now.
    pub(super) fn room(&self) -> usize {
        if !self.limits.holds {
            return usize::MAX;
        }
        let unread = usize::try_from(self.total - self.read_to).unwrap_or(usize::MAX);
        self.limits.tail_bytes.saturating_sub(unread)
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self.mask.take() {
            Some(mut mask) => {
                self.keep(mask.push(bytes));
                self.mask = Some(mask);
            }
            None => self.keep(bytes),
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let head = self.limits.head_bytes.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..head]);
        self.keep_in_file(bytes);
        self.total += size(bytes.len());
        self.tail.extend(bytes);
        self.forget();
    }

    /// Forgets what only the file has.
    pub(super) fn close_file(&mut self) {
        self.limits.file = None;
    }

    /// No more will come.
    pub(super) fn end(&mut self) {
        if let Some(mut mask) = self.mask.take() {
            self.keep(mask.finish());
        }
        self.is_ended = true;
    }

    /// What comes from `from` on, `max` bytes at most. Reading on says that everything before `from` has
    /// arrived.
    pub(super) fn read(&mut self, from: u64, max: usize) -> Piece {
        let from = from.min(self.total);
        if from > self.read_to {
            self.read_to = from;
            self.forget();
        }
        let (at, bytes) = self.find(from, max);
        let is_ended = self.is_ended && at + size(bytes.len()) == self.total;
        Piece { bytes, at, total: self.total, is_ended }
    }

    fn find(&self, from: u64, max: usize) -> (u64, Vec<u8>) {
        let tail_at = self.total - size(self.tail.len());
        if from >= tail_at {
            return (from, self.in_tail(from - tail_at, max));
        }
        let offset = usize::try_from(from).unwrap_or(usize::MAX);
        if let Some(rest) = self.head.get(offset..).filter(|rest| !rest.is_empty()) {
            return (from, rest[..rest.len().min(max)].to_vec());
        }
        if let Some(file) = &self.limits.file
            && from < self.in_file
        {
            let left = usize::try_from(self.in_file - from).unwrap_or(usize::MAX);
            let mut bytes = vec![0; left.min(max)];
            if file.read_exact_at(&mut bytes, from).is_ok() {
                return (from, bytes);
            }
        }
        (tail_at, self.in_tail(0, max))
    }

    fn in_tail(&self, offset: u64, max: usize) -> Vec<u8> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.tail.len());
        let end = self.tail.len().min(offset.saturating_add(max));
        let (front, back) = self.tail.as_slices();
        let mut bytes = Vec::with_capacity(end - offset);
        bytes.extend_from_slice(&front[offset.min(front.len())..end.min(front.len())]);
        let after = |index: usize| index.saturating_sub(front.len());
        bytes.extend_from_slice(&back[after(offset)..after(end)]);
        bytes
    }

    /// A disk that takes no more leaves the file as it is.
    fn keep_in_file(&mut self, bytes: &[u8]) {
        let Some(file) = &self.limits.file else { return };
        if self.in_file != self.total {
            return;
        }
        let left = usize::try_from(self.limits.file_bytes - self.in_file).unwrap_or(usize::MAX);
        let fitting = &bytes[..bytes.len().min(left)];
        if file.write_all_at(fitting, self.in_file).is_ok() {
            self.in_file += size(fitting.len());
        }
    }

    /// Output that must not be lost stays until a reader has it.
    fn forget(&mut self) {
        let mut excess = self.tail.len().saturating_sub(self.limits.tail_bytes);
        if self.limits.holds {
            let unread = usize::try_from(self.total - self.read_to).unwrap_or(usize::MAX);
            excess = self.tail.len().saturating_sub(unread.max(self.limits.tail_bytes));
        }
        self.tail.drain(..excess);
        if self.is_ended || self.tail.is_empty() {
            self.tail.shrink_to(self.limits.tail_bytes);
        }
    }
}

fn size(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
