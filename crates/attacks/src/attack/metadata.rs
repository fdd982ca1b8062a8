//! Modes, owners, times, attributes: what may be changed without opening a file for writing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::arguments::Arguments;
use crate::outcome::{Attack, Named, Outcome, Refused, system_call};

pub(crate) const ATTACKS: &[Attack] = &[
    ("chmod", chmod),
    ("fchmod", fchmod),
    ("fchmodat2", fchmodat2),
    ("chown", chown),
    ("fchown", fchown),
    ("utimes", utimes),
    ("futimes", futimes),
    ("setxattr", setxattr),
    ("fsetxattr", fsetxattr),
    ("setxattrat", setxattrat),
    ("removexattr", removexattr),
    ("getxattr", getxattr),
    ("setacl", setacl),
    ("setflags", setflags),
    ("getflags", getflags),
    ("file-setattr", file_setattr),
    ("setuid-copy", setuid_copy),
    ("effective-user", effective_user),
];

const ATTRIBUTE: &std::ffi::CStr = c"user.attack";

fn open_for_reading(arguments: &Arguments) -> Result<usize, Refused> {
    let path = arguments.path(0)?;
    system_call!("open", libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY, 0)
}

fn mode(arguments: &Arguments) -> Result<u32, Refused> {
    u32::from_str_radix(arguments.text(1)?, 8).map_err(std::io::Error::other).named("arguments")
}

fn chmod(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    system_call!("chmod", libc::SYS_fchmodat, libc::AT_FDCWD, path.as_ptr(), mode(arguments)?)?;
    Ok(String::new())
}

fn fchmod(arguments: &Arguments) -> Outcome {
    let fd = open_for_reading(arguments)?;
    system_call!("fchmod", libc::SYS_fchmod, fd, mode(arguments)?)?;
    Ok(String::new())
}

/// By a descriptor that is good for nothing but a path.
fn fchmodat2(arguments: &Arguments) -> Outcome {
    const FCHMODAT2: libc::c_long = 452;
    let path = arguments.path(0)?;
    let here = libc::AT_FDCWD;
    let fd = system_call!("open", libc::SYS_openat, here, path.as_ptr(), libc::O_PATH, 0)?;
    let empty = libc::AT_EMPTY_PATH;
    system_call!("fchmodat2", FCHMODAT2, fd, c"".as_ptr(), mode(arguments)?, empty)?;
    Ok(String::new())
}

fn chown(arguments: &Arguments) -> Outcome {
    let (path, user) = (arguments.path(0)?, arguments.number::<u32>(1)?);
    let here = libc::AT_FDCWD;
    system_call!("chown", libc::SYS_fchownat, here, path.as_ptr(), user, user, 0)?;
    Ok(String::new())
}

fn fchown(arguments: &Arguments) -> Outcome {
    let fd = open_for_reading(arguments)?;
    let user = arguments.number::<u32>(1)?;
    system_call!("fchown", libc::SYS_fchown, fd, user, user)?;
    Ok(String::new())
}

/// The first second after the epoch, twice.
const LONG_AGO: [i64; 4] = [1, 0, 1, 0];

fn utimes(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    let (here, times) = (libc::AT_FDCWD, LONG_AGO);
    system_call!("utimensat", libc::SYS_utimensat, here, path.as_ptr(), times.as_ptr(), 0)?;
    Ok(String::new())
}

fn futimes(arguments: &Arguments) -> Outcome {
    let fd = open_for_reading(arguments)?;
    let times = LONG_AGO;
    system_call!("utimensat", libc::SYS_utimensat, fd, 0, times.as_ptr(), 0)?;
    Ok(String::new())
}

fn setxattr(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    let token = arguments.text(1)?;
    let (name, value) = (ATTRIBUTE.as_ptr(), token.as_ptr());
    system_call!("setxattr", libc::SYS_setxattr, path.as_ptr(), name, value, token.len(), 0)?;
    Ok(String::new())
}

fn fsetxattr(arguments: &Arguments) -> Outcome {
    let fd = open_for_reading(arguments)?;
    let token = arguments.text(1)?;
    let name = ATTRIBUTE.as_ptr();
    system_call!("fsetxattr", libc::SYS_fsetxattr, fd, name, token.as_ptr(), token.len(), 0)?;
    Ok(String::new())
}

/// The newest call of this kind, which an older list of calls does not hold.
fn setxattrat(arguments: &Arguments) -> Outcome {
    const SETXATTRAT: libc::c_long = 463;
    let path = arguments.path(0)?;
    let token = arguments.text(1)?;
    // `struct xattr_args`: the place of the value, then its size and flags in one word.
    let value = [token.as_ptr() as u64, token.len() as u64];
    let (here, name) = (libc::AT_FDCWD, ATTRIBUTE.as_ptr());
    system_call!("setxattrat", SETXATTRAT, here, path.as_ptr(), 0, name, value.as_ptr(), 16)?;
    Ok(String::new())
}

fn removexattr(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    system_call!("removexattr", libc::SYS_removexattr, path.as_ptr(), ATTRIBUTE.as_ptr())?;
    Ok(String::new())
}

/// For a test to look at.
fn getxattr(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    let mut bytes = [0_u8; 256];
    let (name, place) = (ATTRIBUTE.as_ptr(), bytes.as_mut_ptr());
    let got =
        system_call!("getxattr", libc::SYS_getxattr, path.as_ptr(), name, place, bytes.len())?;
    Ok(String::from_utf8_lossy(&bytes[..got]).into_owned())
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
    let (value, length) = (list.as_ptr(), list.len());
    system_call!("setxattr", libc::SYS_setxattr, path.as_ptr(), name.as_ptr(), value, length, 0)?;
    Ok(String::new())
}

const NO_DUMP: u64 = 0x40;

/// The flags that `chattr` sets, on a descriptor opened for reading.
fn setflags(arguments: &Arguments) -> Outcome {
    const SET_FLAGS: u64 = 0x4008_6602;
    let fd = open_for_reading(arguments)?;
    let flags = NO_DUMP;
    system_call!("ioctl", libc::SYS_ioctl, fd, SET_FLAGS, &raw const flags)?;
    Ok(String::new())
}

/// For a test to look at.
fn getflags(arguments: &Arguments) -> Outcome {
    const GET_FLAGS: u64 = 0x8008_6601;
    let fd = open_for_reading(arguments)?;
    let mut flags = 0_u64;
    system_call!("ioctl", libc::SYS_ioctl, fd, GET_FLAGS, &raw mut flags)?;
    Ok(if flags & NO_DUMP == 0 { "<>" } else { "<no dump>" }.to_owned())
}

/// The same without a descriptor of the file.
fn file_setattr(arguments: &Arguments) -> Outcome {
    const FILE_SETATTR: libc::c_long = 469;
    const X_NO_DUMP: u64 = 0x80;
    let path = arguments.path(0)?;
    let attributes = [X_NO_DUMP, 0, 0];
    let here = libc::AT_FDCWD;
    system_call!("file_setattr", FILE_SETATTR, here, path.as_ptr(), attributes.as_ptr(), 24, 0)?;
    Ok(String::new())
}

/// Leaves a program that runs with the rights of its owner, whichever user starts it.
fn setuid_copy(arguments: &Arguments) -> Outcome {
    let target = arguments.text(0)?;
    fs::copy("/proc/self/exe", target).named("copy")?;
    fs::set_permissions(target, fs::Permissions::from_mode(0o4755)).named("chmod")?;
    Ok(String::new())
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
