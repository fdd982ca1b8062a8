//! Whether a call has touched something in a directory that is ignored.
//!
//! What is in such a directory is unknown, so nobody can say what is gone from it. Its times tell that something may
//! be: a directory has the time of the last name that came or went, and a file that of its last change.

#![expect(
    clippy::disallowed_methods,
    reason = "each name is opened in the directory before it, with O_NOFOLLOW, as a directory"
)]

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, FileType, Mode};

use crate::descent::Descent;
use crate::look::Look;
use crate::unkept::birth;
use crate::walk::{DIRECTORY, Names};

/// Beyond this many entries a directory counts as touched: nobody has looked.
const MAX_ENTRIES: usize = 100_000;
/// Packages that were installed, and can be again. Programs write notes of their own among them all the time.
const INSTALLED: &[u8] = b"node_modules";

/// Whether something older than `since` may have been changed or removed below one of these paths since then.
pub(crate) fn is_touched<'a>(
    root: BorrowedFd<'_>,
    mut paths: impl Iterator<Item = &'a [u8]>,
    since: i64,
) -> bool {
    let descent = Descent::new(root);
    let mut look = Search { since, left: MAX_ENTRIES };
    paths.any(|path| {
        if path.rsplit(|byte| *byte == b'/').next() == Some(INSTALLED) {
            return false;
        }
        let (above, name) = crate::restore::split(path);
        match descent.open(above) {
            Ok(Some(above)) => look.directory(&above.directory, name),
            _ => true,
        }
    })
}

struct Search {
    since: i64,
    left: usize,
}

impl Search {
    fn directory(&mut self, above: &OwnedFd, name: &OsStr) -> bool {
        let is_new =
            |directory: &OwnedFd| birth(directory, b".").is_some_and(|born| born >= self.since);
        let Ok(here) = rustix::fs::openat(above, name, DIRECTORY, Mode::empty()) else {
            return true;
        };
        if is_new(&here) {
            // Nothing was in it before.
            return false;
        }
        let mut names = Names::default();
        let Ok(stat) = rustix::fs::fstat(&here) else { return true };
        if Look::of(&stat).mtime >= self.since || names.read(&here).is_err() {
            return true;
        }
        names.iter().any(|(name, kind)| {
            let Some(left) = self.left.checked_sub(1) else { return true };
            self.left = left;
            if name == INSTALLED {
                return false;
            }
            let name = OsStr::from_bytes(name);
            if kind == FileType::Directory {
                return self.directory(&here, name);
            }
            match rustix::fs::statat(&here, name, AtFlags::SYMLINK_NOFOLLOW)
                .map(|stat| Look::of(&stat))
            {
                Ok(look) if look.kind == FileType::Directory => self.directory(&here, name),
                Ok(look) => look.ctime >= self.since,
                Err(_) => true,
            }
        })
    }
}
