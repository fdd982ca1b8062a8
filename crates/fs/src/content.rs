//! What a file is to hold: bytes in memory, or those of another file.

use std::fs::File;
use std::sync::atomic::AtomicBool;

use rustix::io::Errno;

use crate::FsError;
use crate::cancel::checkpoint;
use crate::publish::write_all;

/// Bytes copied at once from a file.
const STRIDE: usize = 256 << 10;

/// What a file is to hold.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// The first bytes of an open file that nobody else changes.
    Staged {
        /// Open for reading.
        file: &'a File,
        /// How many of its bytes.
        bytes: u64,
    },
}

impl Content<'_> {
    /// How many bytes there are.
    pub(crate) fn size(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Staged { bytes, .. } => bytes,
        }
    }

    /// Writes all of it, and checks the cancel flag in between.
    pub(crate) fn write_to(
        self,
        file: &File,
        display_path: &str,
        cancel: &AtomicBool,
    ) -> Result<(), FsError> {
        let (source, bytes) = match self {
            Self::Bytes(bytes) => return write_all(file, display_path, bytes, cancel),
            Self::Staged { file, bytes } => (file, bytes),
        };
        let mut buffer = vec![0; STRIDE];
        let mut at = 0;
        while at < bytes {
            checkpoint(cancel)?;
            let max = usize::try_from(bytes - at).map_or(STRIDE, |left| left.min(STRIDE));
            let read = match rustix::io::pread(source, &mut buffer[..max], at) {
                // It is shorter than its stated size: half of a file must not be published.
                Ok(0) => return Err(FsError::at(display_path, "reading its content", Errno::IO)),
                Ok(read) => read,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(FsError::at(display_path, "reading its content", errno)),
            };
            write_all(file, display_path, &buffer[..read], cancel)?;
            at += read as u64;
        }
        Ok(())
    }
}
