//! Opening, reading and writing by the plain calls.

use std::ffi::CStr;
use std::io;

use crate::outcome::{Done, Outcome, Refused, system_call};

pub(crate) fn open(path: &CStr, flags: i32) -> Result<usize, Refused> {
    system_call!(SYS_openat, libc::AT_FDCWD, path, flags, 0o644)
}

pub(crate) fn write(fd: usize, token: &str) -> Outcome {
    system_call!(SYS_write, fd, token, token.len()).done()
}

pub(crate) fn read(fd: usize) -> Outcome {
    filled(|place, length| system_call!(SYS_read, fd, place, length))
}

/// As [`read`], from the beginning of a file.
pub(crate) fn read_from_start(fd: usize) -> Outcome {
    filled(|place, length| system_call!(SYS_pread64, fd, place, length, 0))
}

/// The text that a call puts into a buffer.
pub(crate) fn filled(fill: impl FnOnce(*mut u8, usize) -> Result<usize, Refused>) -> Outcome {
    let mut bytes = vec![0_u8; 1 << 16];
    let length = fill(bytes.as_mut_ptr(), bytes.len())?;
    Ok(text(&bytes[..length]))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Maps this number of bytes at an address of the kernel's choice; `fd` is -1 for memory alone.
pub(crate) fn map(
    length: usize,
    protection: i32,
    flags: i32,
    fd: i32,
    offset: i64,
) -> Result<*mut u8, Refused> {
    // SAFETY: a new mapping, which no existing reference can point into.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, fd, offset) };
    if start == libc::MAP_FAILED {
        return Err(Refused::new("mmap", io::Error::last_os_error()));
    }
    Ok(start.cast())
}
