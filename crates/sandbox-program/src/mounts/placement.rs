//! Puts everything into its place.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{fstat, stat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::errno;
use crate::mounts::devices::Devices;
use crate::mounts::error::{At, GRANTED, MountError};
use crate::mounts::forks::Forks;
use crate::mounts::kernel::{self, Attributes};
use crate::mounts::layout::{Entry, Kind, Layout};
use crate::mounts::programs::Programs;
use crate::mounts::protection::{Held, OnAbsent, Protector};
use crate::mounts::scratch::{self, Scratch};
use crate::mounts::shared::{self, Shared};
use toolwright_sandbox::plan::{FileIdentity, Files, Link, Plan};

/// How often a path that the host replaces at the same time is looked at again.
const MAX_CHANGES: usize = 100;

/// Parts of the host's tree, copied before it changes.
pub(super) struct Placement {
    /// For each entry that puts the host's files back: a copy of their mounts, and whether it is a
    /// directory.
    trees: Vec<Option<(OwnedFd, bool)>>,
    /// For each temporary directory: that of another tree, if there is one.
    shared: Vec<Option<OwnedFd>>,
    devices: Option<Devices>,
    /// For each directory that gets a fork: that of the host, on a mount that is attached nowhere.
    forked: Vec<Option<OwnedFd>>,
    /// Links in what hides the host's files: in which cover, where in it, and what they contain.
    links: Vec<(usize, PathBuf, PathBuf)>,
}

/// What a tree keeps of its making.
pub(super) struct Placed {
    pub(super) scratch: Scratch,
    pub(super) programs: Option<Programs>,
    pub(super) forks: Option<Forks>,
    /// The file systems of directories for temporary files.
    pub(super) temporary: Vec<u64>,
}

impl Placement {
    pub(super) fn begin(
        layout: &Layout,
        plan: &Plan,
        shared: Option<&Shared>,
    ) -> Result<Self, MountError> {
        let mut trees = Vec::with_capacity(layout.entries().len());
        let mut forked = Vec::with_capacity(layout.entries().len());
        let mut devices = None;
        for Entry { path, kind, .. } in layout.entries() {
            let always = Attributes::NO_SUID | Attributes::NO_DEVICES;
            let tree = match kind {
                Kind::Writable => take(path, always, plan)?,
                Kind::Readable => take(path, always | Attributes::READ_ONLY, plan)?,
                Kind::Pinned => {
                    // It is looked at before others can be in its place, and held in it later.
                    let place = kernel::open_plain(path);
                    let place = place.map_err(|errno| missed("open", path, errno, plan))?;
                    check_granted(&place, path, plan)?;
                    None
                }
                Kind::Devices => {
                    devices = Some(Devices::take(path, plan.files == Files::Full)?);
                    None
                }
                Kind::Temporary | Kind::Cache | Kind::Protected | Kind::Fork | Kind::Closed => None,
            };
            trees.push(tree);
            let own = (*kind == Kind::Fork)
                .then(|| kernel::open_plain(path).and_then(|place| kernel::copy_entry(place, c"")));
            forked.push(own.and_then(Result::ok));
        }
        let temporary = |entry: &'_ Entry| entry.kind == Kind::Temporary;
        let paths: Vec<_> = layout
            .entries()
            .iter()
            .map(|entry| temporary(entry).then_some(entry.path.as_path()))
            .collect();
        let shared = shared.map_or_else(Vec::new, |shared| shared.take(&paths));
        let links = plan.links.iter().filter_map(|Link { path, target }| {
            let index = layout.under(path).filter(|index| layout.entries()[*index].kind.hides())?;
            let relative = path.strip_prefix(&layout.entries()[index].path).ok()?;
            relative.file_name()?;
            Some((index, relative.to_owned(), target.clone()))
        });
        let links = links.collect();
        Ok(Self { trees, shared, devices, forked, links })
    }

    pub(super) fn place(
        mut self,
        layout: &Layout,
        plan: &Plan,
        (held, on_absent): (Held<'_>, OnAbsent),
    ) -> Result<Placed, MountError> {
        let scratch = self.prepare(layout)?;
        let temporary = self.take_temporary(layout, &scratch)?;
        let mut programs =
            self.devices.as_ref().map(|_| Programs::prepare(&scratch)).transpose()?;
        let mut forks = self.devices.as_ref().map(|_| Forks::prepare(&scratch)).transpose()?;
        scratch.seal().at("make read-only the covers in", Path::new("/"))?;
        let caches = layout.entries().iter().filter(|entry| entry.kind == Kind::Cache);
        let caches: Vec<&Path> = caches.map(|entry| entry.path.as_path()).collect();
        let mut caches = forks
            .iter()
            .flat_map(|forks| forks.make_caches(&caches))
            .collect::<Vec<_>>()
            .into_iter();
        let mut protector = Protector::new(layout, held, on_absent);
        let mut frozen = HashSet::new();
        for (index, Entry { path, kind, below }) in layout.entries().iter().enumerate() {
            match kind {
                Kind::Temporary => {
                    if let Some(tree) = &temporary[index] {
                        attach(tree, path)?;
                    }
                }
                Kind::Devices => {
                    let cover = scratch.take_cover(index).at("take a cover for", path)?;
                    attach(&cover, path)?;
                    if let Some(devices) = self.devices.take() {
                        devices.attach()?;
                    }
                    if let Some(programs) = &mut programs {
                        programs.attach()?;
                    }
                    if let Some(forks) = &mut forks {
                        forks.attach()?;
                    }
                }
                Kind::Readable | Kind::Writable => {
                    let Some((tree, _)) = &self.trees[index] else { continue };
                    if let Some(cover) = below.map(|below| &layout.entries()[below])
                        && cover.kind == Kind::Temporary
                    {
                        freeze_between(&cover.path, path, &mut frozen)?;
                    }
                    let place = kernel::open_plain(path);
                    place
                        .and_then(|place| kernel::attach(tree, place))
                        .map_err(|errno| missed("attach", path, errno, plan))?;
                }
                Kind::Closed => {
                    protector.pin_above(path)?;
                    let filled = self.is_filled(layout, index);
                    close(&scratch, path, filled.then_some(index))?;
                }
                Kind::Pinned => {
                    protector.hold(path).map_err(|errno| missed("hold", path, errno, plan))?;
                }
                Kind::Protected => protector.protect(path)?,
                Kind::Cache => {
                    let mount = caches.next().flatten();
                    if let (Some(forks), Some(mount)) = (&mut forks, mount) {
                        // Without a fork it stays read-only.
                        let _ = forks.add_cache(path, &mount);
                    }
                }
                Kind::Fork => {
                    let base = Forks::base(path);
                    protector.protect(path)?;
                    let own = self.forked[index].take();
                    if let (Some(forks), Ok(base), Some(own)) = (&mut forks, base, own) {
                        // Without a fork the cover remains.
                        let _ = if plan.hooks.contains(path) {
                            forks.add_hooks(path, base, own)
                        } else {
                            forks.add(path, base, own)
                        };
                    }
                }
            }
        }
        let devices = temporary.iter().flatten().filter_map(|tree| fstat(tree).ok());
        let temporary = devices.map(|stat| stat.st_dev).collect();
        Ok(Placed { scratch, programs, forks, temporary })
    }

    /// Makes every directory and every place that will be needed in our own file system.
    fn prepare(&self, layout: &Layout) -> Result<Scratch, MountError> {
        let entries = layout.entries();
        // The scratch file system lies below the small `/dev`, out of sight.
        let place = [Kind::Devices, Kind::Temporary]
            .iter()
            .find_map(|kind| entries.iter().find(|entry| entry.kind == *kind))
            .ok_or_else(|| MountError::new("find", Path::new("/dev"), Errno::NOENT))?;
        let scratch = Scratch::mount(&place.path).at("mount a file system on", &place.path)?;
        for (index, Entry { path, kind, .. }) in entries.iter().enumerate() {
            let bits = if *kind == Kind::Temporary { 0o1777 } else { 0o755 };
            let made = match kind {
                Kind::Temporary | Kind::Devices => scratch.cover(index, bits),
                Kind::Closed if self.is_filled(layout, index) => scratch.cover(index, bits),
                _ => Ok(()),
            };
            made.at("make a cover for", path)?;
            if *kind == Kind::Devices
                && let Some(devices) = &self.devices
            {
                devices.prepare(&scratch, index)?;
            }
            if let Some((below, relative, directory)) = self.place_of(layout, index) {
                scratch.make_place(below, relative, directory).at("make a place for", path)?;
            }
        }
        for (index, relative, target) in &self.links {
            scratch.make_link(*index, relative, target).at("make the link", relative)?;
        }
        Ok(scratch)
    }

    /// The place that an entry needs in what hides the host's files there: in which cover, where in it,
    /// and whether it is a directory.
    fn place_of<'a>(&self, layout: &'a Layout, index: usize) -> Option<(usize, &'a Path, bool)> {
        let Entry { path, kind, below } = &layout.entries()[index];
        let directory = match kind {
            Kind::Temporary | Kind::Devices => true,
            Kind::Readable | Kind::Writable => self.trees[index].as_ref()?.1,
            Kind::Cache | Kind::Pinned | Kind::Protected | Kind::Fork | Kind::Closed => {
                return None;
            }
        };
        let cover = &layout.entries()[(*below)?];
        let relative = cover.kind.hides().then(|| path.strip_prefix(&cover.path).ok()).flatten()?;
        Some(((*below)?, relative, directory))
    }

    /// The temporary directories: those of another tree, or new ones, which are taken while our file
    /// system can be written.
    fn take_temporary(
        &mut self,
        layout: &Layout,
        scratch: &Scratch,
    ) -> Result<Vec<Option<OwnedFd>>, MountError> {
        let entries = layout.entries();
        let places: Vec<_> =
            (0..entries.len()).filter_map(|index| self.place_of(layout, index)).collect();
        let mut all = Vec::with_capacity(entries.len());
        for (index, Entry { path, kind, .. }) in entries.iter().enumerate() {
            let shared = self.shared.get_mut(index).and_then(Option::take).filter(|shared| {
                let mut own = places.iter().filter(|(below, ..)| *below == index);
                own.all(|(_, relative, directory)| {
                    shared::make_place(shared, relative, *directory).is_ok()
                }) && self.links.iter().filter(|(below, ..)| *below == index).all(
                    |(_, relative, target)| shared::make_link(shared, relative, target).is_ok(),
                )
            });
            all.push(match (shared, kind) {
                (Some(shared), _) => Some(shared),
                (None, Kind::Temporary) => {
                    Some(scratch.take_cover(index).at("take a cover for", path)?)
                }
                _ => None,
            });
        }
        Ok(all)
    }

    /// Whether another entry lies on this one.
    fn is_filled(&self, layout: &Layout, index: usize) -> bool {
        let has_link = self.links.iter().any(|(below, ..)| *below == index);
        has_link
            || layout.entries().iter().enumerate().any(|(above, entry)| {
                entry.below == Some(index)
                    && (self.trees[above].is_some()
                        || matches!(entry.kind, Kind::Temporary | Kind::Devices))
            })
    }
}

/// Copies the mounts of the host's files at `path`. `None`: there is nothing any more, or nothing
/// that this user reaches.
fn take(
    path: &Path,
    attributes: Attributes,
    plan: &Plan,
) -> Result<Option<(OwnedFd, bool)>, MountError> {
    let place = match kernel::open_plain(path) {
        Ok(place) => place,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP)
            if !is_meant(path, plan) =>
        {
            return Ok(None);
        }
        Err(errno) => return Err(missed("open", path, errno, plan)),
    };
    check_granted(&place, path, plan)?;
    let directory = kernel::is_directory(&place).at("look at", path)?;
    let tree = kernel::copy(&place).at("copy the mounts of", path)?;
    let tree = kernel::restricted(tree, attributes).at("restrict", path)?;
    Ok(Some((tree, directory)))
}

/// Whether the path must exist.
fn is_meant(path: &Path, plan: &Plan) -> bool {
    path == plan.root || plan.granted.iter().any(|granted| granted.path == path)
}

/// The error for a granted path that is missing or leads elsewhere is that of the grant. Moving a
/// directory away must not be a way to run a command without a tree of its own.
fn missed(step: &'static str, path: &Path, errno: Errno, plan: &Plan) -> MountError {
    let is_gone = matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP);
    let is_granted = plan.granted.iter().any(|granted| granted.path == path);
    MountError::new(if is_gone && is_granted { GRANTED } else { step }, path, errno)
}

/// A granted path that has become another file is not bound.
fn check_granted(place: &OwnedFd, path: &Path, plan: &Plan) -> Result<(), MountError> {
    let identity =
        FileIdentity::of(place).map_err(|error| errno::of(&error)).at("look at", path)?;
    if plan.is_granted(path, &identity) {
        return Ok(());
    }
    Err(MountError::new(GRANTED, path, Errno::STALE))
}

/// Freezes the directories between a private temporary directory and a path of the host in it, so
/// that they cannot be moved away. Each is frozen once: a second time would freeze the writable
/// files in it too.
fn freeze_between(
    cover: &Path,
    path: &Path,
    frozen: &mut HashSet<PathBuf>,
) -> Result<(), MountError> {
    let between = path.ancestors().skip(1).take_while(|above| *above != cover);
    let between: Vec<&Path> = between.collect();
    for directory in between.into_iter().rev() {
        if !frozen.insert(directory.to_owned()) {
            continue;
        }
        kernel::open_plain(directory)
            .and_then(kernel::cover_with_itself)
            .at("freeze", directory)?;
    }
    Ok(())
}

/// Covers a closed path. If this user cannot reach it, the last reachable directory above is
/// covered, because the user may be able to change its permissions.
pub(super) fn close(
    scratch: &Scratch,
    path: &Path,
    filled: Option<usize>,
) -> Result<(), MountError> {
    // A path that is replaced between two steps is tried again. Otherwise saving a file could cause
    // commands to run without a tree of their own.
    for _ in 0..MAX_CHANGES {
        match try_close(scratch, path, filled) {
            Err(error) if error.errno == Errno::NOENT.raw_os_error() => {}
            closed => return closed,
        }
    }
    Err(MountError::new("close", path, Errno::BUSY))
}

fn try_close(scratch: &Scratch, path: &Path, filled: Option<usize>) -> Result<(), MountError> {
    let mut reachable = path;
    let place = loop {
        match kernel::open_followed(reachable) {
            Ok(place) => break place,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(Errno::ACCESS) => match reachable.parent() {
                Some(parent) if is_own(parent) => reachable = parent,
                _ => return Ok(()),
            },
            Err(errno) => return Err(MountError::new("open the closed path", path, errno)),
        }
    };
    let directory = kernel::is_directory(&place).at("look at", path)?;
    let cover = match filled {
        Some(index) if directory => scratch.take_cover(index),
        _ if directory => scratch.take(scratch::EMPTY),
        _ => scratch.take(scratch::NOTHING),
    };
    let cover = cover.at("take a cover for", path)?;
    kernel::attach(cover, place).at("close", path)
}

fn is_own(directory: &Path) -> bool {
    // The way to it may be closed in turn.
    match stat(directory) {
        Ok(stat) => stat.st_uid == geteuid().as_raw(),
        Err(errno) => errno == Errno::ACCESS,
    }
}

fn attach(tree: &OwnedFd, path: &Path) -> Result<(), MountError> {
    kernel::open_plain(path).and_then(|place| kernel::attach(tree, place)).at("attach", path)
}
