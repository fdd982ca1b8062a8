//! Lists a directory, some levels deep, with the sizes of its entries.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Dir, Stat};
use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::entry::open_directory;
use crate::{FileKind, FsError, Root, reserved};

/// How a directory is listed.
#[derive(Debug, Clone, Copy)]
pub struct ListOptions {
    /// How many levels.
    pub depth: usize,
    /// The most entries.
    pub max_entries: usize,
    /// Names that are left out, with everything below them.
    pub leaves_out: fn(&OsStr) -> bool,
}

/// A file or a directory, with the entries of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// True for a directory.
    pub is_directory: bool,
    /// Its size in bytes, as the file system counts it.
    pub bytes: u64,
    /// The entries. A directory comes before its own entries, and names are in the order of their
    /// UTF-16 code units.
    pub entries: Vec<Listed>,
    /// There are more entries than were asked for.
    pub is_cut: bool,
}

/// An entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its path from the listed directory.
    pub path: String,
    /// True for a directory, false for a regular file.
    pub is_directory: bool,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Lists the directory at `path`; of a file only its size. A link counts as what it leads to, if that is
/// below the root. Anything but files and directories is left out.
pub fn list(
    root: &Root,
    path: &str,
    options: ListOptions,
    cancel: &AtomicBool,
) -> Result<Listing, FsError> {
    checkpoint(cancel)?;
    let location = root.locate(path)?;
    let failed = |errno| FsError::at(path, "listing", errno);
    let stat = rustix::fs::fstat(&location.descriptor).map_err(failed)?;
    let is_directory = location.is_directory;
    let mut listing =
        Listing { is_directory, bytes: size(&stat), entries: Vec::new(), is_cut: false };
    if is_directory {
        let directory = open_directory(location.descriptor.as_fd(), ".").map_err(failed)?;
        let mut lister = Lister { root, options, cancel, listing: &mut listing };
        lister.directory(&directory, &location.relative, "", 1)?.map_err(failed)?;
    }
    Ok(listing)
}

struct Lister<'a> {
    root: &'a Root,
    options: ListOptions,
    cancel: &'a AtomicBool,
    listing: &'a mut Listing,
}

impl Lister<'_> {
    /// `place` is the directory's path from the root, `display_path` that from the listed directory.
    fn directory(
        &mut self,
        directory: &OwnedFd,
        place: &Path,
        display_path: &str,
        level: usize,
    ) -> Result<Result<(), Errno>, FsError> {
        let names = match self.names(directory) {
            Ok(names) => names,
            Err(errno) => return Ok(Err(errno)),
        };
        for name in names {
            checkpoint(self.cancel)?;
            let name = OsStr::from_bytes(name.to_bytes());
            let Some((stat, opened)) = self.look(directory, place, name) else { continue };
            if self.listing.entries.len() >= self.options.max_entries {
                self.listing.is_cut = true;
                break;
            }
            let is_directory = FileKind::of(&stat) == Some(FileKind::Directory);
            let path = format!("{display_path}{}", name.to_string_lossy());
            let inner = format!("{path}/");
            self.listing.entries.push(Listed { path, is_directory, bytes: size(&stat) });
            if is_directory && level < self.options.depth {
                let opened = match opened {
                    Some(target) => open_directory(target.as_fd(), "."),
                    None => open_directory(directory.as_fd(), name),
                };
                // One that cannot be listed is shown without its entries.
                if let Ok(opened) = opened {
                    let _ = self.directory(&opened, &place.join(name), &inner, level + 1)?;
                }
            }
        }
        Ok(Ok(()))
    }

    /// The names in a directory, in order.
    fn names(&mut self, directory: &OwnedFd) -> Result<Vec<Box<CStr>>, Errno> {
        let mut names: Vec<Box<CStr>> = Vec::new();
        let mut listing = Dir::read_from(directory)?;
        while let Some(entry) = listing.read() {
            let entry = entry?;
            let name = entry.file_name();
            let is_own = matches!(name.to_bytes(), b"." | b"..");
            if !is_own && !(self.options.leaves_out)(OsStr::from_bytes(name.to_bytes())) {
                names.push(name.into());
            }
        }
        let key = |name: &CStr| name.to_string_lossy().encode_utf16().collect::<Vec<_>>();
        names.sort_by_cached_key(|name| key(name));
        Ok(names)
    }

    /// The status of an entry, and for a link what it leads to. `None` for what is left out.
    fn look(
        &self,
        directory: &OwnedFd,
        place: &Path,
        name: &OsStr,
    ) -> Option<(Stat, Option<OwnedFd>)> {
        let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if reserved::is_reserved(&stat) {
            return None;
        }
        match FileKind::of(&stat) {
            None | Some(FileKind::Directory) => Some((stat, None)),
            Some(FileKind::Symlink) => {
                let path: PathBuf = place.join(name);
                let target = self.root.locate(path.to_str()?).ok()?.descriptor;
                let stat = rustix::fs::fstat(&target).ok()?;
                (!reserved::is_reserved(&stat)).then_some((stat, Some(target)))
            }
            Some(_) => None,
        }
    }
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
