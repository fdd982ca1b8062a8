//! Protected paths that are not there, and stay so.
//!
//! Nothing can be bound to them, and something in their place would be seen by everybody. So no call of a command makes
//! one, gives its name to something, or writes to what somebody else has put there. Directories on the way may be made
//! one by one. Nothing that has content comes there as a whole: programs copy then.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// The paths, without links.
#[derive(Debug)]
pub(super) struct Absent(Vec<PathBuf>);

impl Absent {
    pub(super) fn new(paths: &[PathBuf]) -> Self {
        Self(paths.to_vec())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses to make a file or an empty directory, or to write to a file.
    pub(super) fn check(&self, path: &Path) -> Result<(), Errno> {
        if self.0.iter().any(|absent| absent == path) { Err(Errno::ROFS) } else { Ok(()) }
    }

    /// Refuses to put something with content at a path, or a link.
    pub(super) fn check_moved(&self, path: &Path) -> Result<(), Errno> {
        self.check(path)?;
        let is_above = self.0.iter().any(|absent| absent.starts_with(path));
        if is_above { Err(Errno::XDEV) } else { Ok(()) }
    }
}
