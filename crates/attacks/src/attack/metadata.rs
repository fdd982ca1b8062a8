//! Modes, owners, times, attributes: what may be changed without opening a file for writing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::arguments::Arguments;
use crate::descriptors::{filled, open};
use crate::outcome::{Done, Named, Outcome, Refused, attacks, system_call};

attacks! {
    chmod, fchmod, fchmodat2, chown, fchown, utimes, futimes, setxattr, fsetxattr, setxattrat,
    removexattr, getxattr, setacl, setflags, getflags, file_setattr, setuid_copy, effective_user,
}

const ATTRIBUTE: &std::ffi::CStr = c"user.attack";

fn open_for_reading(arguments: &Arguments) -> Result<usize, Refused> {
    open(&arguments.path(0)?, libc::O_RDONLY)
}

fn mode(arguments: &Arguments) -> Result<u32, Refused> {
    u32::from_str_radix(arguments.text(1)?, 8).map_err(std::io::Error::other).named("arguments")
}

fn chmod(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    system_call!(SYS_fchmodat, libc::AT_FDCWD, &path, mode(arguments)?).done()
}

fn fchmod(arguments: &Arguments) -> Outcome {
    let fd = open_for_reading(arguments)?;
    system_call!(SYS_fchmod, fd, mode(arguments)?).done()
}

/// By a descriptor that is good for nothing but a path.
fn fchmodat2(arguments: &Arguments) -> Outcome {
    const FCHMODAT2: libc::c_long = 452;
    let fd = open(&arguments.path(0)?, libc::O_PATH)?;
    system_call!("fchmodat2", FCHMODAT2, fd, c"", mode(arguments)?, libc::AT_EMPTY_PATH).done()
}

fn chown(arguments: &Arguments) -> Outcome {
    let (path, user) = (arguments.path(0)?, arguments.number::<u32>(1)?);
    system_call!(SYS_fchownat, libc::AT_FDCWD, &path, user, user, 0).done()
}

fn fchown(arguments: &Arguments) -> Outcome {
    let fd = open_for_reading(arguments)?;
    let user = arguments.number::<u32>(1)?;
    system_call!(SYS_fchown, fd, user, user).done()
}

/// The first second after the epoch, twice.
const LONG_AGO: [i64; 4] = [1, 0, 1, 0];

fn utimes(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    system_call!(SYS_utimensat, libc::AT_FDCWD, &path, &LONG_AGO, 0).done()
}

fn futimes(arguments: &Arguments) -> Outcome {
    let fd = open_for_reading(arguments)?;
    system_call!(SYS_utimensat, fd, 0, &LONG_AGO, 0).done()
}

fn setxattr(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    let token = arguments.text(1)?;
    let (name, value) = (ATTRIBUTE.as_ptr(), token.as_ptr());
    system_call!(SYS_setxattr, &path, name, value, token.len(), 0).done()
}

fn fsetxattr(arguments: &Arguments) -> Outcome {
    let fd = open_for_reading(arguments)?;
    let token = arguments.text(1)?;
    system_call!(SYS_fsetxattr, fd, ATTRIBUTE, token, token.len(), 0).done()
}

/// The newest call of this kind, which an older list of calls does not hold.
fn setxattrat(arguments: &Arguments) -> Outcome {
    const SETXATTRAT: libc::c_long = 463;
    let path = arguments.path(0)?;
    let token = arguments.text(1)?;
    // `struct xattr_args`: the place of the value, then its size and flags in one word.
    let value = [token.as_ptr() as u64, token.len() as u64];
    system_call!("setxattrat", SETXATTRAT, libc::AT_FDCWD, &path, 0, ATTRIBUTE, &value, 16).done()
}

fn removexattr(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    system_call!(SYS_removexattr, &path, ATTRIBUTE).done()
}

/// For a test to look at.
fn getxattr(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    filled(|place, length| system_call!(SYS_getxattr, &path, ATTRIBUTE, place, length))
}

/// Gives user 12345 all rights by an access list.
fn setacl(arguments: &Arguments) -> Outcome {
    const NOBODY: u32 = u32::MAX;
    let path = arguments.path(0)?;
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, who) in [
        (1_u16, 6_u16, NOBODY),
        (2, 7, 12_345),
        (4, 4, NOBODY),
        (0x10, 7, NOBODY),
        (0x20, 4, NOBODY),
    ] {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(who.to_le_bytes());
    }
    let name = c"system.posix_acl_access";
    system_call!(SYS_setxattr, &path, name, &list, list.len(), 0).done()
}

const NO_DUMP: u64 = 0x40;

/// The flags that `chattr` sets, on a descriptor opened for reading.
fn setflags(arguments: &Arguments) -> Outcome {
    const SET_FLAGS: u64 = 0x4008_6602;
    let fd = open_for_reading(arguments)?;
    system_call!(SYS_ioctl, fd, SET_FLAGS, &[NO_DUMP]).done()
}

/// For a test to look at.
fn getflags(arguments: &Arguments) -> Outcome {
    const GET_FLAGS: u64 = 0x8008_6601;
    let fd = open_for_reading(arguments)?;
    let mut flags = 0_u64;
    system_call!(SYS_ioctl, fd, GET_FLAGS, &raw mut flags)?;
    Ok(if flags & NO_DUMP == 0 { "<>" } else { "<no dump>" }.to_owned())
}

/// The same without a descriptor of the file.
fn file_setattr(arguments: &Arguments) -> Outcome {
    const FILE_SETATTR: libc::c_long = 469;
    const X_NO_DUMP: u64 = 0x80;
    let path = arguments.path(0)?;
    let attributes = [X_NO_DUMP, 0, 0];
    system_call!("file_setattr", FILE_SETATTR, libc::AT_FDCWD, &path, &attributes, 24, 0).done()
}

/// Leaves a program that runs with the rights of its owner, whichever user starts it.
fn setuid_copy(arguments: &Arguments) -> Outcome {
    let target = arguments.text(0)?;
    fs::copy("/proc/self/exe", target).named("copy")?;
    fs::set_permissions(target, fs::Permissions::from_mode(0o4755)).named("chmod").done()
}

/// For a program with the setuid bit: whether it has gained another user's rights.
fn effective_user(_: &Arguments) -> Outcome {
    // SAFETY: these calls take nothing and cannot fail.
    let (real, effective) = unsafe { (libc::getuid(), libc::geteuid()) };
    if real == effective {
        return Err(Refused::without_effect("execve"));
    }
    Ok(format!("user {effective}"))
}
