//! Opens directories by their paths below the root, without links, at a cost that does not grow with their depth.
//!
//! Every way begins at the root, so a directory that was exchanged meanwhile is not used. Beyond [`STRIDE`] levels
//! that would make a restoration quadratic in the depth of the tree. So on the way to a deep directory, some
//! descriptors are kept, and the next way begins at the last one that both have in common.

#![expect(
    clippy::disallowed_methods,
    reason = "each name is opened in the directory before it, with O_NOFOLLOW, as a directory"
)]

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::Mode;
use rustix::io::Errno;
use toolwright_fs::is_git_directory;

use crate::plan::is_at_or_below;
use crate::walk::DIRECTORY;

/// So many levels lie between two directories that are kept.
const STRIDE: usize = 32;

/// The most directories that are kept.
const MAX_KEPT: usize = 256;

/// A directory that is kept, at the first `length` bytes of the way.
#[derive(Debug)]
struct Kept {
    length: usize,
    directory: Arc<OwnedFd>,
    is_in_git: bool,
}

impl Kept {
    fn is_removed(&self) -> bool {
        rustix::fs::fstat(&self.directory).is_ok_and(|stat| stat.st_nlink == 0)
    }
}

/// The way from the root to the directory that was opened last.
#[derive(Debug)]
pub(crate) struct Descent<'a> {
    root: BorrowedFd<'a>,
    way: RefCell<(Vec<u8>, Vec<Kept>)>,
    /// How many directories were opened.
    pub(crate) opened: Cell<u64>,
}

/// A directory that was reached.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) directory: Arc<OwnedFd>,
    /// It is one that git takes for its own, or lies in one.
    pub(crate) is_in_git: bool,
}

impl AsFd for Reached {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl<'a> Descent<'a> {
    pub(crate) fn new(root: BorrowedFd<'a>) -> Self {
        Self { root, way: RefCell::default(), opened: Cell::new(0) }
    }

    /// Opens a directory; `None` if it is gone.
    pub(crate) fn open(&self, path: &[u8]) -> Result<Option<Reached>, Errno> {
        let (reached, length) = self.go(path)?;
        Ok((length == path.len()).then_some(reached))
    }

    /// The innermost directory on the way to `path` that is there.
    pub(crate) fn nearest<'p>(&self, path: &'p [u8]) -> Result<&'p [u8], Errno> {
        let (_, length) = self.go(path)?;
        Ok(&path[..length])
    }

    /// Forgets a directory that goes or comes, and what is below it.
    pub(crate) fn forget(&self, path: &[u8]) {
        let (way, kept) = &mut *self.way.borrow_mut();
        kept.truncate(kept.partition_point(|one| !is_at_or_below(&way[..one.length], path)));
    }

    /// Goes as far as there are directories. Gives the last one, and how much of the path leads there.
    fn go(&self, path: &[u8]) -> Result<(Reached, usize), Errno> {
        let (way, kept) = &mut *self.way.borrow_mut();
        kept.truncate(kept.partition_point(|one| is_at_or_below(path, &way[..one.length])));
        // A directory without a name was removed, and another may have its place.
        while kept.last().is_some_and(Kept::is_removed) {
            kept.pop();
        }
        way.clear();
        way.extend_from_slice(path);
        let (mut directory, mut is_in_git, mut length) = if let Some(one) = kept.last() {
            (Arc::clone(&one.directory), one.is_in_git, one.length)
        } else {
            let root = rustix::fs::openat(self.root, ".", DIRECTORY, Mode::empty())?;
            let is_in_git = is_gits(&root)?;
            (Arc::new(root), is_in_git, 0)
        };
        let mut levels = 0;
        while length < path.len() {
            let start = length + usize::from(length > 0);
            let rest = &path[start..];
            let end =
                rest.iter().position(|byte| *byte == b'/').map_or(path.len(), |at| start + at);
            let name = OsStr::from_bytes(&path[start..end]);
            self.opened.set(self.opened.get() + 1);
            directory = match rustix::fs::openat(&directory, name, DIRECTORY, Mode::empty()) {
                Ok(next) => Arc::new(next),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => break,
                Err(errno) => return Err(errno),
            };
            is_in_git = is_in_git || is_gits(&directory)?;
            length = end;
            levels += 1;
            if levels % STRIDE == 0 && kept.len() < MAX_KEPT {
                kept.push(Kept { length, directory: Arc::clone(&directory), is_in_git });
            }
        }
        Ok((Reached { directory, is_in_git }, length))
    }
}

/// A directory that this process may not search is not judged: it can change nothing there.
fn is_gits(directory: &OwnedFd) -> Result<bool, Errno> {
    match is_git_directory(directory) {
        Err(Errno::ACCESS) => Ok(false),
        judged => judged,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use rustix::fs::{AtFlags, OFlags};

    use super::*;

    const DEPTH: usize = 2000;

    /// The path of the directory so deep.
    fn path(depth: usize) -> Vec<u8> {
        vec!["d"; depth].join("/").into_bytes()
    }

    fn tree(depth: usize) -> (tempfile::TempDir, OwnedFd) {
        let top = tempfile::tempdir().unwrap();
        let root: OwnedFd = std::fs::File::open(top.path()).unwrap().into();
        let mut here = root.try_clone().unwrap();
        for _ in 0..depth {
            rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            here = rustix::fs::openat(&here, "d", flags, Mode::empty()).unwrap();
        }
        (top, root)
    }

    fn remove(top: &tempfile::TempDir) {
        toolwright_fs::remove_tree(&top.path().join("d"), None).unwrap();
    }

    #[test]
    fn the_cost_of_a_directory_does_not_grow_with_its_depth() {
        let (top, root) = tree(DEPTH);
        let descent = Descent::new(root.as_fd());
        let down = 0..=DEPTH;
        // Down, up, and at random places that are near each other, as a restoration has them.
        for depth in down.clone().chain(down.clone().rev()).chain(down.map(|at| at ^ 7)) {
            let path = path(depth.min(DEPTH));
            assert!(descent.open(&path).unwrap().is_some(), "{depth}");
        }
        let each = descent.opened.get() / (3 * DEPTH as u64);
        assert!(each <= STRIDE as u64, "{each} directories were opened for each");
        let missing = [&path(DEPTH), &b"/x/y"[..]].concat();
        assert!(descent.open(&missing).unwrap().is_none());
        assert_eq!(descent.nearest(&missing).unwrap(), path(DEPTH));
        remove(&top);
    }

    #[test]
    fn what_was_removed_or_forgotten_is_not_used() {
        let (top, root) = tree(STRIDE + 1);
        let descent = Descent::new(root.as_fd());
        let at = |depth: usize| descent.open(&path(depth)).unwrap();
        let first = at(STRIDE + 1).unwrap();
        remove(&top);
        assert!(at(STRIDE + 1).is_none());
        let mut here = root.try_clone().unwrap();
        for _ in 0..=STRIDE {
            rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
            here = rustix::fs::openat(&here, "d", DIRECTORY, Mode::empty()).unwrap();
        }
        let inode = |file: &dyn AsFd| rustix::fs::fstat(file.as_fd()).unwrap().st_ino;
        assert_eq!(inode(&at(STRIDE + 1).unwrap()), inode(&here));
        drop(first);
        // A directory that was renamed, and of which this is known.
        rustix::fs::renameat(&root, "d", &root, "e").unwrap();
        descent.forget(b"d");
        assert!(at(STRIDE + 1).is_none());
        rustix::fs::renameat(&root, "e", &root, "d").unwrap();
        remove(&top);
    }

    #[test]
    fn what_lies_in_a_directory_of_git_is_known() {
        let (top, root) = tree(STRIDE * 3);
        let at: std::path::PathBuf = vec!["d"; STRIDE + 2].iter().collect();
        for name in ["HEAD", "commondir"] {
            std::fs::write(top.path().join(&at).join(name), "").unwrap();
        }
        let descent = Descent::new(root.as_fd());
        let is_in_git = |depth: usize| descent.open(&path(depth)).unwrap().unwrap().is_in_git;
        for _ in 0..2 {
            assert!(!is_in_git(0) && !is_in_git(STRIDE + 1));
            assert!(is_in_git(STRIDE + 2) && is_in_git(STRIDE * 3));
        }
        rustix::fs::unlinkat(&root, at.join("HEAD"), AtFlags::empty()).unwrap();
        remove(&top);
    }
}
