//! Opening a path below a directory without following a link.
//!
//! `openat2` does it in one call. Kernels before 5.6 do not have it, filters of containers refuse it, and
//! other systems have nothing like it. There, each directory is opened by its name in the one before it.

#![expect(clippy::disallowed_methods, reason = "this is the way to open")]

use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, openat};
#[cfg(target_os = "linux")]
use rustix::fs::{ResolveFlags, openat2};
use rustix::io::Errno;

#[cfg(target_os = "linux")]
pub(super) const THROUGH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(super) const THROUGH: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

/// Opens a path below a directory. It is relative and has no `..`.
pub(super) fn open_below(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !path.components().all(is_plain) {
        return Err(Errno::XDEV);
    }
    #[cfg(target_os = "linux")]
    {
        let below = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(directory, path, flags, Mode::empty(), below) {
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    step_by_step(directory, path, flags)
}

/// Opens a path from the root or the current directory on.
pub(super) fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    {
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    step_by_step(CWD, path, flags)
}

pub(super) fn step_by_step(
    directory: BorrowedFd<'_>,
    path: &Path,
    mut flags: OFlags,
) -> Result<OwnedFd, Errno> {
    if path.as_os_str().is_empty() {
        return Err(Errno::NOENT);
    }
    // The iterator drops a slash or dot at the end, and with it that a directory is meant.
    let bytes = path.as_os_str().as_bytes();
    if bytes.ends_with(b"/") || bytes.ends_with(b"/.") || bytes == b"." {
        flags |= OFlags::DIRECTORY;
    }
    let mut parts = path.components().peekable();
    let mut above: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let flags = if is_last {
            flags
        } else {
            THROUGH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
        };
        let here = above.as_ref().map_or(directory, std::os::fd::AsFd::as_fd);
        let opened = openat(here, part.as_os_str(), flags, Mode::empty())?;
        if is_last {
            return Ok(opened);
        }
        above = Some(opened);
    }
    Err(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;
    use std::os::unix::fs::{MetadataExt, symlink};

    use proptest::prelude::*;

    use super::*;
    use crate::directory::{DIRECTORY, FILE};

    fn identity(opened: Result<OwnedFd, Errno>) -> Result<(u64, u64), bool> {
        match opened {
            Ok(opened) => {
                let found = fs::File::from(opened).metadata().expect("there");
                Ok((found.dev(), found.ino()))
            }
            // A missing entry is told from an entry of another kind.
            Err(errno) => Err(errno == Errno::NOENT),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        /// Where there is no `openat2`, the same paths lead to the same files.
        #[test]
        fn both_ways_lead_to_the_same_file(
            made in prop::collection::vec(("[ab](/[ab]){0,3}", 0..3_u8, "[ab.](/[ab.]){0,2}"), 0..8),
            asked in prop::collection::vec("(\\./)?[ab](/[ab.]){0,3}/?", 16),
        ) {
            let tree = tempfile::tempdir().expect("made");
            for (path, kind, target) in made {
                let path = tree.path().join(path);
                let _ = path.parent().map(fs::create_dir_all);
                let _ = match kind {
                    0 => fs::create_dir(&path),
                    1 => fs::write(&path, "x"),
                    _ => symlink(&target, &path),
                };
            }
            let directory = fs::File::open(tree.path()).expect("opened");
            for path in &asked {
                for flags in [FILE, DIRECTORY] {
                    let path = Path::new(path);
                    let one = identity(open_below(directory.as_fd(), path, flags));
                    let other = identity(step_by_step(directory.as_fd(), path, flags));
                    prop_assert_eq!(one, other, "{:?} {:?}", path, flags);
                }
            }
        }
    }

    #[test]
    fn a_whole_path_is_opened_step_by_step_too() {
        let tree = tempfile::tempdir().expect("made");
        let path = tree.path().canonicalize().expect("real");
        fs::create_dir_all(path.join("a/b")).expect("made");
        symlink("a", path.join("link")).expect("made");
        for below in ["a/b", "a/../a/b", "a/b/", "."] {
            let path = path.join(below);
            let expected = identity(open(&path, DIRECTORY));
            assert!(expected.is_ok());
            assert_eq!(identity(step_by_step(CWD, &path, DIRECTORY)), expected, "{below}");
        }
        for below in ["link", "link/b", "none"] {
            let path = path.join(below);
            let expected = identity(open(&path, DIRECTORY));
            assert!(expected.is_err());
            assert_eq!(identity(step_by_step(CWD, &path, DIRECTORY)), expected, "{below}");
        }
    }
}
