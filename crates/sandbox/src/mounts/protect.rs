//! Protected paths below what may be written.
//!
//! A protected path is bound onto itself read-only. That is not all: whoever may write a directory
//! above it could move that away and make the path anew. So each directory on the way is bound onto
//! itself too, as what is a mount point can neither be renamed nor removed.

use std::{
    collections::HashSet,
    ffi::OsStr,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, readlinkat, statat},
    io::Errno,
};

use crate::mounts::{
    error::{At, MountError},
    kernel::{self, Attributes},
    layout::Layout,
    placeholder::{self, Placeholder},
};

/// As many links on the way as the kernel would follow.
const MAX_LINKS: usize = 40;
/// How often a path that others make and remove at the same time is looked at again.
const MAX_CHANGES: usize = 100;

pub(super) struct Protector<'a> {
    layout: &'a Layout,
    placeholders: &'a mut Vec<Placeholder>,
    /// What is a mount point already because of this.
    pinned: HashSet<PathBuf>,
}

/// What became of one step on the way.
enum Step {
    /// It is a directory, and pinned.
    Onward,
    /// Nothing is left to do.
    Protected,
    /// It is a link to this.
    Link(PathBuf),
    /// It has just changed.
    Changed,
}

impl<'a> Protector<'a> {
    pub(super) fn new(layout: &'a Layout, placeholders: &'a mut Vec<Placeholder>) -> Self {
        Self { layout, placeholders, pinned: HashSet::new() }
    }

    /// Protects a path, and should there be nothing yet, its name.
    pub(super) fn protect(&mut self, path: &Path) -> Result<(), MountError> {
        let mut wanted = path.to_owned();
        for _ in 0..MAX_LINKS {
            match self.follow(&wanted)? {
                Some(target) => wanted = target,
                None => return Ok(()),
            }
        }
        Err(MountError::new("follow the links of a protected path", path, Errno::LOOP))
    }

    /// Pins the directories above `path`, as far as others could be put into their place.
    pub(super) fn pin_above(&mut self, path: &Path) -> Result<(), MountError> {
        let Some(base) = self.layout.writable_above(path) else { return Ok(()) };
        let above: Vec<&Path> = path.ancestors().skip(1).take_while(|at| *at != base).collect();
        for directory in above.into_iter().rev() {
            match self.pin(directory) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => break,
                pinned => pinned.at("pin", directory)?,
            }
        }
        Ok(())
    }

    /// Goes along the path. Returns where it goes on, if there is a link in it.
    fn follow(&mut self, path: &Path) -> Result<Option<PathBuf>, MountError> {
        let Some(base) = self.layout.writable_above(path).map(Path::to_owned) else {
            return Ok(None);
        };
        let Ok(relative) = path.strip_prefix(&base) else { return Ok(None) };
        if relative.as_os_str().is_empty() {
            read_only(&base).at("protect", path)?;
            return Ok(None);
        }
        let mut at = base.clone();
        let mut names = relative.components().peekable();
        while let Some(Component::Normal(name)) = names.next() {
            let last = names.peek().is_none();
            let mut changes = 0;
            loop {
                match self.step(&at, name, last).at("protect", path)? {
                    Step::Onward => break,
                    Step::Protected => return Ok(None),
                    Step::Link(target) => return Ok(Some(joined(&at, &target, names))),
                    Step::Changed if changes == MAX_CHANGES => {
                        return Err(MountError::new("protect", path, Errno::BUSY));
                    }
                    Step::Changed => changes += 1,
                }
            }
            at.push(name);
        }
        Ok(None)
    }

    fn step(&mut self, at: &Path, name: &OsStr, last: bool) -> Result<Step, Errno> {
        let path = at.join(name);
        let parent = kernel::open_plain(at)?;
        let stat = match statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => {
                let made = placeholder::make(&parent, at, name, last)?;
                return Ok(if made { Step::Changed } else { Step::Protected });
            }
            // Whoever owns the directory could open it, so it is protected as a whole.
            Err(Errno::ACCESS) => return read_only(at).map(|()| Step::Protected),
            Err(errno) => return Err(errno),
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let step = if kind.is_symlink() {
            let target = readlinkat(&parent, name, Vec::new())?;
            self.pin_link(&parent, name, &path)?;
            Ok(Step::Link(PathBuf::from(OsStr::from_bytes(target.as_bytes()))))
        } else if self.placeholders.iter().any(|known| known.is_at(&path)) {
            Ok(Step::Protected)
        } else if placeholder::is_marked(&parent, name, &stat) {
            read_only(&path).and_then(|()| match Placeholder::adopt(&path)? {
                Some(placeholder) => {
                    self.placeholders.push(placeholder);
                    Ok(Step::Protected)
                }
                None => Ok(Step::Changed),
            })
        } else if last || !kind.is_dir() {
            read_only(&path).map(|()| Step::Protected)
        } else {
            self.pin(&path).map(|()| Step::Onward)
        };
        // What was there a moment ago is not there any more.
        if matches!(step, Err(Errno::NOENT | Errno::LOOP)) { Ok(Step::Changed) } else { step }
    }

    fn pin(&mut self, directory: &Path) -> Result<(), Errno> {
        if self.pinned.contains(directory) {
            return Ok(());
        }
        let place = kernel::open_plain(directory)?;
        let tree = kernel::copy(&place)?;
        kernel::attach(tree, place)?;
        self.pinned.insert(directory.to_owned());
        Ok(())
    }

    fn pin_link(&mut self, parent: &OwnedFd, name: &OsStr, path: &Path) -> Result<(), Errno> {
        if self.pinned.contains(path) {
            return Ok(());
        }
        kernel::attach_entry(kernel::copy_entry(parent, name)?, parent, name)?;
        self.pinned.insert(path.to_owned());
        Ok(())
    }
}

/// Binds it onto itself read-only.
fn read_only(path: &Path) -> Result<(), Errno> {
    let place = kernel::open_plain(path)?;
    let tree = kernel::copy(&place)?;
    kernel::set(&tree, Attributes::READ_ONLY)?;
    kernel::attach(tree, place)
}

/// Where a link in the directory `at` leads, with the names that come after it.
fn joined<'a>(at: &Path, target: &Path, rest: impl Iterator<Item = Component<'a>>) -> PathBuf {
    let mut path = PathBuf::new();
    let rest: Vec<Component<'_>> = rest.collect();
    for component in at.join(target).components().chain(rest) {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            _ => path.push(component),
        }
    }
    path
}
