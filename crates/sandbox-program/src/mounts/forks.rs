//! Forks of git directories.
//!
//! A command sees a git directory as it is, and what it writes there stays in its fork. Below the fork lies a
//! cover that is read-only, so the directory itself cannot be written at any moment, also while one fork is
//! replaced by the next. Where the kernel makes no fork, the cover alone remains.
//!
//! Git would copy a pack of any size when it touches one, so the objects of the directory are not a part of the
//! fork. It begins with an empty directory of objects, which names those as its alternates.
//!
//! A directory of hooks in the project has a fork too, which has no objects, and so has a cache of the user, of which
//! nothing comes back.
//!
//! A repository that a command has made becomes a fork when the host has imported it. Commands may move the
//! directories above it, and its fork is found where it has come to. They may also remove it ([`removal`]).

mod kept;
mod removal;

use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat, fstat, mkdirat, openat};
use rustix::io::Errno;
use toolwright_fork::{Fork, Hidden};
use toolwright_sandbox::layers::Layer;
use toolwright_sandbox::plan::OBJECTS;

use crate::errno;
use crate::mounts::error::{At, MountError};
use crate::mounts::kernel::{self, Attributes};
use crate::mounts::place::place_of;
use crate::mounts::private::DirectoryIdentity;
use crate::mounts::scratch::Scratch;

/// The directories in the scratch file system.
const MEMORY: &str = "forks";
const PLACES: &str = "objects";
/// The directory of objects in a git directory.
const OBJECTS_DIRECTORY: &str = "objects";

/// The forks of a tree.
#[derive(Debug)]
pub(super) struct Forks {
    hidden: Hidden,
    /// Where the objects of each are attached: for commands until it is attached, and for this process.
    shown: Option<OwnedFd>,
    places: OwnedFd,
    made: u32,
    attached: Vec<Attached>,
    /// The file systems of those of caches.
    caches: Vec<u64>,
    /// What is there of those that were removed.
    kept: kept::Kept,
    pub(super) layer: Layer,
}

/// A fork in its place.
#[derive(Debug)]
struct Attached {
    path: PathBuf,
    /// Whether commands can move it with the directories above it.
    moves: bool,
    /// Whether commands have made the repository. They may remove it.
    is_of_command: bool,
    /// The directory itself, in the tree.
    base: OwnedFd,
    /// The directory itself, on a mount that can be written if the host can write it, and is attached nowhere.
    own: OwnedFd,
    /// Where its objects are for commands. A directory of hooks has none.
    objects: Option<PathBuf>,
    mount: OwnedFd,
    changes: OwnedFd,
}

impl Forks {
    /// Has to be called before the file system is sealed.
    pub(super) fn prepare(scratch: &Scratch) -> Result<Self, MountError> {
        let prepare = || {
            scratch.directory(MEMORY, 0o700)?;
            scratch.directory(PLACES, 0o755)?;
            let hidden = openat(
                scratch.as_fd(),
                MEMORY,
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            Ok(Self {
                hidden: Hidden::new(hidden),
                shown: Some(kernel::restricted(scratch.take(PLACES)?, Attributes::READ_ONLY)?),
                places: scratch.take(PLACES)?,
                made: 0,
                attached: Vec::new(),
                caches: Vec::new(),
                kept: kept::Kept::default(),
                layer: Layer::Unused,
            })
        };
        prepare().at("prepare the directory", Path::new(OBJECTS))
    }

    /// Attaches the directory of objects to its place in the small `/dev`.
    pub(super) fn attach(&mut self) -> Result<(), MountError> {
        let Some(shown) = self.shown.take() else { return Ok(()) };
        kernel::open_followed(Path::new(OBJECTS))
            .and_then(|place| kernel::attach(shown, place))
            .at("attach the directory", Path::new(OBJECTS))
    }

    /// Opens a directory before it is covered.
    pub(super) fn base(path: &Path) -> Result<OwnedFd, Errno> {
        let base = kernel::open_plain(path)?;
        if kernel::is_directory(&base)? { Ok(base) } else { Err(Errno::NOTDIR) }
    }

    /// Attaches a fork on a cover.
    pub(super) fn add(&mut self, path: &Path, base: OwnedFd, own: OwnedFd) -> Result<(), Errno> {
        let added = self.try_add(path, base, own);
        self.note(added);
        added
    }

    fn note(&mut self, added: Result<(), Errno>) {
        self.layer = match added {
            Ok(()) if matches!(self.layer, Layer::Unused) => Layer::Holds,
            Err(errno) if !matches!(self.layer, Layer::Holds) => {
                Layer::Refused(errno.raw_os_error())
            }
            _ => self.layer,
        };
    }

    /// Attaches a fork of a directory without objects on a cover.
    pub(super) fn add_hooks(
        &mut self,
        path: &Path,
        base: OwnedFd,
        own: OwnedFd,
    ) -> Result<(), Errno> {
        let Fork { mount, changes } = new_fork(&self.hidden, &base, None)?;
        kernel::attach(&mount, kernel::open_plain(path)?)?;
        let (path, objects) = (path.to_owned(), None);
        let (moves, is_of_command) = (false, false);
        let fork = Attached { path, moves, is_of_command, base, own, objects, mount, changes };
        self.attached.push(fork);
        Ok(())
    }

    /// Makes forks of caches, which are read-only where they lie. Nobody asks what has changed in them.
    pub(super) fn make_caches(&self, paths: &[&Path]) -> Vec<Option<OwnedFd>> {
        let bases: Vec<_> = paths.iter().map(|path| Self::base(path).ok()).collect();
        let there: Vec<_> = bases.iter().flatten().collect();
        let mut made = Fork::several(&self.hidden, &there).unwrap_or_default().into_iter();
        bases.iter().map(|base| base.as_ref().and_then(|_| made.next().flatten())).collect()
    }

    /// Attaches one of them.
    pub(super) fn add_cache(&mut self, path: &Path, mount: &OwnedFd) -> Result<(), Errno> {
        kernel::attach(mount, Self::base(path)?)?;
        self.caches.push(fstat(mount)?.st_dev);
        Ok(())
    }

    /// Attaches a cover and a fork of a repository that commands have made, which they may move and remove.
    pub(super) fn add_of_command(
        &mut self,
        path: &Path,
        base: OwnedFd,
        own: OwnedFd,
    ) -> Result<(), Errno> {
        let cover = read_only(&base)?;
        kernel::attach(&cover, &base)?;
        let made = self.make(&base);
        self.note(made.as_ref().map(drop).map_err(|errno| *errno));
        let (objects, Fork { mount, changes }) = made?;
        kernel::attach(&mount, &cover)?;
        self.push_of_command(path, base, own, (objects, Fork { mount, changes }));
        Ok(())
    }

    /// Notes that commands have made the repository of this identity at a path.
    pub(super) fn note_of_command(&mut self, path: &Path, identity: DirectoryIdentity) {
        if let Some(fork) = self.find(path).and_then(|index| self.attached.get_mut(index)) {
            fork.is_of_command |=
                fstat(&fork.base).is_ok_and(|stat| DirectoryIdentity::of(&stat) == identity);
        }
    }

    /// Attaches a cover and a fork beneath what begins at `place`. They are seen when that is taken away.
    pub(super) fn add_beneath(
        &mut self,
        place: &OwnedFd,
        path: &Path,
        base: &OwnedFd,
    ) -> Result<(), Errno> {
        let base = base.try_clone().map_err(|error| errno::of(&error))?;
        let own = kernel::copy_entry(&base, c"")?;
        let cover = read_only(&base)?;
        let made = self.make(&base)?;
        kernel::attach_beneath(cover, place)?;
        kernel::attach_beneath(&made.1.mount, place)?;
        self.push_of_command(path, base, own, made);
        Ok(())
    }

    fn push_of_command(
        &mut self,
        path: &Path,
        base: OwnedFd,
        own: OwnedFd,
        (objects, Fork { mount, changes }): (PathBuf, Fork),
    ) {
        let (path, objects) = (path.to_owned(), Some(objects));
        let (moves, is_of_command) = (true, true);
        let fork = Attached { path, moves, is_of_command, base, own, objects, mount, changes };
        self.attached.push(fork);
    }

    fn try_add(&mut self, path: &Path, base: OwnedFd, own: OwnedFd) -> Result<(), Errno> {
        let (objects, Fork { mount, changes }) = self.make(&base)?;
        kernel::attach(&mount, kernel::open_plain(path)?)?;
        let (path, objects) = (path.to_owned(), Some(objects));
        let (moves, is_of_command) = (false, false);
        let fork = Attached { path, moves, is_of_command, base, own, objects, mount, changes };
        self.attached.push(fork);
        Ok(())
    }

    /// Makes a fork, and shows commands the objects of the directory.
    fn make(&mut self, base: &OwnedFd) -> Result<(PathBuf, Fork), Errno> {
        let number = self.made.to_string();
        let objects = Path::new(OBJECTS).join(&number);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let real = openat(base, OBJECTS_DIRECTORY, flags, Mode::empty())?;
        let fork = new_fork(&self.hidden, base, Some(&objects))?;
        mkdirat(&self.places, &number, Mode::from_raw_mode(0o755))?;
        self.made += 1;
        let real = kernel::restricted(kernel::copy(real)?, READABLE)?;
        kernel::attach(real, kernel::open_followed(&objects)?)?;
        Ok((objects, fork))
    }

    /// What has changed in a fork, and where it lies if that is another path.
    pub(super) fn changes(&mut self, path: &Path) -> Option<(BorrowedFd<'_>, Option<PathBuf>)> {
        let index = self.find(path)?;
        let fork = &mut self.attached[index];
        let moved = fork.place().filter(|place| place != path);
        if let Some(place) = &moved {
            fork.path.clone_from(place);
        }
        Some((fork.changes.as_fd(), moved))
    }

    /// The one that lies at a path, or else the one that lay there when it was last asked for.
    fn find(&self, path: &Path) -> Option<usize> {
        let may_lie = |fork: &Attached| fork.moves || fork.path == path;
        let lies =
            |fork: &Attached| may_lie(fork) && fork.place().is_some_and(|place| place == path);
        let mut forks = self.attached.iter();
        forks.position(lies).or_else(|| self.attached.iter().position(|fork| fork.path == path))
    }

    /// Forgets those of commands' repositories that the host has removed.
    pub(super) fn forget_removed(&mut self) {
        self.attached.retain(|fork| !fork.moves || fork.place().is_some());
    }

    /// Puts a new fork in the place of one. Commands that run see the new one at once.
    pub(super) fn replace(&mut self, path: &Path) -> Result<(), Errno> {
        let index = self.find(path).ok_or(Errno::NOENT)?;
        let fork = &mut self.attached[index];
        let path = fork.place().ok_or(Errno::NOENT)?;
        let new = new_fork(&self.hidden, &fork.base, fork.objects.as_deref())?;
        kernel::detach(&fork.mount)?;
        // The cover, or nothing of ours if the host has moved the directory away.
        kernel::attach(&new.mount, kernel::open_plain(&path)?)?;
        (fork.mount, fork.changes) = (new.mount, new.changes);
        Ok(())
    }

    /// Where forks are made.
    pub(super) fn hidden(&self) -> &Hidden {
        &self.hidden
    }

    /// Whether a file system is that of a fork.
    pub(super) fn has_device(&self, device: u64) -> bool {
        let is_of = |fork: &Attached| fstat(&fork.mount).is_ok_and(|stat| stat.st_dev == device);
        self.caches.contains(&device) || self.attached.iter().any(is_of)
    }

    /// Whether there is one for this path.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.find(path).is_some()
    }

    /// Those that the host has moved away with the directory.
    pub(super) fn lost(&self) -> impl Iterator<Item = &Path> {
        let lost = self.attached.iter().filter(|fork| fork.place().is_none());
        // Nothing has to stand for a directory that only commands have made.
        let stays = |fork: &&Attached| !fork.moves || kernel::open_plain(&fork.path).is_ok();
        lost.filter(stays).map(|fork| fork.path.as_path())
    }

    /// The git directories themselves.
    pub(super) fn into_directories(self) -> Vec<OwnedFd> {
        let git = self.attached.into_iter().filter(|fork| fork.objects.is_some());
        git.map(|fork| fork.own).collect()
    }

    /// What no worker needs.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let of = |fork: &Attached| {
            [&fork.base, &fork.own, &fork.mount, &fork.changes].map(AsRawFd::as_raw_fd)
        };
        let own = [self.places.as_raw_fd(), self.hidden.descriptor().as_raw_fd()];
        own.into_iter().chain(self.attached.iter().flat_map(of))
    }
}

impl Attached {
    /// Where commands see it. `None`: the host has moved or removed the directory.
    fn place(&self) -> Option<PathBuf> {
        self.open_place().map(|(path, _)| path)
    }

    /// As [`place`](Self::place), with what is there.
    fn open_place(&self) -> Option<(PathBuf, OwnedFd)> {
        let device = fstat(&self.mount).ok()?.st_dev;
        let is_this = |stat: &Stat| stat.st_dev == device;
        if self.moves {
            return place_of(&self.mount, &self.base, is_this);
        }
        let place = kernel::open_plain(&self.path).ok()?;
        is_this(&fstat(&place).ok()?).then(|| (self.path.clone(), place))
    }
}

const READABLE: Attributes = Attributes::READ_ONLY;

/// A cover of a directory alone. What lies on that is no part of it, and does not appear there later.
fn read_only(base: &OwnedFd) -> Result<OwnedFd, Errno> {
    let cover = kernel::restricted(kernel::copy_entry(base, c"")?, READABLE)?;
    kernel::make_private(&cover)?;
    Ok(cover)
}

fn new_fork(hidden: &Hidden, base: &OwnedFd, objects: Option<&Path>) -> Result<Fork, Errno> {
    let Some(objects) = objects else { return Fork::new(hidden, base, None, |_| Ok(())) };
    Fork::new(hidden, base, Some(OBJECTS_DIRECTORY), |directory| {
        let mode = Mode::from_raw_mode(0o755);
        mkdirat(directory, "pack", mode)?;
        mkdirat(directory, "info", mode)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(directory, "info/alternates", flags, Mode::from_raw_mode(0o644))?;
        let line = format!("{}\n", objects.display());
        std::fs::File::from(file).write_all(line.as_bytes()).map_err(|error| errno::of(&error))
    })
}
