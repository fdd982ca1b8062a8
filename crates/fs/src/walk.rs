//! Resolves a path one component at a time, where `openat2` cannot.
//!
//! It is used on systems without `openat2`, in containers whose filter refuses it, for absolute
//! links that point back inside the root (which `RESOLVE_BENEATH` rejects), and to create missing
//! parent directories. No component is ever opened through a link: the text of a link is put in
//! front of the remaining steps, and the walk goes on from where it is. `..` returns to the
//! descriptor that the walk came from and cannot go above the root.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::path::Step;
use crate::protection::Protection;
use crate::root::O_PATH;
use crate::{FileKind, FsError, FsErrorKind, Root, path};

/// The kernel's own limit on links in one resolution.
pub(crate) const MAX_LINKS: usize = 40;
/// How often a walk retries a component that changed, or that it has just created. Greater than the
/// depth of any path, so only a directory that is removed as often as it is created exceeds it.
const MAX_RETRIES: usize = 5000;

/// Where a walk ended.
#[derive(Debug)]
pub(crate) enum WalkEnd {
    /// A name in a directory: a file, something else that is not a link, or nothing yet.
    Entry {
        /// The directory; `None` is the root itself.
        parent: Option<OwnedFd>,
        /// The name in it.
        name: OsString,
        /// The path to it from the root. Its names were not links when they were opened.
        resolved: PathBuf,
    },
    /// A directory; `None` is the root itself.
    Directory(Option<OwnedFd>),
}

/// A directory that a walk created.
#[derive(Debug)]
pub(crate) struct Created {
    parent: OwnedFd,
    name: OsString,
}

/// Directories created on the way. They are removed again when the call fails.
#[derive(Debug, Default)]
pub(crate) struct CreatedDirectories(Vec<Created>);

impl CreatedDirectories {
    /// The call succeeded: the directories stay.
    pub(crate) fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for CreatedDirectories {
    fn drop(&mut self) {
        // Innermost first. A directory that another process uses already is not empty and stays.
        while let Some(created) = self.0.pop() {
            let _ = rustix::fs::unlinkat(&created.parent, &created.name, AtFlags::REMOVEDIR);
        }
    }
}

/// How to treat missing directories on the way.
#[derive(Debug)]
pub(crate) enum Missing<'a, 'p> {
    /// The path does not exist.
    Reported,
    /// The walk goes on as if they existed, to see where it would end.
    Imagined(&'a Protection<'p>),
    /// They are created, unless they or the file in them are refused.
    Made(&'a mut CreatedDirectories, &'a Protection<'p>),
}

/// Walks `relative` below `root`.
pub(crate) fn walk(
    root: &Root,
    display_path: &str,
    relative: &Path,
    mut missing: Missing<'_, '_>,
) -> Result<WalkEnd, FsError> {
    let mut stack: Vec<Visited> = Vec::new();
    let mut steps = path::steps_reversed(relative);
    let mut must_be_directory = path::asks_for_directory(relative);
    let mut links = 0;
    let mut retries = 0;

    while let Some(step) = steps.pop() {
        let Step::Down(name) = step else {
            if stack.pop().is_none() {
                return Err(FsErrorKind::Escape { via_link: links > 0 }.at(display_path));
            }
            continue;
        };
        let last = steps.is_empty() && !must_be_directory;
        let outcome = match current(root, &stack) {
            Some(here) if last => last_component(here, &name),
            Some(here) => directory(here, &name),
            None if last => Ok(Component::End),
            None => Err(Errno::NOENT),
        };
        match outcome {
            Ok(Component::End) => {
                let resolved = resolved_path(&stack, &name);
                let parent = stack.pop().and_then(|(fd, _)| fd);
                return Ok(WalkEnd::Entry { parent, name: name.into_os_string(), resolved });
            }
            Ok(Component::Directory(fd)) => stack.push((Some(fd), name.into_os_string())),
            Ok(Component::Link(target)) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(FsError::at(display_path, "following links", Errno::LOOP));
                }
                let target = Path::new(&target);
                must_be_directory |= steps.is_empty() && path::asks_for_directory(target);
                let inside = root
                    .strip(target)
                    .ok_or_else(|| FsErrorKind::Escape { via_link: true }.at(display_path))?;
                if target.is_absolute() {
                    stack.clear();
                }
                steps.extend(path::steps_reversed(&inside));
            }
            Err(Errno::NOENT) => match (&mut missing, current(root, &stack)) {
                (Missing::Imagined(protection), _) => {
                    protection.check_directory(display_path, &resolved_path(&stack, &name))?;
                    stack.push((None, name.into_os_string()));
                }
                (Missing::Made(created, protection), Some(here)) => {
                    if created.0.is_empty() {
                        look_ahead(root, display_path, relative, protection)?;
                    }
                    protection.check_directory(display_path, &resolved_path(&stack, &name))?;
                    protection.check_around(display_path, here)?;
                    let _new = protection.new_name(display_path, here, &name)?;
                    make_directory(here, &name, created).map_err(|errno| {
                        FsError::at(display_path, "creating a directory", errno)
                    })?;
                    retries += 1;
                    steps.push(Step::Down(name));
                }
                _ => return Err(FsError::at(display_path, "opening", Errno::NOENT)),
            },
            Err(Errno::AGAIN) => {
                retries += 1;
                steps.push(Step::Down(name));
            }
            Err(errno) => return Err(FsError::at(display_path, "opening", errno)),
        }
        if retries > MAX_RETRIES {
            return Err(FsError::at(display_path, "resolving", Errno::AGAIN));
        }
    }
    Ok(WalkEnd::Directory(stack.pop().and_then(|(fd, _)| fd)))
}

/// Fails for a protected path before the first directory on the way to it is created.
fn look_ahead(
    root: &Root,
    display_path: &str,
    relative: &Path,
    protection: &Protection<'_>,
) -> Result<(), FsError> {
    if protection.is_empty() {
        return Ok(());
    }
    match walk(root, display_path, relative, Missing::Imagined(protection))? {
        WalkEnd::Entry { resolved, .. } => protection.check_file(display_path, &resolved),
        WalkEnd::Directory(_) => Ok(()),
    }
}

/// A directory on the way, with its name. `None` for a missing one.
type Visited = (Option<OwnedFd>, OsString);

enum Component {
    Directory(OwnedFd),
    Link(OsString),
    End,
}

/// The directory that the walk is in, if it exists.
fn current<'a>(root: &'a Root, stack: &'a [Visited]) -> Option<BorrowedFd<'a>> {
    match stack.last() {
        None => Some(root.as_fd()),
        Some((fd, _)) => fd.as_ref().map(AsFd::as_fd),
    }
}

/// The path of `name` in that directory.
fn resolved_path(stack: &[Visited], name: &OsStr) -> PathBuf {
    stack.iter().map(|(_, name)| name.as_os_str()).chain([name]).collect()
}

/// Opens `name` as a directory, or reads it as a link. `AGAIN` if it changed in between.
fn directory(here: BorrowedFd<'_>, name: &OsStr) -> Result<Component, Errno> {
    let flags = O_PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(here, name, flags, Mode::empty()) {
        Ok(fd) => Ok(Component::Directory(fd)),
        // With NOFOLLOW and DIRECTORY, a link gives NOTDIR on Linux and LOOP elsewhere.
        Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => match read_link(here, name) {
            Ok(target) => Ok(Component::Link(target)),
            Err(Errno::INVAL) => match rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => match FileKind::of(&stat) {
                    Some(FileKind::Directory | FileKind::Symlink) => Err(Errno::AGAIN),
                    _ => Err(Errno::NOTDIR),
                },
                Err(errno) => Err(errno),
            },
            Err(errno) => Err(errno),
        },
        Err(errno) => Err(errno),
    }
}

/// Follows the last component if it is a link, and leaves anything else alone.
fn last_component(here: BorrowedFd<'_>, name: &OsStr) -> Result<Component, Errno> {
    match read_link(here, name) {
        Ok(target) => Ok(Component::Link(target)),
        Err(Errno::INVAL | Errno::NOENT) => Ok(Component::End),
        Err(errno) => Err(errno),
    }
}

pub(crate) fn read_link(here: BorrowedFd<'_>, name: &OsStr) -> Result<OsString, Errno> {
    let target = rustix::fs::readlinkat(here, name, Vec::new())?;
    Ok(OsStr::from_bytes(target.as_bytes()).to_os_string())
}

/// Creates `name`. It is just as good if another process was quicker.
pub(crate) fn make_directory(
    here: BorrowedFd<'_>,
    name: &OsStr,
    created: &mut CreatedDirectories,
) -> Result<(), Errno> {
    // First the descriptor for the way back: without one, nothing may be created.
    let parent = rustix::io::fcntl_dupfd_cloexec(here, 0)?;
    match rustix::fs::mkdirat(here, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => {
            created.0.push(Created { parent, name: name.to_os_string() });
            Ok(())
        }
        Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}
