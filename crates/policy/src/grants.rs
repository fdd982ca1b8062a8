//! What a process gets of the capabilities in force.
//!
//! The kernel confines a process to directories, not to patterns: only patterns that stand for a
//! directory and everything below it become grants. Narrower ones grant a process nothing.

use std::path::{Path, PathBuf};

use crate::capability::both;
use crate::{Access, Effective};

/// What a process may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Directories that may be read.
    pub readable: Vec<PathBuf>,
    /// Directories that may be written, and read.
    pub writable: Vec<PathBuf>,
    /// Everything may be read.
    pub reads_all: bool,
    /// Every host may be reached.
    pub network: bool,
    /// What was too narrow to be granted, as capability and pattern.
    pub not_granted: Vec<String>,
}

impl Effective {
    /// What a process may do.
    #[must_use]
    pub fn grants(&self) -> Grants {
        let readable = self.subtrees(Access::Read);
        let written = self.subtrees(Access::Write);
        // What may be written can be read by a process too, so it has to be allowed to.
        let mut writable = both(&written, &readable);
        writable.sort_unstable();
        writable.dedup();
        let mut not_granted = self.too_narrow();
        let unreadable = written.iter().filter(|path| !writable.contains(path));
        not_granted.extend(
            unreadable.map(|path| {
                format!("fs.write {}/** (a process could read it too)", path.display())
            }),
        );
        Grants {
            reads_all: readable.iter().any(|path| path == Path::new("/")),
            readable,
            writable,
            network: self.hosts_are_open(),
            not_granted,
        }
    }
}
