//! A terminal for a command.
//!
//! It is one of the terminals of the command's own tree, so that programs find it by its name. The host
//! has the other end, and nothing in the sandbox has that.

use std::ffi::{CStr, c_int, c_ulong};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use rustix::io::Errno;
use toolwright_sandbox::background::TerminalSize;

use crate::errno;

const PTMX: &CStr = c"/dev/ptmx";
// `_IOW('T', 0x31, int)` and `_IO('T', 0x41)`.
const UNLOCK: c_ulong = 0x4004_5431;
const OPEN_PEER: c_ulong = 0x5441;

pub(crate) struct Terminal {
    /// What is written here is typed, and what is read here was printed.
    pub(crate) host_end: OwnedFd,
    /// The stdin, stdout and stderr of the command.
    pub(crate) own_end: OwnedFd,
}

impl Terminal {
    pub(crate) fn open(size: TerminalSize) -> Result<Self, Errno> {
        let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
        let window =
            libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
        let locked: c_int = 0;
        // SAFETY: the kernel reads a literal and locals, and the descriptors are new and have no
        // other owner.
        unsafe {
            let host_end = owned(libc::open(PTMX.as_ptr(), flags))?;
            let host = host_end.as_raw_fd();
            done(libc::ioctl(host, UNLOCK as _, &raw const locked))?;
            done(libc::ioctl(host, libc::TIOCSWINSZ, &raw const window))?;
            let own_end = owned(libc::ioctl(host, OPEN_PEER as _, flags))?;
            Ok(Self { host_end, own_end })
        }
    }
}

/// # Safety
///
/// The descriptor must be new and have no other owner.
unsafe fn owned(descriptor: c_int) -> Result<OwnedFd, Errno> {
    done(descriptor)?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn done(result: c_int) -> Result<(), Errno> {
    if result < 0 { Err(errno::last()) } else { Ok(()) }
}
