//! The order of covers.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::geteuid;

use crate::mounts::error::MountError;
use toolwright_sandbox::plan::{Files, Plan};

/// The kind of an entry. Kinds are ordered as they lie on top of each other at the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// An empty directory for temporary files.
    Temporary,
    /// The small `/dev`.
    Devices,
    /// The host's, read-only, back on top of what hides it.
    Readable,
    /// A fork of the host's that the host does not read.
    Cache,
    /// The host's, for writing.
    Writable,
    /// A writable path as a mount of its own, so that it can be neither moved nor removed.
    Pinned,
    /// The host's, read-only below what may be written.
    Protected,
    /// A fork of the host's, on a cover that is read-only.
    Fork,
    /// Nothing.
    Closed,
}

impl Kind {
    /// Whether it hides the host's files, so that an entry above it needs a mount point made for
    /// it.
    pub(super) fn hides(self) -> bool {
        matches!(self, Self::Temporary | Self::Devices | Self::Closed)
    }

    fn is_writable(self) -> bool {
        matches!(self, Self::Writable | Self::Pinned)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) below: Option<usize>,
}

/// The entries, those above others first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    entries: Vec<Entry>,
    /// The tree is writable except where an entry forbids it.
    root_is_writable: bool,
}

/// Paths of this system that the layout depends on.
#[derive(Debug, Default)]
struct System {
    temporary: Vec<PathBuf>,
    devices: Option<PathBuf>,
    /// Directories that describe the machine or trace its kernel, and serve no command.
    windows: Vec<PathBuf>,
}

impl System {
    fn find() -> Self {
        let real = |path: &str| fs::canonicalize(path).ok();
        let temporary = ["/tmp", "/var/tmp"].into_iter().filter_map(real).collect();
        // They are root's alone.
        let windows: &[&str] = if geteuid().is_root() { &WINDOWS } else { &[] };
        let windows = windows.iter().map(PathBuf::from).collect();
        Self { temporary, devices: real("/dev"), windows }
    }
}

const WINDOWS: [&str; 4] =
    ["/sys/devices/virtual/powercap", "/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing"];

impl Layout {
    pub(super) fn new(plan: &Plan) -> Result<Self, MountError> {
        Self::arrange(plan, System::find())
    }

    /// Leaves out what makes no difference where it would lie.
    fn arrange(plan: &Plan, system: System) -> Result<Self, MountError> {
        let full = plan.files == Files::Full;
        let root = Path::new("/");
        if plan.closed.iter().any(|path| path == root) {
            return Err(MountError::new("close", root, Errno::INVAL));
        }
        let root_is_writable = full || plan.writable.iter().any(|path| path == root);
        // A temporary directory inside a writable path is the host's.
        let chosen = |path: &Path| plan.writable.iter().any(|writable| path.starts_with(writable));
        let System { mut temporary, devices, windows } = system;
        temporary.retain(|path| !full && !chosen(path));
        temporary.extend(devices.as_deref().map(|path| path.join("shm")));
        let pinned: Vec<PathBuf> =
            plan.granted.iter().map(|granted| granted.path.clone()).collect();
        // The cover of a fork comes with it.
        let protected = plan.protected.iter().filter(|path| !plan.hooks.contains(path)).collect();
        let mut planned: Vec<(&Path, Kind)> =
            temporary.iter().map(|path| (path.as_path(), Kind::Temporary)).collect();
        planned.extend(devices.as_deref().map(|path| (path, Kind::Devices)));
        for (paths, kind) in [
            (&plan.readable, Kind::Readable),
            (&plan.caches, Kind::Cache),
            (&plan.writable, Kind::Writable),
            (&pinned, Kind::Pinned),
            (&plan.closed, Kind::Closed),
            (&windows, Kind::Closed),
        ] {
            planned.extend(paths.iter().map(|path| (path.as_path(), kind)));
        }
        let forks: Vec<&PathBuf> = plan.forks.iter().chain(&plan.hooks).collect();
        for (paths, kind) in [(protected, Kind::Protected), (forks, Kind::Fork)] {
            planned.extend(paths.into_iter().map(|path| (path.as_path(), kind)));
        }
        planned.retain(|(path, _)| *path != root);
        planned.sort_by_key(|(path, kind)| (path.components().count(), *path, *kind));
        planned.dedup();
        let mut layout = Self { entries: Vec::with_capacity(planned.len()), root_is_writable };
        for (path, kind) in planned {
            let below = layout.under(path);
            let under = below.map(|index| layout.entries[index].kind);
            // An entry without another below it lies on the root.
            let on_writable = under.map_or(root_is_writable, Kind::is_writable);
            let makes_a_difference = match kind {
                Kind::Temporary | Kind::Devices => true,
                Kind::Readable => under.is_some_and(Kind::hides),
                Kind::Writable => !on_writable,
                // An entry that was just added at this path is a mount of its own.
                Kind::Pinned => {
                    on_writable && below.is_none_or(|index| layout.entries[index].path != path)
                }
                Kind::Protected => on_writable,
                Kind::Cache => {
                    !on_writable
                        && !under.is_some_and(|under| under.hides() || under == Kind::Cache)
                }
                Kind::Fork | Kind::Closed => !under.is_some_and(Kind::hides),
            };
            if makes_a_difference {
                layout.entries.push(Entry { path: path.to_owned(), kind, below });
            }
        }
        Ok(layout)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn root_is_writable(&self) -> bool {
        self.root_is_writable
    }

    /// The entry that `path` lies on: the last one at it or above.
    pub(super) fn under(&self, path: &Path) -> Option<usize> {
        let contains = |entry: &Entry| path.starts_with(&entry.path);
        // Those above come first, and of two that lie above one path the deeper one counts.
        self.entries.iter().rposition(contains)
    }

    /// The highest directory above `path` whose files may be written, if there is one.
    pub(super) fn writable_above(&self, path: &Path) -> Option<&Path> {
        if self.root_is_writable {
            return Some(Path::new("/"));
        }
        let mut writable = self.entries.iter().filter(|entry| entry.kind == Kind::Writable);
        writable.find(|entry| path.starts_with(&entry.path)).map(|entry| entry.path.as_path())
    }
}

#[cfg(test)]
mod tests;
