//! From a path to what lies there, below one of several roots.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::{Held, HeldKind, place_of};
use crate::locate::{name_of, unnamed};
use crate::protect::Protection;
use crate::root::PLACE;
use crate::{FileKind, FsError, Resolver, Root, open, path};

/// How often something that changes while it is opened is looked at again.
const MOST_LOOKS: usize = 64;

/// Directories that paths may lie below.
#[derive(Debug)]
pub struct Roots {
    /// For relative paths, in order; and for absolute ones.
    workspace: Vec<Root>,
    /// For absolute paths alone.
    others: Vec<Root>,
}

impl Roots {
    /// Opens all directories. One of `others` that cannot be opened is left out.
    pub fn open(workspace: &[PathBuf], others: &[PathBuf]) -> Result<Self, FsError> {
        Self::open_with(workspace, others, Resolver::Automatic)
    }

    /// As [`Roots::open`], with the resolver chosen.
    pub fn open_with(
        workspace: &[PathBuf],
        others: &[PathBuf],
        resolver: Resolver,
    ) -> Result<Self, FsError> {
        let open = |path: &PathBuf| Root::open_with(path, resolver);
        Ok(Self {
            workspace: workspace.iter().map(open).collect::<Result<_, _>>()?,
            others: others.iter().filter_map(|path| open(path).ok()).collect(),
        })
    }

    /// Of directories that are open: those for relative paths, in order, and those for absolute paths
    /// alone.
    #[must_use]
    pub fn of(workspace: Vec<Root>, others: Vec<Root>) -> Self {
        Self { workspace, others }
    }

    /// Finds what `path` names and holds it open: a relative path below the first root of the
    /// workspace in which there is such a thing (or below the first one), an absolute one below
    /// whichever root it lies in. Nothing is made, and nothing that is no regular file is opened.
    pub fn hold(&self, path: &str) -> Result<Held, FsError> {
        path::validate(path)?;
        if Path::new(path).is_relative() {
            return self.hold_relative(path);
        }
        let mut around: Vec<&Root> = self
            .workspace
            .iter()
            .chain(&self.others)
            .filter(|root| root.strip(Path::new(path)).is_some())
            .collect();
        // The outermost first: a link may lead from one root into another.
        around.sort_by_key(|root| root.path().components().count());
        let mut refused = FsError::Escape { path: path.to_owned(), via_link: false };
        for root in around {
            match hold_below(root, path) {
                Err(escape @ FsError::Escape { .. }) => refused = escape,
                answer => return answer,
            }
        }
        Err(refused)
    }

    fn hold_relative(&self, path: &str) -> Result<Held, FsError> {
        let mut first = None;
        for root in &self.workspace {
            match hold_below(root, path) {
                Ok(held) if held.trouble.is_none() && held.kind != HeldKind::Missing => {
                    return Ok(held);
                }
                answer => {
                    first.get_or_insert(answer);
                }
            }
        }
        let nowhere = || FsError::Escape { path: path.to_owned(), via_link: false };
        first.unwrap_or_else(|| Err(nowhere()))
    }

    /// Refuses what lies at a protected path of any root of the workspace.
    pub fn check_protected(&self, held: &Held, protected: &[PathBuf]) -> Result<(), FsError> {
        for root in &self.workspace {
            let real = name_of(root.as_fd()).map_err(|errno| unnamed(&held.shown, errno))?;
            if let Ok(relative) = held.place.strip_prefix(&real) {
                Protection::new(root, protected).check_file(&held.shown, relative)?;
            }
        }
        Ok(())
    }
}

fn hold_below(root: &Root, shown: &str) -> Result<Held, FsError> {
    let relative = root.relative(shown)?;
    for _ in 0..MOST_LOOKS {
        let found = match hold_once(root, shown, &relative) {
            Err(trouble @ (FsError::Escape { .. } | FsError::PathInvalid { .. })) => {
                return Err(trouble);
            }
            Err(trouble) => return hold_around(root, shown, &relative, trouble),
            Ok(found) => found,
        };
        if let Some(held) = found {
            return Ok(held);
        }
    }
    Err(FsError::at(shown, "opening what is being replaced", Errno::AGAIN))
}

/// `None`: it changed meanwhile.
fn hold_once(root: &Root, shown: &str, relative: &Path) -> Result<Option<Held>, FsError> {
    if path::split_last(relative).is_none() {
        return hold_directory(root, shown, root.open_directory(shown)?);
    }
    let nothing = Protection::new(root, &[]);
    let (directory, name) = match root.parent_of(shown, relative, None, &nothing) {
        Ok(found) => found,
        // A link to the root itself, say: there is no name.
        Err(FsError::NotAFile { kind: FileKind::Directory, .. }) => {
            return hold_directory(root, shown, root.open_directory(shown)?);
        }
        Err(error) => return Err(error),
    };
    let failed = |errno| FsError::at(shown, "looking at it", errno);
    let (kind, file, trouble) =
        match rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileKind::of(&stat) {
                None => match open::open_entry(shown, directory.as_fd(), &name) {
                    Ok(None) => return Ok(None),
                    Ok(Some((file, stat))) => {
                        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
                        (HeldKind::File { bytes }, Some(File::from(file)), None)
                    }
                    // It may be written and not read.
                    Err(trouble) => {
                        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
                        (HeldKind::File { bytes }, None, Some(trouble))
                    }
                },
                Some(FileKind::Directory) => {
                    let flags = PLACE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    return match rustix::fs::openat(&directory, &name, flags, Mode::empty()) {
                        Ok(found) => hold_directory(root, shown, found),
                        Err(_) => Ok(None),
                    };
                }
                Some(FileKind::Symlink) => return Ok(None),
                Some(kind) => {
                    let trouble = FsError::NotAFile { path: shown.to_owned(), kind };
                    (HeldKind::Missing, None, Some(trouble))
                }
            },
            Err(Errno::NOENT) => (HeldKind::Missing, None, None),
            Err(errno) => (HeldKind::Missing, None, Some(failed(errno))),
        };
    let Some(directory_place) = place_of(shown, &directory)? else { return Ok(None) };
    Ok(Some(Held {
        shown: shown.to_owned(),
        place: directory_place.join(&name),
        kind,
        directory,
        directory_place,
        missing: Vec::new(),
        name,
        file,
        trouble,
        resolver: root.resolver(),
    }))
}

fn hold_directory(root: &Root, shown: &str, directory: OwnedFd) -> Result<Option<Held>, FsError> {
    let Some(place) = place_of(shown, &directory)? else { return Ok(None) };
    Ok(Some(Held {
        shown: shown.to_owned(),
        directory_place: place.clone(),
        place,
        kind: HeldKind::Directory,
        directory,
        missing: Vec::new(),
        name: OsString::new(),
        file: None,
        trouble: None,
        resolver: root.resolver(),
    }))
}

/// Holds the last directory that is there, for a path that goes on beyond it.
fn hold_around(
    root: &Root,
    shown: &str,
    relative: &Path,
    trouble: FsError,
) -> Result<Held, FsError> {
    for ancestor in relative.ancestors().skip(1) {
        let text = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
        let Some(text) = text.to_str() else { return Err(trouble) };
        let directory = match root.open_directory(text) {
            Ok(directory) => directory,
            Err(escape @ FsError::Escape { .. }) => return Err(renamed(escape, shown)),
            Err(_) => continue,
        };
        let Some(directory_place) = place_of(shown, &directory)? else { continue };
        let rest = relative.strip_prefix(ancestor).unwrap_or(relative);
        let mut missing = Vec::new();
        for component in rest.components() {
            match component {
                Component::Normal(name) => missing.push(name.to_owned()),
                // Back from what is not there: nothing can be made of it.
                Component::ParentDir => return Err(trouble),
                _ => {}
            }
        }
        let mut place = directory_place.clone();
        place.extend(&missing);
        let Some(name) = missing.pop() else { return Err(trouble) };
        // Only what is not there can be made.
        let trouble = (!matches!(trouble, FsError::NotFound { .. })
            || path::asks_for_directory(relative))
        .then_some(trouble);
        return Ok(Held {
            shown: shown.to_owned(),
            place,
            kind: HeldKind::Missing,
            directory,
            directory_place,
            missing,
            name,
            file: None,
            trouble,
            resolver: root.resolver(),
        });
    }
    Err(trouble)
}

fn renamed(error: FsError, shown: &str) -> FsError {
    match error {
        FsError::Escape { via_link, .. } => FsError::Escape { path: shown.to_owned(), via_link },
        other => other,
    }
}
