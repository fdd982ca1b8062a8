//! Other namespaces, other roots, and devices.

use std::fs;
use std::io::Read;

use crate::arguments::Arguments;
use crate::internet::{family, socket, wire_address};
use crate::outcome::{Attack, Named, Outcome, Refused, system_call};

pub(crate) const ATTACKS: &[Attack] = &[
    ("namespace", namespace),
    ("namespace-create", namespace_create),
    ("clone3-namespace", clone3_namespace),
    ("join-create", join_create),
    ("join-connect", join_connect),
    ("chroot-create", chroot_create),
    ("pivot", pivot),
    ("device-node", device_node),
    ("device-read", device_read),
];

pub(crate) const USER_AND_MOUNT: i32 = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;

fn write(path: &str, token: &str) -> Outcome {
    fs::write(path, token).named("open")?;
    Ok(String::new())
}

/// A user namespace with a network of its own, in which one is root.
fn namespace(_: &Arguments) -> Outcome {
    system_call!("unshare", libc::SYS_unshare, libc::CLONE_NEWUSER | libc::CLONE_NEWNET)?;
    Ok("a namespace".to_owned())
}

/// Makes everything writable in mounts of one's own.
fn namespace_create(arguments: &Arguments) -> Outcome {
    system_call!("unshare", libc::SYS_unshare, USER_AND_MOUNT)?;
    let flags = libc::MS_REMOUNT | libc::MS_BIND;
    let _ = system_call!("mount", libc::SYS_mount, 0, c"/".as_ptr(), 0, flags, 0);
    write(arguments.text(0)?, arguments.text(1)?)
}

/// The same by the newest call, whose flags are in memory, where no filter sees them.
fn clone3_namespace(_: &Arguments) -> Outcome {
    let mut request = [0_u64; 11];
    request[0] = (libc::CLONE_NEWUSER | libc::CLONE_NEWPID) as u64;
    request[4] = libc::SIGCHLD as u64;
    let child = system_call!("clone3", libc::SYS_clone3, request.as_ptr(), size_of_val(&request))?;
    if child == 0 {
        // SAFETY: ends the child, which has a copy of everything.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0_i32;
    system_call!("wait4", libc::SYS_wait4, child, &raw mut status, 0, 0)?;
    Ok("a namespace".to_owned())
}

/// Enters namespaces of another process: `flags` are those of clone(2).
fn join(pid: i32, flags: i32) -> Result<(), Refused> {
    let fd = system_call!("pidfd_open", libc::SYS_pidfd_open, pid, 0)?;
    system_call!("setns", libc::SYS_setns, fd, flags)?;
    Ok(())
}

fn join_create(arguments: &Arguments) -> Outcome {
    let pid = arguments.number(0)?;
    if arguments.text(3)? == "user" {
        join(pid, USER_AND_MOUNT)?;
    } else {
        join(pid, libc::CLONE_NEWNS)?;
    }
    write(arguments.text(1)?, arguments.text(2)?)
}

fn join_connect(arguments: &Arguments) -> Outcome {
    join(arguments.number(0)?, libc::CLONE_NEWNET)?;
    let (address, token) = (arguments.address(1)?, arguments.text(2)?);
    let to = wire_address(address);
    let fd = socket(family(address), libc::SOCK_STREAM, 0)?;
    system_call!("connect", libc::SYS_connect, fd, to.as_ptr(), to.len())?;
    system_call!("write", libc::SYS_write, fd, token.as_ptr(), token.len())?;
    Ok(String::new())
}

/// The old way out of a changed root: change it again, keep a descriptor outside of it, and climb.
fn chroot_create(arguments: &Arguments) -> Outcome {
    let here = libc::AT_FDCWD;
    let _ = fs::create_dir("jail");
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let outside = system_call!("open", libc::SYS_openat, here, c".".as_ptr(), flags, 0)?;
    system_call!("chroot", libc::SYS_chroot, c"jail".as_ptr())?;
    system_call!("fchdir", libc::SYS_fchdir, outside)?;
    for _ in 0..64 {
        system_call!("chdir", libc::SYS_chdir, c"..".as_ptr())?;
    }
    system_call!("chroot", libc::SYS_chroot, c".".as_ptr())?;
    write(arguments.text(0)?, arguments.text(1)?)
}

/// Another root in mounts of one's own.
fn pivot(_: &Arguments) -> Outcome {
    system_call!("unshare", libc::SYS_unshare, USER_AND_MOUNT)?;
    let _ = fs::create_dir("jail");
    let (jail, tmpfs) = (c"jail".as_ptr(), c"tmpfs".as_ptr());
    let private = libc::MS_REC | libc::MS_PRIVATE;
    system_call!("mount", libc::SYS_mount, 0, c"/".as_ptr(), 0, private, 0)?;
    system_call!("mount", libc::SYS_mount, tmpfs, jail, tmpfs, 0, 0)?;
    system_call!("chdir", libc::SYS_chdir, jail)?;
    system_call!("pivot_root", libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr())?;
    Ok("another root".to_owned())
}

fn first_bytes(path: &str) -> Outcome {
    let mut bytes = [0; 16];
    fs::File::open(path).named("open")?.read_exact(&mut bytes).named("read")?;
    Ok(format!("{} bytes of the device", bytes.len()))
}

/// Makes a device node where writing is allowed, and reads from it.
fn device_node(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    let kind = if arguments.text(1)? == "b" { libc::S_IFBLK } else { libc::S_IFCHR };
    let number = libc::makedev(arguments.number(2)?, arguments.number(3)?);
    let here = libc::AT_FDCWD;
    system_call!("mknod", libc::SYS_mknodat, here, path.as_ptr(), kind | 0o600, number)?;
    first_bytes(arguments.text(0)?)
}

fn device_read(arguments: &Arguments) -> Outcome {
    first_bytes(arguments.text(0)?)
}
