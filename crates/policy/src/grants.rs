//! What a process gets of the capabilities in force.
//!
//! The kernel confines a process to directories, not to patterns: only patterns that stand for a
//! directory and everything below it become grants. Narrower ones grant a process nothing.

use std::path::{Path, PathBuf};

use crate::host_pattern::HostPattern;
use crate::path_pattern::PathGlob;
use crate::{Access, Effective, Union};

/// What a process may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Directories that may be read.
    pub readable: Vec<PathBuf>,
    /// Directories that may be written, and read.
    pub writable: Vec<PathBuf>,
    /// The names of such directories, or of some around them, from which links lead there.
    pub linked_names: Vec<PathBuf>,
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
        let writable = sorted(both(&written, &readable));
        let mut not_granted = self.too_narrow();
        let unreadable = written.iter().filter(|path| !writable.contains(path));
        not_granted.extend(
            unreadable.map(|path| {
                format!("fs.write {}/** (a process could read it too)", path.display())
            }),
        );
        Grants {
            linked_names: self.linked_names(&readable),
            reads_all: readable.iter().any(|path| path == Path::new("/")),
            readable,
            writable,
            network: self.hosts_are_open(),
            not_granted,
        }
    }

    /// The outermost directories that every set allows with everything below them.
    fn subtrees(&self, access: Access) -> Vec<PathBuf> {
        let of_one = |set: &Union| -> Vec<PathBuf> {
            set.paths(access).iter().filter_map(PathGlob::subtree).map(Path::to_owned).collect()
        };
        let common = self.sets().iter().map(of_one).reduce(|left, right| both(&left, &right));
        let mut subtrees = sorted(common.unwrap_or_default());
        subtrees.dedup_by(|path, before| path.starts_with(before));
        subtrees
    }

    /// The names that lead to what may be read.
    fn linked_names(&self, readable: &[PathBuf]) -> Vec<PathBuf> {
        let is_readable = |at: &Path| readable.iter().any(|one| at.starts_with(one));
        let globs = self
            .sets()
            .iter()
            .flat_map(|set| set.paths(Access::Read).iter().chain(set.paths(Access::Write)));
        let readable = globs.filter(|glob| glob.subtree().is_some_and(is_readable));
        sorted(readable.filter_map(PathGlob::linked_name).map(Path::to_owned).collect())
    }

    fn hosts_are_open(&self) -> bool {
        self.every(|set| set.hosts.iter().any(HostPattern::is_everything))
    }

    fn too_narrow(&self) -> Vec<String> {
        let mut narrow = Vec::new();
        for set in self.sets() {
            for (name, access) in [("fs.read", Access::Read), ("fs.write", Access::Write)] {
                let globs = set.paths(access).iter().filter(|glob| glob.subtree().is_none());
                narrow.extend(globs.map(|glob| format!("{name} {}", glob.text())));
            }
            let hosts = set.hosts.iter().filter(|host| !host.is_everything());
            narrow.extend(hosts.map(|host| format!("net.hosts {}", host.text())));
        }
        sorted(narrow)
    }
}

/// The directories that lie in one of the first and in one of the second, or are one.
fn both(first: &[PathBuf], second: &[PathBuf]) -> Vec<PathBuf> {
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
    pairs
        .filter_map(|(a, b)| if a.starts_with(b) { Some(a) } else { b.starts_with(a).then_some(b) })
        .cloned()
        .collect()
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values.dedup();
    values
}
