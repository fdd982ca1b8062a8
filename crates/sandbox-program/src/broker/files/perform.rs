//! The calls themselves, made for a caller.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::call::{FileCall, Named};
use super::caller::FileCaller;
use super::git::GitDirectories;
use super::open::{Opened, Waiting, open, truncate};
use super::resolve::{Place, look_up};
use crate::errno;

/// The result of a call.
#[derive(Debug)]
pub(super) enum Performed {
    Done,
    /// It ends with this descriptor, which may be closed when the caller executes a program.
    Opened(OwnedFd, bool),
    /// As [`Performed::Opened`], with a new file at this place.
    Made(OwnedFd, bool, Place),
    /// It is to be tried again.
    Later(Waiting, bool),
}

impl Performed {
    pub(super) fn of(opened: Opened, closes_on_exec: bool) -> Self {
        match opened {
            Opened::Now(opened) => Self::Opened(opened, closes_on_exec),
            Opened::Made(opened, place) => Self::Made(opened, closes_on_exec, place),
            Opened::Later(waiting) => Self::Later(waiting, closes_on_exec),
        }
    }
}

/// Makes a call. The rights and the mask of this thread are the caller's.
pub(super) fn perform(
    call: FileCall,
    caller: &FileCaller<'_>,
    git: &GitDirectories,
) -> Result<Performed, Errno> {
    if let FileCall::Open(named, flags, mode) = call {
        let opened = open(caller, named, (flags, mode), git)?;
        return Ok(Performed::of(opened, flags & libc::O_CLOEXEC != 0));
    }
    perform_on_names(call, caller, git).map(|()| Performed::Done)
}

fn perform_on_names(
    call: FileCall,
    caller: &FileCaller<'_>,
    git: &GitDirectories,
) -> Result<(), Errno> {
    let place = |named: Named| Place::of(caller, named);
    match call {
        FileCall::MakeDirectory(named, mode) => {
            let place = place(named)?;
            git.check_new(&place)?;
            if git.is_private(&place) {
                git.make(&place, mode)
            } else {
                git.add(&place, || make_directory(&place, mode))
            }
        }
        FileCall::MakeNode(named, mode, device) => {
            let place = place(named)?;
            git.check_new(&place)?;
            if git.is_private(&place) {
                return Err(git.refuse(&place));
            }
            let (directory, name) = (place.directory(), place.name.as_ptr());
            git.add(&place, || {
                // SAFETY: the name ends with a NUL.
                done(unsafe { libc::syscall(libc::SYS_mknodat, directory, name, mode, device) })
            })
        }
        // A bare repository has any name.
        FileCall::RemoveDirectory(named) => git.remove(&place(named)?),
        FileCall::Rename(from, to, flags) => {
            let (from, to) = (place(from)?, place(to)?);
            git.check_moved(&to)?;
            if flags & libc::RENAME_EXCHANGE != 0 {
                git.check_moved(&from)?;
            }
            if git.is_private(&from) || git.is_private(&to) {
                git.rename(&from, &to, flags)
            } else if flags & libc::RENAME_EXCHANGE != 0 {
                rename(&from, &to, flags)
            } else {
                git.add(&to, || git.move_entry(&from, &to, flags))
            }
        }
        FileCall::Link(from, to, flags) => link(caller, (from, to), flags, git),
        FileCall::Truncate(named, length) => truncate(caller, named, length, git),
        // It comes to another end.
        FileCall::Open(..) => Err(Errno::NOSYS),
        FileCall::MakeLink(content, named) => {
            let place = place(named)?;
            git.check_moved(&place)?;
            if git.is_private(&place) {
                return Err(git.refuse(&place));
            }
            let (directory, name) = (place.directory(), place.name.as_ptr());
            git.add(&place, || {
                let content = content.as_ptr();
                // SAFETY: both texts end with a NUL.
                done(unsafe { libc::syscall(libc::SYS_symlinkat, content, directory, name) })
            })
        }
    }
}

/// What is linked is looked up before the new name is, and its errors come first.
fn link(
    caller: &FileCaller<'_>,
    (from, to): (Named, Named),
    flags: i32,
    git: &GitDirectories,
) -> Result<(), Errno> {
    let link_found = |from: &OwnedFd, to: Named| {
        let to = new_link(caller, to, git)?;
        git.check_written(from)?;
        git.add(&to, || link_descriptor(from, &to))
    };
    if from.path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
        return link_found(&*from.base?.ok_or(Errno::BADF)?, to);
    }
    if flags & libc::AT_SYMLINK_FOLLOW != 0 {
        if from.path.is_empty() {
            return Err(Errno::NOENT);
        }
        let from = look_up(caller, from.base?.as_deref(), &from.path, OFlags::empty())?;
        return link_found(&from, to);
    }
    let from = Place::of(caller, from)?;
    let to = match new_link(caller, to, git) {
        Ok(to) => to,
        Err(errno) => return from.open(OFlags::empty()).and(Err(errno)),
    };
    if from.is_git_directory() || git.keeps_absent() {
        git.check_written(from.open(OFlags::empty())?)?;
    }
    let (directory, name) = (from.directory(), from.name.as_ptr());
    let (to_directory, to_name) = (to.directory(), to.name.as_ptr());
    git.add(&to, || {
        // SAFETY: both names end with a NUL.
        done(unsafe { libc::syscall(libc::SYS_linkat, directory, name, to_directory, to_name, 0) })
    })
}

fn new_link(caller: &FileCaller<'_>, to: Named, git: &GitDirectories) -> Result<Place, Errno> {
    let to = Place::of(caller, to)?;
    git.check_new(&to)?;
    if git.is_private(&to) { Err(git.refuse(&to)) } else { Ok(to) }
}

/// Gives the file of a descriptor a name. The kernel never does that to a directory.
pub(super) fn link_descriptor(from: &OwnedFd, to: &Place) -> Result<(), Errno> {
    let mut path = [0_u8; 32];
    let text = format!("/proc/self/fd/{}\0", from.as_raw_fd());
    path.get_mut(..text.len()).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(text.as_bytes());
    let from = CStr::from_bytes_until_nul(&path).map_err(|_| Errno::INVAL)?;
    let (directory, name) = (to.directory(), to.name.as_ptr());
    let follow = libc::AT_SYMLINK_FOLLOW;
    // SAFETY: both texts end with a NUL.
    done(unsafe {
        libc::syscall(libc::SYS_linkat, libc::AT_FDCWD, from.as_ptr(), directory, name, follow)
    })
}

pub(super) fn make_directory(place: &Place, mode: u32) -> Result<(), Errno> {
    let (directory, name) = (place.directory(), place.name.as_ptr());
    // SAFETY: the name ends with a NUL.
    done(unsafe { libc::syscall(libc::SYS_mkdirat, directory, name, mode) })
}

pub(super) fn remove_directory(place: &Place) -> Result<(), Errno> {
    remove(place, libc::AT_REMOVEDIR)
}

/// Removes anything but a directory.
pub(super) fn remove_file(place: &Place) -> Result<(), Errno> {
    remove(place, 0)
}

fn remove(place: &Place, flags: i32) -> Result<(), Errno> {
    let (directory, name) = (place.directory(), place.name.as_ptr());
    // SAFETY: the name ends with a NUL.
    done(unsafe { libc::syscall(libc::SYS_unlinkat, directory, name, flags) })
}

pub(super) fn rename(from: &Place, to: &Place, flags: u32) -> Result<(), Errno> {
    let (directory, name) = (from.directory(), from.name.as_ptr());
    let (to_directory, to_name) = (to.directory(), to.name.as_ptr());
    // SAFETY: both names end with a NUL.
    done(unsafe {
        libc::syscall(libc::SYS_renameat2, directory, name, to_directory, to_name, flags)
    })
}

fn done(result: libc::c_long) -> Result<(), Errno> {
    if result == 0 { Ok(()) } else { Err(errno::last()) }
}
