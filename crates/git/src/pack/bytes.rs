//! The content of an object that is the base of others.

use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::PackError;
use super::region::Inflated;
use crate::directory::Directory;
use crate::temporary::unnamed;

/// Larger contents are not held in memory.
pub(super) const LARGE: u64 = 16 << 20;

/// The content of an object: in memory, or in a file if it is large.
#[derive(Debug)]
pub(super) enum Bytes {
    Memory(Vec<u8>),
    File(File, u64),
}

impl Bytes {
    /// Reads a content of `size` bytes.
    pub(super) fn read(
        mut input: Inflated<'_, impl BufRead>,
        size: u64,
        staging: &Arc<Directory>,
    ) -> Result<Self, PackError> {
        if size <= LARGE {
            return Ok(Self::Memory(input.read_all()?));
        }
        let file = unnamed(staging).map_err(PackError::Io)?;
        let mut writer = BufWriter::new(&file);
        std::io::copy(&mut input, &mut writer)?;
        writer.flush().map_err(PackError::Io)?;
        drop(writer);
        Ok(Self::File(file, size))
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Memory(content) => content.len() as u64,
            Self::File(_, size) => *size,
        }
    }

    /// What it costs to hold it. An open file is worth as much as the memory that it saves.
    pub(super) fn cost(&self) -> u64 {
        self.size().min(LARGE)
    }

    /// Passes a part of it on.
    pub(super) fn copy(
        &self,
        offset: u64,
        length: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), PackError>,
    ) -> Result<(), PackError> {
        let damaged = PackError::Damaged("a difference");
        match self {
            Self::Memory(content) => {
                let begin = usize::try_from(offset).unwrap_or(usize::MAX);
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                match begin.checked_add(length).and_then(|end| content.get(begin..end)) {
                    Some(part) => take(part),
                    None => Err(damaged),
                }
            }
            Self::File(file, _) => {
                let mut part = [0; 8 << 10];
                let (mut offset, mut left) = (offset, length);
                while left > 0 {
                    let length = usize::try_from(left).map_or(part.len(), |n| n.min(part.len()));
                    file.read_exact_at(&mut part[..length], offset)?;
                    take(&part[..length])?;
                    offset += length as u64;
                    left -= length as u64;
                }
                Ok(())
            }
        }
    }
}
