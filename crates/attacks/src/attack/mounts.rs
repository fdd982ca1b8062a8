//! Mounts: over existing files, away from them, and again with other rights.

use std::fs;

use crate::arguments::Arguments;
use crate::outcome::{Attack, Named, Outcome, system_call};

pub(crate) const ATTACKS: &[Attack] = &[
    ("mount-over", mount_over),
    ("mount-bind", mount_bind),
    ("mount-new", mount_new),
    ("mount-tree", mount_tree),
    ("mount-move", mount_move),
    ("remount-create", remount_create),
    ("mount-setattr-create", mount_setattr_create),
    ("unmount", unmount),
];

fn mount_over(arguments: &Arguments) -> Outcome {
    let (at, tmpfs) = (arguments.path(0)?, c"tmpfs".as_ptr());
    system_call!("mount", libc::SYS_mount, tmpfs, at.as_ptr(), tmpfs, 0, 0)?;
    Ok(String::new())
}

fn mount_bind(arguments: &Arguments) -> Outcome {
    let (from, to) = (arguments.path(0)?, arguments.path(1)?);
    system_call!("mount", libc::SYS_mount, from.as_ptr(), to.as_ptr(), 0, libc::MS_BIND, 0)?;
    Ok(String::new())
}

const EMPTY_FROM: i32 = 4;

/// The newer calls: a file system is opened, made a mount, and put somewhere.
fn mount_new(arguments: &Arguments) -> Outcome {
    const CREATE: i32 = 6;
    let at = arguments.path(0)?;
    let context = system_call!("fsopen", libc::SYS_fsopen, c"tmpfs".as_ptr(), 0)?;
    system_call!("fsconfig", libc::SYS_fsconfig, context, CREATE, 0, 0, 0)?;
    let mount = system_call!("fsmount", libc::SYS_fsmount, context, 0, 0)?;
    let (here, empty) = (libc::AT_FDCWD, c"".as_ptr());
    system_call!("move_mount", libc::SYS_move_mount, mount, empty, here, at.as_ptr(), EMPTY_FROM)?;
    Ok(String::new())
}

/// A copy of a tree, put over another one.
fn mount_tree(arguments: &Arguments) -> Outcome {
    const CLONE: i32 = 1;
    let (from, to) = (arguments.path(0)?, arguments.path(1)?);
    let here = libc::AT_FDCWD;
    let tree = system_call!("open_tree", libc::SYS_open_tree, here, from.as_ptr(), CLONE)?;
    let empty = c"".as_ptr();
    system_call!("move_mount", libc::SYS_move_mount, tree, empty, here, to.as_ptr(), EMPTY_FROM)?;
    Ok(String::new())
}

/// A mount that is there, put somewhere else.
fn mount_move(arguments: &Arguments) -> Outcome {
    let (from, to) = (arguments.path(0)?, arguments.path(1)?);
    system_call!("mount", libc::SYS_mount, from.as_ptr(), to.as_ptr(), 0, libc::MS_MOVE, 0)?;
    Ok(String::new())
}

fn remount_create(arguments: &Arguments) -> Outcome {
    let at = arguments.path(0)?;
    let flags = libc::MS_REMOUNT | libc::MS_BIND;
    system_call!("mount", libc::SYS_mount, 0, at.as_ptr(), 0, flags, 0)?;
    fs::write(arguments.text(1)?, arguments.text(2)?).named("open")?;
    Ok(String::new())
}

fn mount_setattr_create(arguments: &Arguments) -> Outcome {
    const READ_ONLY: u64 = 1;
    let at = arguments.path(0)?;
    // `struct mount_attr`: set, clear, propagation, user namespace.
    let attributes = [0, READ_ONLY, 0, 0_u64];
    let (here, place) = (libc::AT_FDCWD, attributes.as_ptr());
    system_call!("mount_setattr", libc::SYS_mount_setattr, here, at.as_ptr(), 0, place, 32)?;
    fs::write(arguments.text(1)?, arguments.text(2)?).named("open")?;
    Ok(String::new())
}

fn unmount(arguments: &Arguments) -> Outcome {
    let at = arguments.path(0)?;
    system_call!("umount2", libc::SYS_umount2, at.as_ptr(), libc::MNT_DETACH)?;
    Ok(String::new())
}
