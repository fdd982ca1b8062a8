//! Opens targets below one of several roots.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use toolwright_reserved::FileId;

use super::{LastLink, OpenTarget, TargetKind, real_path_of};
use crate::location::{name_of, unnamed};
use crate::open::identity;
use crate::protection::Protection;
use crate::root::O_PATH;
use crate::target::Around;
use crate::{FileKind, FsError, FsErrorKind, GitBorder, Resolver, Root, open, path, sweep, walk};

/// How often to try again when a target changes while it is opened.
const MAX_ATTEMPTS: usize = 64;

/// The directories that paths are resolved in.
#[derive(Debug)]
pub struct Roots {
    /// For relative paths, in order, and for absolute ones.
    workspace: Vec<Root>,
    /// For absolute paths only.
    others: Vec<Root>,
}

impl Roots {
    /// Opens all directories. Those of `others` that cannot be opened are left out.
    pub fn open(workspace: &[PathBuf], others: &[PathBuf]) -> Result<Self, FsError> {
        Self::open_with(workspace, others, Resolver::Automatic)
    }

    /// As [`Roots::open`], with the given resolver.
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

    /// From open directories: `workspace` for relative paths, in order, and `others` for absolute
    /// paths only.
    #[must_use]
    pub fn of(workspace: Vec<Root>, others: Vec<Root>) -> Self {
        Self { workspace, others }
    }

    /// Opens the target at `path`. A relative path is resolved in the first root of the workspace
    /// that has it, or else in the first root; an absolute path in the root that contains it.
    /// Creates nothing, and opens only regular files and directories.
    pub fn open_target(&self, path: &str) -> Result<OpenTarget, FsError> {
        self.open_named(path, LastLink::Followed)
    }

    /// As [`Roots::open_target`], for the link itself where `last` says so.
    pub fn open_named(&self, path: &str, last: LastLink) -> Result<OpenTarget, FsError> {
        path::validate(path)?;
        if Path::new(path).is_relative() {
            return self.open_relative(path, last);
        }
        let mut around: Vec<&Root> = self
            .workspace
            .iter()
            .chain(&self.others)
            .filter(|root| root.strip(Path::new(path)).is_some())
            .collect();
        if around.iter().any(|root| root.forked().is_some()) {
            // What the path means in the directory that was forked is of no interest.
            around.retain(|root| root.forked().is_some());
        }
        // The outermost first: a link may lead from one root into another.
        around.sort_by_key(|root| root.path().components().count());
        let mut refused = FsErrorKind::Escape { via_link: false }.at(path);
        for root in around {
            match open_below(root, path, last) {
                Err(escape @ FsError { kind: FsErrorKind::Escape { .. }, .. }) => refused = escape,
                // By a link from elsewhere, which would lead to the directory and not to the fork of it.
                Ok(target) if root.forked().is_none() && self.is_forked(&target) => {
                    refused = FsErrorKind::Escape { via_link: true }.at(path);
                }
                answer => return answer,
            }
        }
        Err(refused)
    }

    /// Finishes or undoes the change sets that killed processes left in the workspace.
    pub fn settle(&self, protected: &[PathBuf], git: GitBorder) {
        for root in &self.workspace {
            sweep::sweep_root(&Around { root, protected, git });
        }
    }

    /// Whether a target lies in a directory that was forked, or in a fork of it.
    fn is_forked(&self, target: &OpenTarget) -> bool {
        let mut forked = self.workspace.iter().chain(&self.others).filter_map(Root::forked);
        forked.any(|base| target.real_path.starts_with(base))
    }

    /// The root that all of `targets` are below, for a change set. One around a directory that was forked is none for what
    /// lies in the fork.
    #[must_use]
    pub fn around(&self, targets: &[&OpenTarget]) -> Option<&Root> {
        let is_forked = targets.iter().any(|target| self.is_forked(target));
        self.workspace.iter().chain(&self.others).find(|root| {
            if is_forked && root.forked().is_none() {
                return false;
            }
            let real = name_of(root.as_fd());
            real.is_ok_and(|real| targets.iter().all(|target| target.real_path.starts_with(&real)))
        })
    }

    fn open_relative(&self, path: &str, last: LastLink) -> Result<OpenTarget, FsError> {
        let mut first = None;
        for root in &self.workspace {
            match open_below(root, path, last) {
                Ok(target) if target.open_error.is_none() && target.kind != TargetKind::Missing => {
                    return Ok(target);
                }
                answer => {
                    first.get_or_insert(answer);
                }
            }
        }
        first.unwrap_or_else(|| Err(FsErrorKind::Escape { via_link: false }.at(path)))
    }

    /// Fails if the target is at a protected path of any root of the workspace, or belongs to a directory of git
    /// in the roots that it lies in: those of the workspace, or else the others.
    pub fn check_protected(
        &self,
        target: &mut OpenTarget,
        protected: &[PathBuf],
        git: GitBorder,
    ) -> Result<(), FsError> {
        let is_around = |root: &&Root| {
            let real = name_of(root.as_fd());
            real.map(|real| target.real_path.strip_prefix(&real).ok().map(Path::to_owned))
        };
        let mut judged = false;
        let is_forked = self.is_forked(target);
        for (roots, protected) in [(&self.workspace, protected), (&self.others, &[])] {
            // What lies around the directory that was forked is not around the fork.
            for root in roots.iter().filter(|root| !is_forked || root.forked().is_some()) {
                let path = &target.display_path;
                let Some(relative) = is_around(&root).map_err(|errno| unnamed(path, errno))? else {
                    continue;
                };
                Protection::new(root, protected, git).check_file(path, &relative)?;
                target.root = found_in(path, root)?.0;
                target.check_git(git)?;
                judged = true;
            }
            if judged {
                break;
            }
        }
        Ok(())
    }
}

pub(crate) fn open_below(
    root: &Root,
    display_path: &str,
    last: LastLink,
) -> Result<OpenTarget, FsError> {
    let relative = root.relative(display_path)?;
    for _ in 0..MAX_ATTEMPTS {
        let opened = match open_once(root, display_path, &relative, last) {
            Err(
                open_error @ FsError {
                    kind: FsErrorKind::Escape { .. } | FsErrorKind::PathInvalid { .. },
                    ..
                },
            ) => {
                return Err(open_error);
            }
            Err(open_error) => return open_around(root, display_path, &relative, open_error),
            Ok(opened) => opened,
        };
        if let Some(target) = opened {
            return Ok(target);
        }
    }
    Err(FsError::at(display_path, "opening what is being replaced", Errno::AGAIN))
}

/// `None` if it changed meanwhile.
fn open_once(
    root: &Root,
    display_path: &str,
    relative: &Path,
    last: LastLink,
) -> Result<Option<OpenTarget>, FsError> {
    if path::split_last(relative).is_none() {
        return open_directory(root, display_path, root.open_directory(display_path)?);
    }
    let nothing = Protection::new(root, &[], GitBorder::Open);
    let entry = match last {
        LastLink::Followed => None,
        LastLink::Itself => entry_of(root, display_path, relative)?,
    };
    let found = entry.map_or_else(|| root.parent_of(display_path, relative, None, &nothing), Ok);
    let (directory, name) = match found {
        Ok(opened) => opened,
        // For example a link to the root itself, which has no name.
        Err(FsError { kind: FsErrorKind::NotAFile { kind: FileKind::Directory }, .. }) => {
            return open_directory(root, display_path, root.open_directory(display_path)?);
        }
        Err(error) => return Err(error),
    };
    let failed = |errno| FsError::at(display_path, "looking at it", errno);
    let mut link = None;
    let (kind, file, open_error) =
        match rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileKind::of(&stat) {
                None => match open::open_entry(display_path, directory.as_fd(), &name) {
                    Ok(None) => return Ok(None),
                    Ok(Some((file, stat))) => {
                        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
                        (TargetKind::File { bytes }, Some(File::from(file)), None)
                    }
                    // It may be writable and not readable.
                    Err(open_error) => {
                        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
                        (TargetKind::File { bytes }, None, Some(open_error))
                    }
                },
                Some(FileKind::Directory) => {
                    let flags = O_PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    return match rustix::fs::openat(&directory, &name, flags, Mode::empty()) {
                        Ok(opened) => open_directory(root, display_path, opened),
                        Err(_) => Ok(None),
                    };
                }
                Some(FileKind::Symlink) if last == LastLink::Itself => {
                    let Ok(text) = walk::read_link(directory.as_fd(), &name) else {
                        return Ok(None);
                    };
                    link = Some(text);
                    (TargetKind::Link, None, None)
                }
                Some(FileKind::Symlink) => return Ok(None),
                Some(kind) => {
                    let open_error = FsErrorKind::NotAFile { kind }.at(display_path);
                    (TargetKind::Missing, None, Some(open_error))
                }
            },
            Err(Errno::NOENT) => (TargetKind::Missing, None, None),
            Err(errno) => (TargetKind::Missing, None, Some(failed(errno))),
        };
    let Some(directory_path) = real_path_of(display_path, &directory)? else { return Ok(None) };
    let real_path = directory_path.join(&name);
    let parent = OpenTarget::of_directory(
        display_path,
        directory,
        directory_path,
        found_in(display_path, root)?,
    );
    Ok(Some(OpenTarget { real_path, kind, name, file, link, open_error, ..parent }))
}

/// The directory and the last name of a path, which is not followed. `None` where that is not the name of
/// an entry, or its directory is not there.
fn entry_of(
    root: &Root,
    display_path: &str,
    relative: &Path,
) -> Result<Option<(OwnedFd, OsString)>, FsError> {
    let Some(Component::Normal(name)) = relative.components().next_back() else { return Ok(None) };
    if path::asks_for_directory(relative) {
        return Ok(None);
    }
    let parent = relative.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Some(parent) = parent.unwrap_or(Path::new(".")).to_str() else { return Ok(None) };
    match root.open_directory(parent) {
        Ok(directory) => Ok(Some((directory, name.to_owned()))),
        Err(FsError { kind: kind @ FsErrorKind::Escape { .. }, .. }) => Err(kind.at(display_path)),
        // The usual way says what is wrong.
        Err(_) => Ok(None),
    }
}

fn found_in(display_path: &str, root: &Root) -> Result<(FileId, Resolver), FsError> {
    let stat = rustix::fs::fstat(root)
        .map_err(|errno| FsError::at(display_path, "looking at the root", errno))?;
    Ok((identity(&stat), root.resolver()))
}

fn open_directory(
    root: &Root,
    display_path: &str,
    directory: OwnedFd,
) -> Result<Option<OpenTarget>, FsError> {
    let Some(real_path) = real_path_of(display_path, &directory)? else { return Ok(None) };
    Ok(Some(OpenTarget::of_directory(
        display_path,
        directory,
        real_path,
        found_in(display_path, root)?,
    )))
}

/// Opens the deepest existing ancestor of a path.
fn open_around(
    root: &Root,
    display_path: &str,
    relative: &Path,
    open_error: FsError,
) -> Result<OpenTarget, FsError> {
    for ancestor in relative.ancestors().skip(1) {
        let text = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
        let Some(text) = text.to_str() else { return Err(open_error) };
        let directory = match root.open_directory(text) {
            Ok(directory) => directory,
            Err(FsError { kind: kind @ FsErrorKind::Escape { .. }, .. }) => {
                return Err(kind.at(display_path));
            }
            Err(_) => continue,
        };
        let Some(directory_path) = real_path_of(display_path, &directory)? else { continue };
        let rest = relative.strip_prefix(ancestor).unwrap_or(relative);
        let mut missing = Vec::new();
        for component in rest.components() {
            match component {
                Component::Normal(name) => missing.push(name.to_owned()),
                // `..` after a missing directory names nothing that could be created.
                Component::ParentDir => return Err(open_error),
                _ => {}
            }
        }
        let mut real_path = directory_path.clone();
        real_path.extend(&missing);
        let Some(name) = missing.pop() else { return Err(open_error) };
        // Only a missing name can be created.
        let open_error = (!matches!(open_error.kind, FsErrorKind::NotFound)
            || path::asks_for_directory(relative))
        .then_some(open_error);
        let kind = TargetKind::Missing;
        let deepest = OpenTarget::of_directory(
            display_path,
            directory,
            directory_path,
            found_in(display_path, root)?,
        );
        return Ok(OpenTarget { real_path, kind, missing, name, open_error, ..deepest });
    }
    Err(open_error)
}
