//! Mounts: over existing files, away from them, and again with other rights.

use std::fs;

use crate::arguments::Arguments;
use crate::outcome::{Done, Named, Outcome, attacks, system_call};

attacks! {
    mount_over, mount_bind, mount_new, mount_tree, mount_move, remount_create, mount_setattr_create,
    unmount,
}

fn mount_over(arguments: &Arguments) -> Outcome {
    system_call!(SYS_mount, c"tmpfs", &arguments.path(0)?, c"tmpfs", 0, 0).done()
}

fn mount_bind(arguments: &Arguments) -> Outcome {
    let (from, to) = (arguments.path(0)?, arguments.path(1)?);
    system_call!(SYS_mount, &from, &to, 0, libc::MS_BIND, 0).done()
}

const EMPTY_FROM: i32 = 4;

/// The newer calls: a file system is opened, made a mount, and put somewhere.
fn mount_new(arguments: &Arguments) -> Outcome {
    const CREATE: i32 = 6;
    let at = arguments.path(0)?;
    let context = system_call!(SYS_fsopen, c"tmpfs", 0)?;
    system_call!(SYS_fsconfig, context, CREATE, 0, 0, 0)?;
    let mount = system_call!(SYS_fsmount, context, 0, 0)?;
    system_call!(SYS_move_mount, mount, c"", libc::AT_FDCWD, &at, EMPTY_FROM).done()
}

/// A copy of a tree, put over another one.
fn mount_tree(arguments: &Arguments) -> Outcome {
    const CLONE: i32 = 1;
    let (from, to) = (arguments.path(0)?, arguments.path(1)?);
    let tree = system_call!(SYS_open_tree, libc::AT_FDCWD, &from, CLONE)?;
    system_call!(SYS_move_mount, tree, c"", libc::AT_FDCWD, &to, EMPTY_FROM).done()
}

/// A mount that is there, put somewhere else.
fn mount_move(arguments: &Arguments) -> Outcome {
    let (from, to) = (arguments.path(0)?, arguments.path(1)?);
    system_call!(SYS_mount, &from, &to, 0, libc::MS_MOVE, 0).done()
}

fn remount_create(arguments: &Arguments) -> Outcome {
    let at = arguments.path(0)?;
    system_call!(SYS_mount, 0, &at, 0, libc::MS_REMOUNT | libc::MS_BIND, 0)?;
    fs::write(arguments.text(1)?, arguments.text(2)?).named("open").done()
}

fn mount_setattr_create(arguments: &Arguments) -> Outcome {
    const READ_ONLY: u64 = 1;
    let at = arguments.path(0)?;
    // `struct mount_attr`: set, clear, propagation, user namespace.
    let attributes = [0, READ_ONLY, 0, 0_u64];
    system_call!(SYS_mount_setattr, libc::AT_FDCWD, &at, 0, &attributes, 32)?;
    fs::write(arguments.text(1)?, arguments.text(2)?).named("open").done()
}

fn unmount(arguments: &Arguments) -> Outcome {
    let at = arguments.path(0)?;
    system_call!(SYS_umount2, &at, libc::MNT_DETACH).done()
}
