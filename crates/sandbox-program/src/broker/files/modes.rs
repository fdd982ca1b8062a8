//! The set-group bit of directories, and of nothing else.
//!
//! In a directory it says whose group new files are of, and people share trees by it. In a file it lends the group's
//! rights to whoever executes it, outside too. A filter sees no difference, nor would one be enough: an access list can
//! make a file executable after it got the bit. The kernel hands the mode in a register, and an inode is a directory for
//! ever, so the object is looked at by a descriptor, and changed by it.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, chmod, fcntl_getfl, fstat};
use rustix::io::Errno;

use super::call::{Named, int, word};
use super::caller::FileCaller;
use super::resolve::{Place, look_up};
use crate::broker::caller::Caller;
use crate::broker::listener::Notification;
use crate::filter::{Architecture, calls};

/// All but that of the owner.
const BITS: u32 = 0o3777;

/// A change of a mode, with all that was the caller's.
pub(super) struct ModeCall {
    target: Target,
    mode: u32,
}

enum Target {
    Opened(OwnedFd),
    /// Whether a link itself is meant.
    Named(Named, bool),
}

/// Whether a notification is of a call that changes a mode.
pub(super) fn is_mode_call(notification: &Notification) -> bool {
    let is = |call: calls::Call| call.number(Architecture::OURS) == Some(notification.number);
    calls::CHMODS.iter().any(|(call, _)| is(*call))
}

impl ModeCall {
    pub(super) fn read(
        notification: &Notification,
        caller: &FileCaller<'_>,
    ) -> Result<Self, Errno> {
        let is = |call: calls::Call| call.number(Architecture::OURS) == Some(notification.number);
        let [first, second, third, fourth, ..] = notification.args;
        let mode = if is(calls::CHMOD) || is(calls::FCHMOD) { second } else { third };
        // The bit of the owner means nothing for a directory, and is no command's to set.
        if word(mode) & libc::S_ISUID != 0 {
            return Err(Errno::PERM);
        }
        if is(calls::FCHMOD) {
            let opened = Caller::new(notification.thread)?.descriptor(int(first))?;
            if fcntl_getfl(&opened)?.contains(OFlags::PATH) {
                return Err(Errno::BADF);
            }
            return Ok(Self { target: Target::Opened(opened), mode: word(mode) });
        }
        let (base, address) =
            if is(calls::CHMOD) { (libc::AT_FDCWD, first) } else { (int(first), second) };
        let flags = if is(calls::FCHMODAT2) { int(fourth) } else { 0 };
        if flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 {
            return Err(Errno::INVAL);
        }
        let named = Named::read(caller, base, address, None);
        let is_empty = named.path.is_empty();
        let target = match named.base {
            Ok(Some(ref base)) if is_empty && flags & libc::AT_EMPTY_PATH != 0 => {
                Target::Opened(base.try_clone().map_err(|_| Errno::MFILE)?)
            }
            _ if is_empty => return Err(named.base.err().unwrap_or(Errno::NOENT)),
            _ => Target::Named(named, flags & libc::AT_SYMLINK_NOFOLLOW != 0),
        };
        Ok(Self { target, mode: word(mode) })
    }

    /// The rights of this thread are the caller's.
    pub(super) fn perform(self, caller: &FileCaller<'_>) -> Result<(), Errno> {
        let object = match self.target {
            Target::Opened(opened) => opened,
            Target::Named(named, true) => Place::of(caller, named)?.open(OFlags::empty())?,
            Target::Named(Named { base, path }, false) => {
                look_up(caller, base?.as_deref(), &path, OFlags::empty())?
            }
        };
        if !FileType::from_raw_mode(fstat(&object)?.st_mode).is_dir() {
            return Err(Errno::PERM);
        }
        let path = format!("/proc/self/fd/{}", object.as_raw_fd());
        chmod(path, Mode::from_raw_mode(self.mode & BITS))
    }
}
