//! What a fork has changed, found in its changes alone.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use toolwright_changes::{ChangeKind, EntryKind};
use toolwright_git::name::is_git_directory_name;
use toolwright_sandbox::plan::PLACEHOLDER_TIME;

use crate::git_directory::is_git_directory;
use crate::manifest::Manifest;
use crate::tree;

/// The bits of a mode that are compared and applied.
pub(crate) const PERMISSIONS: u32 = 0o777;

/// Why a change cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// The base has changed it since the fork was made.
    Changed,
    /// The base has made something there since.
    Created,
    /// The base has deleted it since.
    Deleted,
    /// A file has become a directory, or the other way round.
    Kind,
    /// Its name is not UTF-8.
    Name,
}

/// What one side has at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// Its permissions.
    pub mode: u32,
    /// Its length in bytes.
    pub bytes: u64,
}

/// A path that differs from the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path, relative to the base.
    pub path: PathBuf,
    /// What happened.
    pub kind: ChangeKind,
    /// What it is.
    pub entry: EntryKind,
    /// What the base has there.
    pub base: Option<Side>,
    /// What the fork has there.
    pub fork: Option<Side>,
    /// Why it cannot be applied.
    pub conflict: Option<Conflict>,
    /// Whether it is applied only if it is named: programs of the person's obey what lies there.
    pub is_protected: bool,
    /// Whether both sides have changed the text, at different lines, and `fork` is what comes of both.
    pub is_merged: bool,
}

/// Why something that differs is no change that can be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutReason {
    /// It belongs to a git directory.
    Git,
    /// It is a pipe, a socket or a device.
    Special,
    /// It cannot be read.
    Unreadable,
    /// Programs of the person's obey what lies there, and nobody has named it.
    Protected,
}

impl LeftOutReason {
    /// Its name in what callers get.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Special => "special",
            Self::Unreadable => "unreadable",
            Self::Protected => "protected",
        }
    }
}

/// Something that differs and is not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The path, relative to the base.
    pub path: PathBuf,
    /// Why not.
    pub reason: LeftOutReason,
}

/// What a fork has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The paths that differ, in their order.
    pub changes: Vec<Change>,
    /// What differs and is not applied.
    pub left_out: Vec<LeftOut>,
    /// How many bytes the files of the fork have that it has changed.
    pub bytes: u64,
}

impl Changes {
    /// Compares the changes of a fork with the base as it is now. `manifest` says what that was.
    pub(crate) fn find(
        upper: BorrowedFd<'_>,
        base: BorrowedFd<'_>,
        (manifest, protected): (&Manifest, &[PathBuf]),
    ) -> Result<Self, (PathBuf, Errno)> {
        let mut walk = Walk { manifest, protected, found: Self::default() };
        walk.directory(upper, (Some(base), false), Path::new(""))?;
        let mut found = walk.found;
        found.changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }
}

struct Walk<'a> {
    manifest: &'a Manifest,
    protected: &'a [PathBuf],
    found: Changes,
}

type Walked = Result<(), (PathBuf, Errno)>;

impl Walk<'_> {
    /// Walks a directory of the changes. `base` is the one at the same path, if there is one. Where the fork has replaced
    /// that directory or one above it, nothing of it is seen in the fork.
    fn directory(
        &mut self,
        upper: BorrowedFd<'_>,
        (base, is_replaced): (Option<BorrowedFd<'_>>, bool),
        path: &Path,
    ) -> Walked {
        let at = |errno| (path.to_owned(), errno);
        let is_replaced = is_replaced || tree::is_opaque(upper);
        let names = tree::names(upper).map_err(at)?;
        if !path.as_os_str().is_empty() && is_git_directory(&names, base).map_err(at)? {
            self.leave_out(path.to_owned(), LeftOutReason::Git);
            return Ok(());
        }
        for name in &names {
            let below = path.join(name);
            if is_git_directory_name(name.as_bytes()) {
                self.leave_out(below, LeftOutReason::Git);
                continue;
            }
            let Some(stat) = tree::look(upper, name).map_err(at)? else { continue };
            let was = match base {
                Some(base) => tree::look(base, name).map_err(at)?,
                None => None,
            };
            self.entry((upper, stat), (base, was, is_replaced), name, below)?;
        }
        if let Some(base) = base
            && is_replaced
        {
            for name in tree::names(base).map_err(at)? {
                if names.binary_search(&name).is_err()
                    && let Some(was) = tree::look(base, &name).map_err(at)?
                {
                    self.deleted(base, was, &name, path.join(&name))?;
                }
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        (upper, stat): (BorrowedFd<'_>, Stat),
        (base, was, is_replaced): (Option<BorrowedFd<'_>>, Option<Stat>, bool),
        name: &OsStr,
        path: PathBuf,
    ) -> Walked {
        if tree::is_whiteout(&stat) {
            return match (base, was) {
                (Some(base), Some(was)) => self.deleted(base, was, name, path),
                // Both have deleted it.
                _ => Ok(()),
            };
        }
        let was_directory = was.as_ref().map(|was| tree::kind(was) == FileType::Directory);
        match tree::kind(&stat) {
            FileType::Directory => {
                let Ok(directory) = tree::directory(upper, name) else {
                    self.leave_out(path, LeftOutReason::Unreadable);
                    return Ok(());
                };
                match (base, was_directory) {
                    (Some(base), Some(true)) => {
                        if let Ok(base) = tree::directory(base, name) {
                            let base = Some(base.as_fd());
                            return self.directory(directory.as_fd(), (base, is_replaced), &path);
                        }
                        self.leave_out(path, LeftOutReason::Unreadable);
                        Ok(())
                    }
                    (_, Some(_)) => {
                        let conflict = Some(Conflict::Kind);
                        self.push(path, EntryKind::Directory, was.as_ref(), Some(&stat), conflict);
                        Ok(())
                    }
                    (_, None) => {
                        let before = self.found.changes.len() + self.found.left_out.len();
                        self.directory(directory.as_fd(), (None, is_replaced), &path)?;
                        if self.found.changes.len() + self.found.left_out.len() == before {
                            self.push(path, EntryKind::Directory, None, Some(&stat), None);
                        }
                        Ok(())
                    }
                }
            }
            FileType::RegularFile | FileType::Symlink => {
                let is_link = tree::kind(&stat) == FileType::Symlink;
                // One that stands for an absent path while commands run, and whose supervisor was killed.
                if !is_link && stat.st_size == 0 && stat.st_mtime == PLACEHOLDER_TIME {
                    return Ok(());
                }
                if !is_link {
                    self.found.bytes += u64::try_from(stat.st_size).unwrap_or_default();
                }
                if let (Some(base), Some(was)) = (base, was.as_ref()) {
                    match is_same((upper, &stat), (base, was), name) {
                        Ok(true) => return Ok(()),
                        Ok(false) => {}
                        Err(_) => {
                            self.leave_out(path, LeftOutReason::Unreadable);
                            return Ok(());
                        }
                    }
                }
                let conflict = match (&was, was_directory) {
                    (_, Some(true)) => Some(Conflict::Kind),
                    (Some(was), _) if !is_plain(was) => Some(Conflict::Kind),
                    (was, _) => self.conflict(&path, was.as_ref()),
                };
                let entry = if is_link { EntryKind::Link } else { EntryKind::File };
                self.push(path, entry, was.as_ref(), Some(&stat), conflict);
                Ok(())
            }
            _ => {
                self.leave_out(path, LeftOutReason::Special);
                Ok(())
            }
        }
    }

    /// Something of the base that the fork has deleted, with everything in it.
    fn deleted(&mut self, base: BorrowedFd<'_>, was: Stat, name: &OsStr, path: PathBuf) -> Walked {
        if is_git_directory_name(name.as_bytes()) {
            self.leave_out(path, LeftOutReason::Git);
            return Ok(());
        }
        match tree::kind(&was) {
            FileType::Directory => {
                let Ok(directory) = tree::directory(base, name) else {
                    self.leave_out(path, LeftOutReason::Unreadable);
                    return Ok(());
                };
                let at = |errno| (path.clone(), errno);
                if is_git_directory(&[], Some(directory.as_fd())).map_err(at)? {
                    self.leave_out(path, LeftOutReason::Git);
                    return Ok(());
                }
                let before = self.found.left_out.len();
                for name in tree::names(&directory).map_err(at)? {
                    if let Some(was) = tree::look(&directory, &name).map_err(at)? {
                        self.deleted(directory.as_fd(), was, &name, path.join(&name))?;
                    }
                }
                // It stays around what stays in it.
                if self.found.left_out.len() == before {
                    let conflict = self.conflict(&path, Some(&was));
                    self.push(path, EntryKind::Directory, Some(&was), None, conflict);
                }
            }
            FileType::RegularFile | FileType::Symlink => {
                let is_link = tree::kind(&was) == FileType::Symlink;
                let entry = if is_link { EntryKind::Link } else { EntryKind::File };
                let conflict = self.conflict(&path, Some(&was));
                self.push(path, entry, Some(&was), None, conflict);
            }
            _ => self.leave_out(path, LeftOutReason::Special),
        }
        Ok(())
    }

    /// What the base has done at a path since the fork was made.
    fn conflict(&self, path: &Path, now: Option<&Stat>) -> Option<Conflict> {
        if self.manifest.is_as_it_was(path, now) {
            return None;
        }
        Some(match (self.manifest.get(path), now) {
            (_, None) => Conflict::Deleted,
            (None, Some(_)) => Conflict::Created,
            (Some(_), Some(_)) => Conflict::Changed,
        })
    }

    fn push(
        &mut self,
        path: PathBuf,
        entry: EntryKind,
        base: Option<&Stat>,
        fork: Option<&Stat>,
        conflict: Option<Conflict>,
    ) {
        let kind = match (base, fork) {
            (None, _) => ChangeKind::Created,
            (_, None) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        let conflict = if path.to_str().is_none() { Some(Conflict::Name) } else { conflict };
        let (base, fork) = (base.map(side), fork.map(side));
        let is_protected = self.protected.iter().any(|protected| path.starts_with(protected));
        let is_merged = false;
        let change = Change { path, kind, entry, base, fork, conflict, is_protected, is_merged };
        self.found.changes.push(change);
    }

    fn leave_out(&mut self, path: PathBuf, reason: LeftOutReason) {
        self.found.left_out.push(LeftOut { path, reason });
    }
}

fn side(stat: &Stat) -> Side {
    let bytes = u64::try_from(stat.st_size).unwrap_or_default();
    Side { mode: stat.st_mode & PERMISSIONS, bytes }
}

fn is_plain(stat: &Stat) -> bool {
    matches!(tree::kind(stat), FileType::RegularFile | FileType::Symlink)
}

/// Whether both sides have the same file or the same link.
fn is_same(
    (upper, stat): (BorrowedFd<'_>, &Stat),
    (base, was): (BorrowedFd<'_>, &Stat),
    name: &OsStr,
) -> io::Result<bool> {
    if tree::kind(stat) != tree::kind(was) || stat.st_size != was.st_size {
        return Ok(false);
    }
    if tree::kind(stat) == FileType::Symlink {
        return Ok(tree::link(upper, name)? == tree::link(base, name)?);
    }
    Ok(stat.st_mode & PERMISSIONS == was.st_mode & PERMISSIONS
        && tree::is_same_file(tree::file(upper, name)?, tree::file(base, name)?)?)
}
