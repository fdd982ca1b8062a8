//! Files of which commands have a view of their own.
//!
//! A program that replaces a file, as git does, needs a directory that it can write. So a link lies
//! over the file and leads to such a directory, one for each file. Git follows the link before it locks
//! and replaces anything. The host fills the directory before a command, and reads it afterwards, by a
//! descriptor. What lies there is the command's, and nobody trusts it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use toolwright_sandbox::plan::{Plan, VIEWS};

use crate::mounts::error::{At, MountError};
use crate::mounts::kernel::{self, Attributes};
use crate::mounts::layout::{Kind, Layout};
use crate::mounts::scratch::Scratch;

/// The directory in the scratch file system.
const DIRECTORY: &str = "views";

/// The directory of the views.
#[derive(Debug)]
pub(super) struct Views {
    /// Until it is attached.
    shown: Option<OwnedFd>,
    /// The same directory on a mount that is attached nowhere, for the host.
    descriptor: OwnedFd,
}

impl Views {
    /// Makes a directory for each view, and the link to it. Has to be called before the file system is
    /// sealed. `None`: the tree has no views.
    pub(super) fn prepare(
        scratch: &Scratch,
        layout: &Layout,
        plan: &Plan,
    ) -> Result<Option<Self>, MountError> {
        let views = layout.entries().iter().enumerate().filter(|(_, one)| one.kind == Kind::View);
        let mut has_views = false;
        for (index, entry) in views {
            let number = plan.views.iter().position(|path| *path == entry.path);
            let (Some(number), Some(name)) = (number, entry.path.file_name()) else { continue };
            if !has_views {
                scratch.directory(DIRECTORY, 0o755).at("make a directory for", &entry.path)?;
                has_views = true;
            }
            let own = PathBuf::from(number.to_string());
            let target = Path::new(VIEWS).join(&own).join(name);
            scratch
                .directory(Path::new(DIRECTORY).join(own), 0o755)
                .and_then(|()| scratch.link(index.to_string(), &target))
                .at("make a view of", &entry.path)?;
        }
        if !has_views {
            return Ok(None);
        }
        let take = || {
            let all = Attributes::NO_SUID | Attributes::NO_DEVICES | Attributes::NO_EXEC;
            let take = || kernel::restricted(scratch.take(DIRECTORY)?, all);
            Ok(Some(Self { shown: Some(take()?), descriptor: take()? }))
        };
        take().at("prepare the directory", Path::new(VIEWS))
    }

    /// Attaches it to its place in the small `/dev`.
    pub(super) fn attach(&mut self) -> Result<(), MountError> {
        let Some(shown) = self.shown.take() else { return Ok(()) };
        let place = kernel::open_followed(Path::new(VIEWS));
        place
            .and_then(|place| kernel::attach(shown, place))
            .at("attach the directory", Path::new(VIEWS))
    }
}

impl AsFd for Views {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
