//! Why a tree could not be built.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use thiserror::Error;

/// The step at which a granted path was found to be another file than it was.
pub const GRANTED: &str = "find what was granted at";

/// A step that the system refused.
#[derive(Debug, Error)]
#[error("could not {step} `{}`: {}", path.display(), io::Error::from_raw_os_error(*errno))]
pub struct MountError {
    /// The attempted step.
    pub step: &'static str,
    /// The path.
    pub path: PathBuf,
    /// The system's error number.
    pub errno: i32,
}

impl MountError {
    pub(super) fn new(step: &'static str, path: &Path, errno: Errno) -> Self {
        Self { step, path: path.to_owned(), errno: errno.raw_os_error() }
    }
}

impl From<MountError> for io::Error {
    fn from(error: MountError) -> Self {
        Self::from_raw_os_error(error.errno)
    }
}

/// Adds the step to the error of a system call.
pub(super) trait At<T> {
    fn at(self, step: &'static str, path: &Path) -> Result<T, MountError>;
}

impl<T> At<T> for Result<T, Errno> {
    fn at(self, step: &'static str, path: &Path) -> Result<T, MountError> {
        self.map_err(|errno| MountError::new(step, path, errno))
    }
}
