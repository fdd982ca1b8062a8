//! Reads a whole file within a limit.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::location::real_path_of_file;
use crate::{FsError, FsErrorKind, Root, read_part};

/// Bytes read between two checks of the cancel flag.
const STRIDE: u64 = 1 << 20;
/// Bytes read at first from a file that reports no size.
const UNKNOWN: u64 = 8192;

/// Reads the bytes of the regular file at `path`, at most `limit` of them. Fails with
/// [`FsErrorKind::TooLarge`] if there are more.
///
/// The limit counts what is read, so it also covers a file of procfs that reports no size and a
/// file that grows meanwhile.
pub fn read(root: &Root, path: &str, limit: u64, cancel: &AtomicBool) -> Result<Vec<u8>, FsError> {
    checkpoint(cancel)?;
    let file = root.open_file(path)?;
    read_open(&file, path, limit, cancel)
}

/// Reads the first bytes of the regular file at `path`, as they are.
pub fn read_beginning(
    root: &Root,
    path: &str,
    max_bytes: usize,
    cancel: &AtomicBool,
) -> Result<Vec<u8>, FsError> {
    read_part(&root.open_file(path)?, path, 0, max_bytes, cancel)
}

/// As [`read()`], with the real path of the file that was read, where the system tells it.
pub fn read_named(
    root: &Root,
    path: &str,
    limit: u64,
    cancel: &AtomicBool,
) -> Result<(Vec<u8>, Option<PathBuf>), FsError> {
    checkpoint(cancel)?;
    let file = root.open_file(path)?;
    let bytes = read_open(&file, path, limit, cancel)?;
    Ok((bytes, real_path_of_file(file.as_fd())))
}

/// As [`read()`], from an open file at its beginning.
pub(crate) fn read_open(
    file: &File,
    display_path: &str,
    limit: u64,
    cancel: &AtomicBool,
) -> Result<Vec<u8>, FsError> {
    let failed = |errno: Errno| FsError::at(display_path, "reading", errno);
    let too_large =
        |bytes: u64| FsErrorKind::TooLarge { bytes, limit, result: false }.at(display_path);
    let reported = rustix::fs::fstat(file).map_err(failed)?.st_size;
    let reported = u64::try_from(reported).unwrap_or(0);
    // Instead of reading up to the limit only to fail, this reads one byte behind it. The size
    // alone does not show that there are more, because files of sysfs report 4096 and contain a few
    // bytes.
    if reported > limit && rustix::io::pread(file, &mut [0; 1], limit).is_ok_and(|read| read > 0) {
        return Err(too_large(reported));
    }

    // One byte beyond the limit distinguishes "exactly full" from "too large". One byte beyond the
    // reported size reaches the end without another allocation.
    let max = limit.saturating_add(1);
    // A file of procfs reports zero, and some of them return everything in one read or nothing.
    let mut target_size = if reported == 0 { UNKNOWN } else { reported.saturating_add(1) };
    let mut bytes = Vec::new();
    loop {
        checkpoint(cancel)?;
        if bytes.len() == bytes.capacity() {
            let read = bytes.len() as u64;
            let more = target_size.min(max).saturating_sub(read).clamp(1, STRIDE);
            // Reserved first, because running out of memory would otherwise abort the process.
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
                    return Err(too_large(reported.max(read)));
                }
                // Larger than reported. Grow by as much again, for files without a size.
                if read >= target_size {
                    target_size = read.saturating_mul(2).max(UNKNOWN);
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
}

/// Whether `file` contains exactly `expected`, without a second copy of it in memory.
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
            // An unreadable file cannot be confirmed.
            Err(_) => return false,
        }
    }
}
