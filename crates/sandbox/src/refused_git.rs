//! What a strict plan refuses to commands.

use std::path::{Path, PathBuf};

/// Something that git on the host would have obeyed while the command ran.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusedGit {
    /// A file or link at this path, whose name git takes for `.git`. It would lead to a repository.
    Link(PathBuf),
    /// An entry at this path, with which the directory that holds it would be a repository of plain files.
    Form(PathBuf),
}

impl RefusedGit {
    /// Where it would lie.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Link(path) | Self::Form(path) => path,
        }
    }
}
