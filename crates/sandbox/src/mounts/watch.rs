//! Whether the tree is still as it was built.

use std::os::fd::OwnedFd;

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags, open},
    io::Errno,
};

/// Tells when mounts of this process's namespace change.
///
/// A mount on a path goes away when somebody outside removes that path or renames another file over
/// it, as programs do that save a file by replacing it. After that the new file is neither protected
/// nor closed. So a worker asks before each command, and a supervisor whose tree has changed is
/// replaced.
#[derive(Debug)]
pub struct Watch(OwnedFd);

impl Watch {
    /// Begins to watch. After the last mount of one's own.
    pub fn begin() -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        open("/proc/self/mountinfo", flags, Mode::empty()).map(Self)
    }

    /// Whether a mount has gone or come since this was asked last.
    pub fn has_changed(&self) -> Result<bool, Errno> {
        let mut ask = [PollFd::new(&self.0, PollFlags::PRI)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut ask, Some(&now))?;
        Ok(ask[0].revents().intersects(PollFlags::PRI | PollFlags::ERR))
    }
}
