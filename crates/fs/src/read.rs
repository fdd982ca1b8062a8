//! Reading a whole file within a limit.

use std::fs::File;
use std::sync::atomic::AtomicBool;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::{FsError, Root};

/// Bytes read between two looks at the cancel flag.
const STRIDE: u64 = 1 << 20;
/// Bytes asked for at first of a file that does not tell its size.
const UNKNOWN: u64 = 8192;

/// The bytes of the regular file at `path`, at most `limit` of them; one more is
/// [`FsError::TooLarge`].
///
/// The limit counts what is read: a file of procfs whose size is said to be zero, and a file that
/// grows while it is read, are held to it all the same.
pub fn read(root: &Root, path: &str, limit: u64, cancel: &AtomicBool) -> Result<Vec<u8>, FsError> {
    checkpoint(cancel)?;
    let file = root.open_file(path)?;
    read_open(&file, path, limit, cancel)
}

/// As [`read()`], from a file that is open already and stands at its beginning.
pub(crate) fn read_open(
    file: &File,
    display_path: &str,
    limit: u64,
    cancel: &AtomicBool,
) -> Result<Vec<u8>, FsError> {
    let failed = |errno: Errno| FsError::at(display_path, "reading", errno);
    let too_large = |bytes: u64| FsError::TooLarge {
        path: display_path.to_owned(),
        bytes,
        limit,
        result: false,
    };
    let promised = rustix::fs::fstat(file).map_err(failed)?.st_size;
    let promised = u64::try_from(promised).unwrap_or(0);
    // Read to the limit and beyond it only to be refused: one byte from there tells as much. The
    // size alone does not, since files of sysfs say 4096 and hold a few bytes.
    if promised > limit && rustix::io::pread(file, &mut [0; 1], limit).is_ok_and(|read| read > 0) {
        return Err(too_large(promised));
    }

    // One byte beyond the limit tells "exactly full" from "too large", and one byte beyond the
    // promised size sees the end without asking for memory again.
    let most = limit.saturating_add(1);
    // A file of procfs says zero, and some of them give everything at the first read or nothing.
    let mut wanted = if promised == 0 { UNKNOWN } else { promised.saturating_add(1) };
    let mut bytes = Vec::new();
    loop {
        checkpoint(cancel)?;
        if bytes.len() == bytes.capacity() {
            let read = bytes.len() as u64;
            let more = wanted.min(most).saturating_sub(read).clamp(1, STRIDE);
            // Reserved without aborting the process when there is no memory.
            usize::try_from(more)
                .ok()
                .and_then(|more| bytes.try_reserve_exact(more).ok())
                .ok_or_else(|| failed(Errno::NOMEM))?;
        }
        match rustix::io::read(file, spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(bytes),
            Ok(_) => {
                let read = bytes.len() as u64;
                if read > limit {
                    return Err(too_large(promised.max(read)));
                }
                // Larger than promised: by as much again, for files that know no size.
                if read >= wanted {
                    wanted = read.saturating_mul(2).max(UNKNOWN);
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
}

/// Whether `file` holds exactly `expected`, without a second copy of it in memory.
pub(crate) fn holds(file: &File, expected: &[u8]) -> bool {
    let mut buffer = vec![0; expected.len().saturating_add(1).min(64 << 10)];
    let mut rest = expected;
    let mut offset = 0;
    loop {
        match rustix::io::pread(file, &mut buffer[..], offset) {
            Ok(0) => return rest.is_empty(),
            Ok(read) => {
                let Some(left) = buffer.get(..read).and_then(|part| rest.strip_prefix(part)) else {
                    return false;
                };
                rest = left;
                offset += read as u64;
            }
            Err(Errno::INTR) => {}
            // What cannot be read cannot be vouched for.
            Err(_) => return false,
        }
    }
}
