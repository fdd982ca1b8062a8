//! A control group for each worker.
//!
//! The supervisor makes the groups below its own before it enters namespaces in which it could no
//! longer find that. It keeps a lock on each while the worker lives. The next supervisor removes
//! the groups that it finds unlocked.
//!
//! In the second version of the interface, a group that holds processes has no controllers for
//! groups below it. So there are groups only where the system is set up for them: where the own
//! group has controllers for its children, or where the group above is delegated to this user. The
//! own group never changes.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, flock, getxattr, mkdirat, openat, unlinkat,
};
use rustix::io::{Errno, write};

use super::hierarchy::{Version, own_group};
use super::namespace;
use toolwright_sandbox::layers::Layers;
use toolwright_sandbox::plan::Limits;

const PREFIX: &str = "toolwright-";
/// The mark by which a service manager delegates a group to the processes in it.
const DELEGATED: &str = "user.delegate";

/// What of the limits a group holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupLimits {
    /// The number of processes.
    pub processes: bool,
    /// Memory.
    pub memory: bool,
}

/// Where groups can be made.
#[derive(Debug)]
pub struct Groups {
    hierarchies: Vec<Hierarchy>,
    limits: Limits,
}

#[derive(Debug)]
struct Hierarchy {
    version: Version,
    dir: OwnedFd,
    holds: GroupLimits,
}

/// The control group of one worker. Removed when dropped, if it is empty by then.
#[derive(Debug)]
pub struct Group(Vec<Part>);

#[derive(Debug)]
struct Part {
    parent: OwnedFd,
    name: String,
    /// Moves the process that writes to it.
    entrance: OwnedFd,
    /// Locked as long as it is open.
    dir: OwnedFd,
    holds: GroupLimits,
    /// Its name may be another's now.
    removed: bool,
}

impl Groups {
    /// Looks where groups for these limits could be made. To be called by the supervisor while it
    /// still sees the host's file tree.
    #[must_use]
    pub fn find(limits: &Limits) -> Self {
        let mut groups = Self { hierarchies: Vec::new(), limits: *limits };
        let processes = limits.processes.map(|_| "pids");
        let memory = limits.memory_bytes.map(|_| "memory");
        if processes.or(memory).is_none() {
            return groups;
        }
        let own = fs::read("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
        for controller in [processes, memory].into_iter().flatten() {
            let Some((version, path)) = own_group(controller, &own, &mounts) else { continue };
            let holds =
                GroupLimits { processes: controller == "pids", memory: controller == "memory" };
            match groups.hierarchies.iter_mut().find(|hierarchy| hierarchy.version == version) {
                Some(hierarchy)
                    if version == Version::Two && has_controller(&hierarchy.dir, controller) =>
                {
                    hierarchy.holds.memory |= holds.memory;
                }
                _ => {
                    if let Some(dir) = usable(version, controller, &path) {
                        remove_leftovers(&dir);
                        groups.hierarchies.push(Hierarchy { version, dir, holds });
                    }
                }
            }
        }
        groups
    }

    /// Makes a group for a worker, as far as one can be made and is needed: moving into one takes
    /// milliseconds, and a process namespace bounds processes at no cost.
    #[must_use]
    pub fn make(&self, layers: &Layers) -> Group {
        let has_namespace = layers.pid.holds() && namespace::can_bound();
        let hierarchies =
            self.hierarchies.iter().filter(|hierarchy| hierarchy.holds.memory || !has_namespace);
        Group(hierarchies.filter_map(|hierarchy| hierarchy.make(&self.limits).ok()).collect())
    }
}

impl Group {
    /// Moves the calling process into the group; its children start there.
    #[must_use]
    pub fn enter(&self) -> GroupLimits {
        let mut limits = GroupLimits::default();
        for part in &self.0 {
            // Zero stands for the writing process, in every namespace.
            if write(&part.entrance, b"0") == Ok(1) {
                limits.processes |= part.holds.processes;
                limits.memory |= part.holds.memory;
            }
        }
        limits
    }

    /// Counts how many of its processes were killed for want of memory.
    pub(crate) fn memory_events(&self) -> Option<fs::File> {
        let names = ["memory.events.local", "memory.events", "memory.oom_control"];
        names
            .iter()
            .find_map(|name| self.0.iter().find_map(|part| part.opened(part.holds.memory, name)))
    }

    /// Counts how many processes could not be started.
    pub(crate) fn process_events(&self) -> Option<fs::File> {
        self.0.iter().find_map(|part| part.opened(part.holds.processes, "pids.events"))
    }

    /// Removes it, or gives back what of it is not empty yet, to be tried again.
    #[must_use]
    pub fn remove(mut self) -> Option<Self> {
        self.0.retain_mut(|part| part.remove() == Err(Errno::BUSY));
        (!self.0.is_empty()).then_some(self)
    }
}

impl Part {
    fn opened(&self, holds: bool, name: &str) -> Option<fs::File> {
        let file = openat(&self.dir, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        holds.then(|| file.ok()).flatten().map(fs::File::from)
    }

    fn remove(&mut self) -> Result<(), Errno> {
        if !self.removed {
            unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR)?;
            self.removed = true;
        }
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // A group with processes is left to the next supervisor.
        let _ = self.remove();
    }
}

impl Hierarchy {
    fn make(&self, limits: &Limits) -> io::Result<Part> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mut error = io::ErrorKind::AlreadyExists.into();
        for _ in 0..16 {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{}-{count}", std::process::id());
            match mkdirat(&self.dir, &name, Mode::RWXU | Mode::RGRP | Mode::XGRP) {
                Ok(()) => {}
                // The group belongs to another process namespace, or its process has ended.
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error.into()),
            }
            match self.fill(name.clone(), limits) {
                Ok(part) => return Ok(part),
                Err(failed) => {
                    let _ = unlinkat(&self.dir, &name, AtFlags::REMOVEDIR);
                    error = failed;
                }
            }
        }
        Err(error)
    }

    /// Sets the limits of a new group. Fails also if another supervisor removed the group before it
    /// was locked.
    fn fill(&self, name: String, limits: &Limits) -> io::Result<Part> {
        let dir = openat(&self.dir, &name, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        flock(&dir, FlockOperation::NonBlockingLockExclusive)?;
        if let Some(max) = limits.processes.filter(|_| self.holds.processes) {
            // The worker is in it too.
            set(&dir, "pids.max", &max.saturating_add(1).to_string())?;
        }
        if let Some(max) = limits.memory_bytes.filter(|_| self.holds.memory) {
            let max = max.to_string();
            // Otherwise swapped memory would not count.
            match self.version {
                Version::One => {
                    set(&dir, "memory.limit_in_bytes", &max)?;
                    let _ = set(&dir, "memory.swappiness", "0");
                    let _ = set(&dir, "memory.memsw.limit_in_bytes", &max);
                }
                Version::Two => {
                    set(&dir, "memory.max", &max)?;
                    let _ = set(&dir, "memory.swap.max", "0");
                }
            }
        }
        let entrance = open_to_write(&dir, "cgroup.procs")?;
        let parent = self.dir.try_clone()?;
        Ok(Part { parent, name, entrance, dir, holds: self.holds, removed: false })
    }
}

/// Opens the directory where groups with the controller can be made.
fn usable(version: Version, controller: &str, path: &Path) -> Option<OwnedFd> {
    let dir = open(path)?;
    if version == Version::One || has_controller(&dir, controller) {
        return Some(dir);
    }
    let above = path.parent()?;
    let mut mark = [0];
    if getxattr(above, DELEGATED, &mut mark) != Ok(1) || mark != *b"1" {
        return None;
    }
    let above = open(above)?;
    if !has_controller(&above, controller) {
        set(&above, "cgroup.subtree_control", &format!("+{controller}")).ok()?;
    }
    Some(above)
}

fn open(path: &Path) -> Option<OwnedFd> {
    openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Whether groups below have the controller.
fn has_controller(dir: &OwnedFd, controller: &str) -> bool {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(file) = openat(dir, "cgroup.subtree_control", flags, Mode::empty()) else {
        return false;
    };
    io::read_to_string(fs::File::from(file))
        .is_ok_and(|text| text.split_ascii_whitespace().any(|name| name == controller))
}

fn remove_leftovers(dir: &OwnedFd) {
    let Ok(entries) = Dir::read_from(dir) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(left) = openat(dir, entry.file_name(), flags, Mode::empty()) else { continue };
        if flock(&left, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = unlinkat(dir, entry.file_name(), AtFlags::REMOVEDIR);
        }
    }
}

fn open_to_write(dir: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    openat(dir, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
}

fn set(dir: impl AsFd, name: &str, value: &str) -> Result<(), Errno> {
    let file = open_to_write(dir, name)?;
    write(&file, value.as_bytes()).map(drop)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{XattrFlags, setxattr};

    use super::*;

    /// A directory that looks like a group with one below it.
    fn fake(above: &str, own: &str) -> tempfile::TempDir {
        let dir = tempfile::TempDir::new().expect("directory");
        fs::create_dir(dir.path().join("own")).expect("directory");
        fs::write(dir.path().join("cgroup.subtree_control"), above).expect("file");
        fs::write(dir.path().join("own/cgroup.subtree_control"), own).expect("file");
        dir
    }

    /// Which of the two groups is used, by its number.
    fn used(dir: &tempfile::TempDir, controller: &str) -> Option<u64> {
        let directory = usable(Version::Two, controller, &dir.path().join("own"))?;
        Some(rustix::fs::fstat(directory).expect("attributes").st_ino)
    }

    fn number(path: &Path) -> u64 {
        rustix::fs::stat(path).expect("attributes").st_ino
    }

    #[test]
    fn groups_are_made_only_where_somebody_arranged_for_them() {
        let dir = fake("", "cpu pids\n");
        let own = dir.path().join("own");
        assert_eq!(used(&dir, "pids"), Some(number(&own)));
        assert_eq!(used(&dir, "memory"), None);
        assert_eq!(used(&dir, "pid"), None);
        let dir = fake("cpu pids memory\n", "");
        assert_eq!(used(&dir, "pids"), None, "the group above is somebody else's");
        let mark = |value: &[u8]| setxattr(dir.path(), DELEGATED, value, XattrFlags::empty());
        if mark(b"0").is_err() {
            eprintln!("skipped: no extended attributes here");
            return;
        }
        assert_eq!(used(&dir, "pids"), None);
        mark(b"1").expect("mark");
        assert_eq!(used(&dir, "pids"), Some(number(dir.path())));
        assert_eq!(used(&dir, "memory"), Some(number(dir.path())));
    }

    #[test]
    fn a_controller_is_asked_for_where_the_group_above_is_ours() {
        let dir = fake("cpu\n", "");
        if setxattr(dir.path(), DELEGATED, b"1", XattrFlags::empty()).is_err() {
            eprintln!("skipped: no extended attributes here");
            return;
        }
        assert_eq!(used(&dir, "memory"), Some(number(dir.path())));
        let asked = fs::read_to_string(dir.path().join("cgroup.subtree_control")).expect("file");
        assert!(asked.starts_with("+memory"), "{asked}");
        let own = fs::read_to_string(dir.path().join("own/cgroup.subtree_control")).expect("file");
        assert_eq!(own, "", "the own group is never changed");
    }
}
