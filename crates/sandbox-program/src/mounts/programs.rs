//! The program of ours that commands find: this one, under a second name.
//!
//! A file in memory has no place in a tree and cannot be bound to one, so the program is copied into
//! the file system that all covers come from. That takes a quarter of the time in which a tree is
//! built, and few commands apply a patch. So the tree gets an empty directory, and the host asks for
//! the copy before the first command that names the program.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, fchmod, fstat, open, openat, renameat, sendfile};
use rustix::io::Errno;
use toolwright_sandbox::plan::{APPLY_PATCH, PROGRAMS};

use crate::mounts::error::{At, MountError};
use crate::mounts::kernel::{self, Attributes};
use crate::mounts::scratch::Scratch;

/// The directory in the scratch file system.
const DIRECTORY: &str = "programs";
/// The name of the copy until it is complete.
const NEW: &str = "new";

/// The directory of the programs.
#[derive(Debug)]
pub(super) struct Programs {
    /// Read-only, for commands; until it is attached.
    visible: Option<OwnedFd>,
    /// The same directory on a mount that is attached nowhere.
    writable: OwnedFd,
}

impl Programs {
    /// Has to be called before the file system is sealed: what is sealed cannot be executed.
    pub(super) fn prepare(scratch: &Scratch) -> Result<Self, MountError> {
        let prepare = || {
            scratch.directory(DIRECTORY, 0o755)?;
            let visible = kernel::restricted(scratch.take(DIRECTORY)?, Attributes::READ_ONLY)?;
            Ok(Self { visible: Some(visible), writable: scratch.take(DIRECTORY)? })
        };
        prepare().at("prepare the directory", Path::new(PROGRAMS))
    }

    /// Attaches it to its place in the small `/dev`.
    pub(super) fn attach(&mut self) -> Result<(), MountError> {
        let Some(visible) = self.visible.take() else { return Ok(()) };
        let place = kernel::open_followed(Path::new(PROGRAMS));
        place
            .and_then(|place| kernel::attach(visible, place))
            .at("attach the directory", Path::new(PROGRAMS))
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.writable.as_raw_fd()
    }

    /// Copies the program, unless it is there already.
    pub(super) fn fill(&self) -> Result<(), Errno> {
        let there = OFlags::PATH | OFlags::CLOEXEC;
        if openat(&self.writable, APPLY_PATCH, there, Mode::empty()).is_ok() {
            return Ok(());
        }
        let own = open("/proc/self/exe", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let copy = openat(&self.writable, NEW, flags, Mode::from_raw_mode(0o600))?;
        let mut offset = 0;
        let size = u64::try_from(fstat(&own)?.st_size).map_err(|_| Errno::FBIG)?;
        while offset < size {
            let left = usize::try_from(size - offset).map_err(|_| Errno::FBIG)?;
            if sendfile(&copy, &own, Some(&mut offset), left)? == 0 {
                return Err(Errno::IO);
            }
        }
        fchmod(&copy, Mode::from_raw_mode(0o555))?;
        // A file that is open for writing cannot be executed.
        drop(copy);
        renameat(&self.writable, NEW, &self.writable, APPLY_PATCH)
    }
}
