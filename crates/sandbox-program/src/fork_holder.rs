//! The process that holds a fork of a root.
//!
//! It makes the overlay in a mount namespace of its own and attaches it at the path of the root. So the system names what
//! lies in the fork as if it were the root, also for the host, which gets a descriptor. Each supervisor gets a
//! copy of the mount. An overlay must not be mounted twice, and a mount is copied only in the namespace that it
//! belongs to, so one process has to do all of this.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::getppid;
use toolwright_fork::kept_fork;
use toolwright_sandbox::plan::FileIdentity;
use toolwright_sandbox::wire::{FORK_MOUNT, ForkOrder, ForkReply, ForkStep, Inbox, send};

use crate::errno;
use crate::supervisor::detach;
use crate::{mounts, namespaces};

/// Runs until the host closes its socket.
pub fn hold_fork() -> io::Result<()> {
    let host = getppid();
    let socket = detach()?;
    let mut inbox = Inbox::new(socket);
    let Some(message) = inbox.wait()? else { return Ok(()) };
    let order = ForkOrder::read_content(&message).map_err(io::Error::other)?;
    // Held until this process ends. No other process makes a fork with the same changes meanwhile.
    let _lock = inbox.take_descriptor();
    if getppid() != host {
        return Ok(());
    }
    let root = match make(&order) {
        Ok(root) => root,
        Err((step, errno)) => {
            return send(&inbox, &ForkReply::Refused(step, errno.raw_os_error()).frame(), &[]);
        }
    };
    send(&inbox, &ForkReply::Made.frame(), &[root.as_fd()])?;
    while let Some(message) = inbox.wait()? {
        if message != FORK_MOUNT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match mounts::detached_copy(&root) {
            Ok(mount) => send(&inbox, &ForkReply::Made.frame(), &[mount.as_fd()])?,
            Err(errno) => {
                let refused = ForkReply::Refused(ForkStep::Attach, errno.raw_os_error());
                send(&inbox, &refused.frame(), &[])?;
            }
        }
    }
    Ok(())
}

/// Makes the fork, and returns its root.
fn make(order: &ForkOrder) -> Result<OwnedFd, (ForkStep, Errno)> {
    let at = |step: ForkStep| move |errno: Errno| (step, errno);
    namespaces::enter_mounts().map_err(at(ForkStep::Namespaces))?;
    mounts::private()
        .map_err(|error| (ForkStep::Namespaces, Errno::from_raw_os_error(error.errno)))?;
    let base = mounts::open_plain(&order.base).map_err(at(ForkStep::Base))?;
    let found = FileIdentity::of(&base).map_err(|error| (ForkStep::Base, errno::of(&error)))?;
    if !found.is(&order.identity) {
        return Err((ForkStep::Base, Errno::STALE));
    }
    let changes = directory(&order.changes).map_err(at(ForkStep::Changes))?;
    let work = directory(&order.work).map_err(at(ForkStep::Changes))?;
    let mount = kept_fork(&base, &changes, &work).map_err(at(ForkStep::Overlay))?;
    mounts::attach(&mount, &base).map_err(at(ForkStep::Attach))?;
    // What is given away is a name in this namespace, and not the descriptor that a mount goes with.
    mounts::open_plain(&order.base).map_err(at(ForkStep::Attach))
}

fn directory(path: &Path) -> Result<OwnedFd, Errno> {
    let parent = path.parent().ok_or(Errno::INVAL)?;
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(mounts::open_plain(parent)?, name, flags, Mode::empty())
}
