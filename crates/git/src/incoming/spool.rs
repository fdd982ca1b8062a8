//! Contents that were read and wait to be stored.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::directory::Directory;
use crate::temporary::unnamed;

/// So much is held in memory.
const MAX_MEMORY: usize = 8 << 20;

/// Bytes in the order in which they came: the first in memory, the others in a file without a name.
#[derive(Debug)]
pub(super) struct Spool {
    directory: Arc<Directory>,
    memory: Vec<u8>,
    file: Option<File>,
    length: u64,
}

impl Spool {
    /// The file, if one is needed, is made in this directory.
    pub(super) fn new(directory: &Arc<Directory>) -> Self {
        Self { directory: Arc::clone(directory), memory: Vec::new(), file: None, length: 0 }
    }

    /// Where the next bytes will be.
    pub(super) fn end(&self) -> u64 {
        self.length
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let in_memory = self.length == self.memory.len() as u64;
        if in_memory && self.memory.len() + bytes.len() <= MAX_MEMORY {
            self.memory.extend_from_slice(bytes);
        } else {
            let file = match &mut self.file {
                Some(file) => file,
                file => file.insert(unnamed(&self.directory)?),
            };
            file.write_all_at(bytes, self.length - self.memory.len() as u64)?;
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Forgets everything from a place on.
    pub(super) fn truncate(&mut self, end: u64) {
        self.memory.truncate(usize::try_from(end).unwrap_or(usize::MAX));
        self.length = end;
    }

    /// Reads what is at a place.
    pub(super) fn read(&self, place: u64, length: u64) -> impl Read + '_ {
        Part { spool: self, next: place, end: place + length }
    }
}

struct Part<'a> {
    spool: &'a Spool,
    next: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        let limit = left.min(output.len());
        let memory = &self.spool.memory;
        let begin = usize::try_from(self.next).unwrap_or(usize::MAX);
        let length = match (memory.get(begin..), &self.spool.file) {
            (Some(part), _) if !part.is_empty() => {
                let length = limit.min(part.len());
                output[..length].copy_from_slice(&part[..length]);
                length
            }
            (_, Some(file)) => {
                file.read_at(&mut output[..limit], self.next - memory.len() as u64)?
            }
            _ => 0,
        };
        self.next += length as u64;
        Ok(length)
    }
}
