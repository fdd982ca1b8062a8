//! Error numbers of calls that the standard library does not make.

use std::io;

use rustix::io::Errno;

/// The number of the last call that failed. It neither allocates nor locks.
pub(crate) fn last() -> Errno {
    // SAFETY: the location belongs to this thread, or to a parent that sleeps meanwhile.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

/// The number of an error, for a layer that was refused or a step that failed.
pub(crate) fn of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::INVAL)
}
