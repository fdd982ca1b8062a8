//! The walk: the files below a directory that are to be searched, in path order.
//!
//! Directories are listed through the descriptor that the opener returns, so the walk stays inside
//! the root however the tree changes under it. It is serial and lazy: a search that is full after
//! the first file has listed one directory. A parallel walk belongs here, and has to hand the files
//! out in the same order.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    vec,
};

use rustix::fs::{AtFlags, Dir, FileType, statat};

use crate::{
    grep::OpenFile,
    ignores::{Ignores, Present},
    watch::{Stopped, Watch},
};

/// In a listing the watch is asked once for so many names.
const NAMES_PER_CHECK: usize = 1024;

/// What the walk met. Paths are relative to the root.
pub(crate) enum Met {
    File(PathBuf),
    /// Something that could not be listed.
    Unreadable(PathBuf, io::Error),
}

pub(crate) struct Walk<'a> {
    root: &'a Path,
    open: &'a OpenFile<'a>,
    watch: Watch<'a>,
    ignores: Ignores<'a>,
    /// The directories from the start to the one at hand.
    levels: Vec<Level>,
}

struct Level {
    dir: PathBuf,
    entries: vec::IntoIter<Entry>,
}

struct Entry {
    name: OsString,
    is_dir: bool,
}

/// The names of a directory that a search can go on with.
#[derive(Default)]
struct Listing {
    entries: Vec<Entry>,
    present: Present,
}

impl Listing {
    /// Links are not followed and special files not read, but any name can be an ignore file.
    fn add(&mut self, name: OsString, kind: FileType) {
        self.present.note(&name);
        if matches!(kind, FileType::RegularFile | FileType::Directory) {
            self.entries.push(Entry { name, is_dir: kind == FileType::Directory });
        }
    }
}

enum ListError {
    Stopped(Stopped),
    Failed(io::Error),
}

impl From<io::Error> for ListError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl<'a> Walk<'a> {
    /// A walk of `start`. The inner error is that of the start directory itself.
    pub(crate) fn new(
        root: &'a Path,
        start: &Path,
        open: &'a OpenFile<'a>,
        watch: Watch<'a>,
    ) -> Result<io::Result<Self>, Stopped> {
        let ignores = Ignores::new(root, start, open);
        let mut walk = Self { root, open, watch, ignores, levels: Vec::new() };
        Ok(walk.enter(start.to_owned())?.map(|()| walk))
    }

    /// The next file, `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Met>, Stopped> {
        while let Some(level) = self.levels.last_mut() {
            self.watch.check()?;
            let Some(entry) = level.entries.next() else {
                self.levels.pop();
                self.ignores.pop();
                continue;
            };
            let path = level.dir.join(&entry.name);
            if self.ignores.skips(&path, entry.is_dir) {
                continue;
            }
            if !entry.is_dir {
                return Ok(Some(Met::File(path)));
            }
            match self.enter(path.clone())? {
                Ok(()) => {}
                Err(error) if has_moved(&error) => {}
                Err(error) => return Ok(Some(Met::Unreadable(path, error))),
            }
        }
        Ok(None)
    }

    fn enter(&mut self, dir: PathBuf) -> Result<io::Result<()>, Stopped> {
        let mut listing = match self.list(&dir) {
            Ok(listing) => listing,
            Err(ListError::Stopped(stopped)) => return Err(stopped),
            Err(ListError::Failed(error)) => return Ok(Err(error)),
        };
        listing.entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        self.ignores.push(&dir, listing.present);
        self.levels.push(Level { dir, entries: listing.entries.into_iter() });
        Ok(Ok(()))
    }

    fn list(&self, dir: &Path) -> Result<Listing, ListError> {
        let is_root = dir.as_os_str().is_empty();
        match (self.open)(if is_root { Path::new(".") } else { dir }) {
            Ok(file) => self.list_open(file),
            // An opener for files only; the caller has resolved the root, and it is not a name
            // below itself. Nothing else is ever listed by its path.
            Err(_) if is_root => self.list_root(),
            Err(error) => Err(error.into()),
        }
    }

    fn list_open(&self, file: File) -> Result<Listing, ListError> {
        let mut listing = Listing::default();
        // A second descriptor for `statat`, needed only where the file system gives no types.
        let handle = file.try_clone()?;
        for (count, entry) in Dir::new(file).map_err(io::Error::from)?.enumerate() {
            if count % NAMES_PER_CHECK == 0 {
                self.watch.check().map_err(ListError::Stopped)?;
            }
            let entry = entry.map_err(io::Error::from)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            listing.add(OsString::from_vec(name.to_bytes().to_vec()), kind);
        }
        Ok(listing)
    }

    fn list_root(&self) -> Result<Listing, ListError> {
        let mut listing = Listing::default();
        for (count, entry) in fs::read_dir(self.root)?.enumerate() {
            if count % NAMES_PER_CHECK == 0 {
                self.watch.check().map_err(ListError::Stopped)?;
            }
            let entry = entry?;
            let kind = entry.file_type().map_or(FileType::Unknown, |kind| {
                if kind.is_dir() {
                    FileType::Directory
                } else if kind.is_file() {
                    FileType::RegularFile
                } else {
                    FileType::Unknown
                }
            });
            listing.add(entry.file_name(), kind);
        }
        Ok(listing)
    }
}

/// Whether an error says that the entry is no longer what the listing said: deleted, replaced, or
/// turned into a link that the opener refuses. Then there is nothing to search here, and its name
/// is not worth a line.
pub(crate) fn has_moved(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let Some(errno) = Errno::from_io_error(error) else {
        return error.kind() == io::ErrorKind::NotFound;
    };
    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::XDEV, Errno::ISDIR, Errno::NXIO]
        .contains(&errno)
}

/// `path` as it is printed: the start is called `display`.
pub(crate) fn displayed(path: &Path, start: &Path, display: &Path) -> PathBuf {
    match path.strip_prefix(start) {
        Ok(rest) if rest.as_os_str().is_empty() => display.to_owned(),
        Ok(rest) => display.join(rest),
        Err(_) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn display_replaces_the_start() {
        let shown =
            |path, start, display| displayed(Path::new(path), Path::new(start), Path::new(display));
        assert_eq!(shown("a/b", "", ""), Path::new("a/b"));
        assert_eq!(shown("real/b", "real", "link"), Path::new("link/b"));
        assert_eq!(shown("real", "real", "link").as_os_str().as_bytes(), b"link");
    }
}
