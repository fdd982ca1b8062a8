//! Reading a whole file within a limit.

use std::fs::File;
use std::io;
use std::io::Read;
use std::sync::atomic::AtomicBool;

use crate::FsError;
use crate::Root;
use crate::cancel::checkpoint;

/// Bytes read between two looks at the cancel flag.
const STRIDE: usize = 1 << 20;

/// The bytes of the regular file at `path`, at most `limit` of them; one more is
/// [`FsError::TooLarge`].
///
/// The limit counts what is read: a file of procfs whose size is said to be zero, and a file that
/// grows while it is read, are held to it all the same.
pub fn read(
    root: &Root,
    path: &str,
    limit: u64,
    cancel: &AtomicBool,
) -> Result<Vec<u8>, FsError> {
    checkpoint(cancel)?;
    let mut file = root.open_file(path)?;
    read_open(&mut file, path, limit, cancel)
}

/// As [`read()`], from a file that is open already.
pub(crate) fn read_open(
    file: &mut File,
    shown: &str,
    limit: u64,
    cancel: &AtomicBool,
) -> Result<Vec<u8>, FsError> {
    let failed = |source: io::Error| FsError::Io {
        path: shown.to_owned(),
        operation: "reading",
        source,
    };
    let promised = file.metadata().map_err(failed)?.len();
    // One byte beyond the limit tells "exactly full" from "too large".
    let most = limit.saturating_add(1);
    let mut bytes = Vec::new();
    reserve(&mut bytes, promised.min(limit).saturating_add(1)).map_err(failed)?;

    loop {
        checkpoint(cancel)?;
        let left = most.saturating_sub(bytes.len() as u64).min(STRIDE as u64);
        if left == 0 {
            return Err(FsError::TooLarge {
                path: shown.to_owned(),
                bytes: promised.max(bytes.len() as u64),
                limit,
                result: false,
            });
        }
        match file.take(left).read_to_end(&mut bytes) {
            // `read_to_end` reads to the end of the stride or of the file.
            Ok(read) if (read as u64) < left => return Ok(bytes),
            Ok(_) => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Reserves without aborting the process when there is no memory.
fn reserve(bytes: &mut Vec<u8>, wanted: u64) -> io::Result<()> {
    let wanted = usize::try_from(wanted).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(wanted).map_err(|_| io::ErrorKind::OutOfMemory.into())
}
