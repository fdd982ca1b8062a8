//! Landlock's three system calls, and what may be asked of each version of its interface.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;

use crate::errno;

/// The rights that can be handled, and so refused where no rule grants them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub(super) struct Handled {
    pub(super) files: u64,
    pub(super) ports: u64,
    pub(super) scopes: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: RawFd,
}

const CREATE_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;
/// Keeps Landlock's refusals of a command's own rules from the audit log, which it could fill at
/// will.
const LOG_SUBDOMAINS_OFF: u32 = 1 << 2;

pub(super) const EXECUTE: u64 = 1;
pub(super) const WRITE_FILE: u64 = 1 << 1;
pub(super) const READ_FILE: u64 = 1 << 2;
pub(super) const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
/// To bind a socket gives it a name, which is in memory, where no filter can read it.
pub(super) const MAKE_SOCK: u64 = 1 << 9;
const MAKE_FIFO: u64 = 1 << 10;
const MAKE_BLOCK: u64 = 1 << 11;
const MAKE_SYM: u64 = 1 << 12;
pub(super) const REFER: u64 = 1 << 13;
pub(super) const TRUNCATE: u64 = 1 << 14;
pub(super) const IOCTL_DEV: u64 = 1 << 15;
pub(super) const RESOLVE_UNIX: u64 = 1 << 16;

/// Reading and running a file. A program needs both rights on itself, and a library reading only;
/// there is no use in telling them apart.
pub(super) const READ: u64 = READ_FILE | EXECUTE;
/// Everything that changes a file or a directory.
pub(super) const WRITE: u64 = WRITE_FILE
    | TRUNCATE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_CHAR
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_BLOCK
    | MAKE_SYM
    | REFER
    | IOCTL_DEV;
/// The rights in a writable directory. They exclude making devices, and `ioctl` on devices
/// that exist.
pub(super) const WRITE_BENEATH: u64 = WRITE & !(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV);
/// The rights that apply to files other than directories.
pub(super) const OF_FILES: u64 = READ | WRITE_FILE | TRUNCATE | IOCTL_DEV | RESOLVE_UNIX;

/// Binding and connecting, by TCP and, where it is known, by UDP.
pub(super) const PORTS: u64 = 0b1111;
/// Abstract sockets and signals.
pub(super) const SCOPES: u64 = 0b11;

/// The version of the interface.
pub(super) fn version() -> io::Result<u32> {
    // SAFETY: with this flag the kernel takes no structure.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<Handled>(),
            0usize,
            CREATE_VERSION,
        )
    };
    u32::try_from(version).map_err(|_| io::Error::last_os_error())
}

/// The rights of `requested` that a version knows. The kernel refuses a set with an unknown right.
pub(super) fn known(abi: u32, requested: Handled) -> Handled {
    let files = match abi {
        0 => 0,
        1 => REFER - 1,
        2 => TRUNCATE - 1,
        3 | 4 => IOCTL_DEV - 1,
        5..=8 => RESOLVE_UNIX - 1,
        _ => (RESOLVE_UNIX << 1) - 1,
    };
    let ports = match abi {
        0..=3 => 0,
        4..=9 => 0b11,
        _ => PORTS,
    };
    let scopes = if abi >= 6 { SCOPES } else { 0 };
    Handled {
        files: requested.files & files,
        ports: requested.ports & ports,
        scopes: requested.scopes & scopes,
    }
}

/// The flags to restrict with.
pub(super) fn flags(abi: u32) -> u32 {
    if abi >= 7 { LOG_SUBDOMAINS_OFF } else { 0 }
}

/// A ruleset without rules.
pub(super) fn create(handled: &Handled) -> io::Result<OwnedFd> {
    // An older kernel accepts a longer structure whose rest is zero, as `known` has made it.
    // SAFETY: the structure outlives the call, and `size_of_val` is its size.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::from_ref(handled),
            size_of::<Handled>(),
            0u32,
        )
    };
    let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Grants `allowed` on what `parent` is open on, and on everything below it.
pub(super) fn grant(ruleset: BorrowedFd<'_>, parent: impl AsFd, allowed: u64) -> Result<(), Errno> {
    let rule = PathBeneath { allowed, parent: parent.as_fd().as_raw_fd() };
    // SAFETY: both descriptors are open, and the structure outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            RULE_PATH_BENEATH,
            std::ptr::from_ref(&rule),
            0u32,
        )
    };
    if result == 0 { Ok(()) } else { Err(errno::last()) }
}

/// Restricts the calling thread for good. It must not be able to gain privileges. Neither
/// allocates nor locks.
pub(super) fn restrict_self(ruleset: BorrowedFd<'_>, flags: u32) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), flags) };
    if result == 0 { Ok(()) } else { Err(errno::last()) }
}
