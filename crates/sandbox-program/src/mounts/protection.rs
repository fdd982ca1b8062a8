//! Protected paths below writable directories.
//!
//! A protected path is bound onto itself read-only. A command that may write a directory above it
//! could still move that away and make the path anew. So each directory above it is bound onto
//! itself too, because a mount point can be neither renamed nor removed.
//!
//! What is not there cannot be bound. It is noted, and whoever makes calls for commands keeps it absent. Where nobody
//! does, a placeholder stands for it, which everybody sees.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, accessat, fstat, readlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::mounts::error::{At, MountError};
use crate::mounts::kernel::{self, Attributes};
use crate::mounts::layout::Layout;
use crate::mounts::placeholder::{self, Placeholder};

/// The number of links that the kernel would follow.
const MAX_LINKS: usize = 40;
/// How often a path that others make and remove at the same time is looked at again.
const MAX_CHANGES: usize = 100;

/// What a tree has for paths that are not there.
pub(super) struct Held<'a> {
    pub(super) placeholders: &'a mut Vec<Placeholder>,
    pub(super) absent: &'a mut Vec<PathBuf>,
}

pub(super) struct Protector<'a> {
    layout: &'a Layout,
    placeholders: &'a mut Vec<Placeholder>,
    /// Paths that this protector has made mount points.
    pinned: HashSet<PathBuf>,
    /// Most of it holds already.
    again: bool,
    on_absent: OnAbsent,
    /// Paths that are kept absent.
    absent: &'a mut Vec<PathBuf>,
    /// Whether a path was missing.
    pub(super) is_missing: bool,
}

/// What becomes of a path that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnAbsent {
    /// It is kept absent.
    Note,
    /// Something stands for it.
    StandIn,
    /// Another program may be about to make it.
    Await,
}

enum Step {
    /// A directory that stays where it is.
    Onward,
    /// The end: nothing is left to do.
    Protected,
    Link(PathBuf),
    /// Something else than was there a moment ago.
    Changed,
    /// Nothing is there, in this directory.
    Absent(OwnedFd),
}

impl<'a> Protector<'a> {
    pub(super) fn new(layout: &'a Layout, held: Held<'a>, on_absent: OnAbsent) -> Self {
        let Held { placeholders, absent } = held;
        let pinned = HashSet::new();
        Self { layout, placeholders, pinned, again: false, on_absent, absent, is_missing: false }
    }

    /// For a tree that was built, and of which something may have been lost.
    pub(super) fn again(layout: &'a Layout, held: Held<'a>, on_absent: OnAbsent) -> Self {
        Self { again: true, ..Self::new(layout, held, on_absent) }
    }

    /// Protects a path, and should there be nothing yet, its name.
    pub(super) fn protect(&mut self, path: &Path) -> Result<(), MountError> {
        for _ in 0..MAX_CHANGES {
            match self.try_protect(path) {
                // A placeholder was made, or it is not there any more, or is a link now.
                Ok(false) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                result => return result.map(drop).at("protect", path),
            }
        }
        Err(MountError::new("protect", path, Errno::BUSY))
    }

    /// Pins the directories above `path`, as far as others could be put into their place.
    pub(super) fn pin_above(&mut self, path: &Path) -> Result<(), MountError> {
        let Some(base) = self.layout.writable_above(path) else { return Ok(()) };
        let mut directory = base.to_owned();
        let Ok(relative) = path.strip_prefix(base) else { return Ok(()) };
        let names: Vec<Component<'_>> = relative.components().collect();
        for name in names.iter().take(names.len().saturating_sub(1)) {
            directory.push(name);
            match kernel::open_plain(&directory).and_then(|place| self.pin(&directory, place)) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => break,
                pinned => pinned.at("pin", &directory)?,
            }
        }
        Ok(())
    }

    /// Makes a granted directory a mount of its own, so that it stays where it is.
    pub(super) fn hold(&mut self, path: &Path) -> Result<(), Errno> {
        self.pin_above(path).map_err(|error| Errno::from_raw_os_error(error.errno))?;
        kernel::open_plain(path).and_then(|place| self.pin(path, place))
    }

    /// Follows the path through its links. `false` means that it changed meanwhile.
    fn try_protect(&mut self, path: &Path) -> Result<bool, Errno> {
        let names = |path: &Path| -> Vec<OsString> {
            path.components().rev().map(|name| name.as_os_str().to_owned()).collect()
        };
        let mut at = PathBuf::new();
        let mut rest = names(path);
        let mut links = 0;
        while let Some(name) = rest.pop() {
            match name.as_bytes() {
                b"/" => at = PathBuf::from("/"),
                b"." => {}
                // No link is left in what leads here.
                b".." => drop(at.pop()),
                _ => match self.step(&at, &name, rest.is_empty())? {
                    Step::Onward => at.push(name),
                    Step::Protected => return Ok(true),
                    // All links so far are pinned, and the kernel follows no more.
                    Step::Link(_) if links == MAX_LINKS => return Ok(true),
                    Step::Link(target) => {
                        links += 1;
                        rest.extend(names(&target));
                    }
                    Step::Changed => return Ok(false),
                    Step::Absent(parent) => {
                        at.push(&name);
                        at.extend(rest.iter().rev().take_while(|name| *name != ".."));
                        return self.hold_absent(&parent, &name, (at, rest.is_empty()));
                    }
                },
            }
        }
        if self.layout.writable_above(&at).is_some() {
            self.hold_read_only(&at)?;
        }
        Ok(true)
    }

    /// Opens the name once, and then looks only at what it opened. Other supervisors remove and
    /// make placeholders meanwhile, and a new one must not be taken for a directory of the user.
    fn step(&mut self, at: &Path, name: &OsStr, last: bool) -> Result<Step, Errno> {
        let path = at.join(name);
        let parent = kernel::open_plain(at)?;
        let writable = self.layout.writable_above(&path);
        // A command can move files inside a writable directory, not the directory itself.
        let (can_change, can_move) =
            (writable.is_some(), writable.is_some_and(|base| base != path));
        let place = match kernel::open_entry(&parent, name) {
            Ok(place) => place,
            Err(_) if !can_change => return Ok(Step::Protected),
            // Another supervisor has replaced what was here by a placeholder, which must stay
            // empty.
            Err(Errno::NOENT) if placeholder::is_marked(&parent, &fstat(&parent)?)? => {
                return Ok(Step::Changed);
            }
            Err(Errno::NOENT) => return Ok(Step::Absent(parent)),
            // There is no such name.
            Err(Errno::NAMETOOLONG) => return Ok(Step::Protected),
            // The owner could open the directory, so it is protected as a whole.
            Err(Errno::ACCESS) => return self.hold_read_only(at).map(|()| Step::Protected),
            Err(errno) => return Err(errno),
        };
        let stat = fstat(&place)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind.is_symlink() {
            let target = readlinkat(&place, c"", Vec::new())?;
            if can_move && !(self.again && kernel::is_mount_point(&place)) {
                self.pin_link(&parent, name, &path)?;
            }
            return Ok(Step::Link(PathBuf::from(OsStr::from_bytes(target.as_bytes()))));
        }
        if self.placeholders.iter().any(|known| known.is_at(&path)) {
            return Ok(Step::Protected);
        }
        if can_move && placeholder::is_marked(&place, &stat)? {
            match Placeholder::adopt(&path) {
                Ok(placeholder) => self.placeholders.push(placeholder),
                // It cannot be opened. It is protected all the same, and stays.
                Err(Errno::ACCESS) => self.hold_read_only(&path)?,
                Err(errno) => return Err(errno),
            }
            return Ok(Step::Protected);
        }
        if last || !kind.is_dir() {
            if can_change && !(self.again && kernel::is_read_only(&place)) {
                kernel::cover_with_itself(place)?;
            }
            return Ok(Step::Protected);
        }
        if can_move {
            self.pin(&path, place)?;
        }
        Ok(Step::Onward)
    }

    /// Keeps a path absent whose first missing name is in `parent`. `false`: something stands for it now.
    fn hold_absent(
        &mut self,
        parent: &OwnedFd,
        name: &OsStr,
        (path, is_last): (PathBuf, bool),
    ) -> Result<bool, Errno> {
        if self.absent.contains(&path) {
            return Ok(true);
        }
        // No command can make it.
        if !can_be_changed(parent)? {
            return Ok(true);
        }
        match self.on_absent {
            OnAbsent::StandIn => return placeholder::make(parent, name, is_last).map(|made| !made),
            OnAbsent::Await => self.is_missing = true,
            OnAbsent::Note => self.absent.push(path),
        }
        Ok(true)
    }

    fn pin(&mut self, directory: &Path, place: OwnedFd) -> Result<(), Errno> {
        if self.pinned.contains(directory) || self.again && kernel::is_mount_point(&place) {
            return Ok(());
        }
        let parent = directory.parent().unwrap_or(directory);
        if can_be_changed(&kernel::open_plain(parent)?)? {
            let tree = kernel::copy(&place)?;
            kernel::attach(tree, place)?;
        }
        self.pinned.insert(directory.to_owned());
        Ok(())
    }

    fn hold_read_only(&self, path: &Path) -> Result<(), Errno> {
        let place = kernel::open_plain(path)?;
        if self.again && kernel::is_read_only(&place) {
            return Ok(());
        }
        kernel::cover_with_itself(place)
    }

    fn pin_link(&mut self, parent: &OwnedFd, name: &OsStr, path: &Path) -> Result<(), Errno> {
        if self.pinned.contains(path) {
            return Ok(());
        }
        // Its owner and its times stay too. A kernel that cannot do that for a link pins it all the same.
        let read_only =
            kernel::restricted(kernel::copy_entry(parent, name)?, Attributes::READ_ONLY);
        let link = read_only.or_else(|_| kernel::copy_entry(parent, name))?;
        kernel::attach_entry(link, parent, name)?;
        self.pinned.insert(path.to_owned());
        Ok(())
    }
}

/// Whether this user may move files of a directory, or could permit itself to.
fn can_be_changed(directory: &OwnedFd) -> Result<bool, Errno> {
    match accessat(directory, c".", Access::WRITE_OK, AtFlags::EACCESS) {
        Err(Errno::ROFS) => Ok(false),
        Err(Errno::ACCESS) => Ok(fstat(directory)?.st_uid == geteuid().as_raw()),
        _ => Ok(true),
    }
}
