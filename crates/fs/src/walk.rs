//! Resolution one component at a time, for what `openat2` cannot decide.
//!
//! Used on systems without `openat2`, in containers whose filter refuses it, for absolute links
//! that point back inside the root (which `RESOLVE_BENEATH` rejects), and to create missing parent
//! directories. No component is ever opened through a link: a link is read, its text is put in
//! front of the remaining steps, and the walk goes on from where it stands. `..` goes back to the
//! descriptor the walk came from and cannot go above the root.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::FileKind;
use crate::FsError;
use crate::Root;
use crate::path;
use crate::path::Step;
use crate::root::PLACE;

/// The kernel's own limit on links in one resolution.
const MAX_LINKS: usize = 40;
/// How often a walk looks again at a component that changed under it, or that it has just created.
/// Above the depth of any path, so that only a directory removed as often as it is made gets there.
const MAX_RETRIES: usize = 5000;

/// Where a walk ended.
#[derive(Debug)]
pub(crate) enum Place {
    /// A name in a directory: a file, something else that is no link, or nothing yet.
    Entry {
        /// The directory; `None` is the root itself.
        parent: Option<OwnedFd>,
        /// The name in it.
        name: OsString,
    },
    /// A directory; `None` is the root itself.
    Directory(Option<OwnedFd>),
}

/// A directory that a walk had to create.
#[derive(Debug)]
pub(crate) struct Created {
    parent: OwnedFd,
    name: OsString,
}

/// Directories created on the way, removed again when the call fails.
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
        // Innermost first. One that somebody else has begun to use is not empty and stays.
        while let Some(created) = self.0.pop() {
            let _ = rustix::fs::unlinkat(&created.parent, &created.name, AtFlags::REMOVEDIR);
        }
    }
}

/// Walks `relative` below `root`. With `created`, missing directories before the end are made.
pub(crate) fn walk(
    root: &Root,
    shown: &str,
    relative: &Path,
    mut created: Option<&mut CreatedDirectories>,
) -> Result<Place, FsError> {
    let mut stack: Vec<(OwnedFd, OsString)> = Vec::new();
    let mut steps = path::steps_reversed(relative);
    let mut directory_wanted = path::asks_for_directory(relative);
    let mut links = 0;
    let mut retries = 0;

    while let Some(step) = steps.pop() {
        let Step::Down(name) = step else {
            if stack.pop().is_none() {
                return Err(FsError::Escape { path: shown.to_owned(), via_link: links > 0 });
            }
            continue;
        };
        let here = current(root, &stack);
        let last = steps.is_empty() && !directory_wanted;
        let outcome = if last { last_component(here, &name) } else { directory(here, &name) };
        match outcome {
            Ok(Component::End) => {
                let parent = stack.pop().map(|(fd, _)| fd);
                return Ok(Place::Entry { parent, name: name.into_os_string() });
            }
            Ok(Component::Directory(fd)) => stack.push((fd, name.into_os_string())),
            Ok(Component::Link(target)) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(FsError::at(shown, "following links", Errno::LOOP));
                }
                let target = Path::new(&target);
                directory_wanted |= steps.is_empty() && path::asks_for_directory(target);
                let inside = root
                    .strip(target)
                    .ok_or_else(|| FsError::Escape { path: shown.to_owned(), via_link: true })?;
                if target.is_absolute() {
                    stack.clear();
                }
                steps.extend(path::steps_reversed(&inside));
            }
            Err(Errno::NOENT) if created.is_some() => {
                if let Some(created) = created.as_deref_mut() {
                    make_directory(here, &name, created)
                        .map_err(|errno| FsError::at(shown, "creating a directory", errno))?;
                }
                retries += 1;
                steps.push(Step::Down(name));
            }
            Err(Errno::AGAIN) => {
                retries += 1;
                steps.push(Step::Down(name));
            }
            Err(errno) => return Err(FsError::at(shown, "opening", errno)),
        }
        if retries > MAX_RETRIES {
            return Err(FsError::at(shown, "resolving", Errno::AGAIN));
        }
    }
    Ok(Place::Directory(stack.pop().map(|(fd, _)| fd)))
}

enum Component {
    Directory(OwnedFd),
    Link(OsString),
    End,
}

fn current<'a>(root: &'a Root, stack: &'a [(OwnedFd, OsString)]) -> BorrowedFd<'a> {
    stack.last().map_or_else(|| root.as_fd(), |(fd, _)| fd.as_fd())
}

/// Opens `name` as a directory, or reads it as a link. `AGAIN` when it changed in between.
fn directory(here: BorrowedFd<'_>, name: &OsStr) -> Result<Component, Errno> {
    let flags = PLACE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(here, name, flags, Mode::empty()) {
        Ok(fd) => Ok(Component::Directory(fd)),
        // NOFOLLOW together with DIRECTORY answers NOTDIR for a link on Linux, LOOP elsewhere.
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

/// The end of a path is followed when it is a link, and left alone when it is anything else.
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

/// Creates `name`; that somebody else was quicker is as good.
fn make_directory(
    here: BorrowedFd<'_>,
    name: &OsStr,
    created: &mut CreatedDirectories,
) -> Result<(), Errno> {
    // The descriptor for the way back comes first: without one nothing may be created.
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
