//! What is in a directory, listed through the descriptor that the opener returns, so a walk stays
//! inside the root however the tree changes under it.

use std::ffi::{CStr, OsStr};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, statat};

use crate::grep::OpenFile;
use crate::rules::Present;
use crate::watch::{Stopped, Watch};

/// In a listing the watch is asked once for so many names.
const NAMES_PER_CHECK: usize = 1024;

/// The names of a directory that a search can go on with, in order: links are not followed and
/// special files not read, but any name can be an ignore file.
pub(crate) struct Listing {
    dir: PathBuf,
    /// All names one after the other: a large directory is one allocation and not a million.
    names: Vec<u8>,
    entries: Vec<Entry>,
    pub(crate) present: Present,
}

struct Entry {
    start: usize,
    len: usize,
    is_dir: bool,
}

pub(crate) enum ListError {
    Stopped(Stopped),
    Failed(io::Error),
}

impl From<io::Error> for ListError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<rustix::io::Errno> for ListError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Failed(error.into())
    }
}

impl Listing {
    /// Lists `dir`, relative to the root; empty for the root itself.
    pub(crate) fn read(
        root: &Path,
        dir: PathBuf,
        open: &OpenFile<'_>,
        watch: Watch<'_>,
    ) -> Result<Self, ListError> {
        let is_root = dir.as_os_str().is_empty();
        let opened = open(if is_root { Path::new(".") } else { &dir });
        let mut listing =
            Self { dir, names: Vec::new(), entries: Vec::new(), present: Present::default() };
        match opened {
            Ok(file) => listing.add_all(&file, watch)?,
            // An opener for files only; the caller has resolved the root, and it is not a name
            // below itself. Nothing else is ever listed by its path.
            Err(_) if is_root => listing.add_root(root, watch)?,
            Err(error) => return Err(error.into()),
        }
        let names = &listing.names;
        let name = |entry: &Entry| &names[entry.start..entry.start + entry.len];
        listing.entries.sort_unstable_by(|left, right| name(left).cmp(name(right)));
        Ok(listing)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_dir(&self, index: usize) -> bool {
        self.entries[index].is_dir
    }

    pub(crate) fn name(&self, index: usize) -> &[u8] {
        let entry = &self.entries[index];
        &self.names[entry.start..entry.start + entry.len]
    }

    /// Writes the path of an entry, relative to the root.
    pub(crate) fn path_into(&self, index: usize, path: &mut Vec<u8>) {
        path.clear();
        path.extend_from_slice(self.dir.as_os_str().as_bytes());
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(self.name(index));
    }

    pub(crate) fn path(&self, index: usize) -> PathBuf {
        self.dir.join(OsStr::from_bytes(self.name(index)))
    }

    fn add(&mut self, name: &[u8], kind: FileType) {
        self.present.note(name);
        if matches!(kind, FileType::RegularFile | FileType::Directory) {
            let is_dir = kind == FileType::Directory;
            self.entries.push(Entry { start: self.names.len(), len: name.len(), is_dir });
            self.names.extend_from_slice(name);
        }
    }

    fn add_all(&mut self, dir: &File, watch: Watch<'_>) -> Result<(), ListError> {
        let mut count = 0;
        each_entry(dir, |name, kind, inode| {
            if count % NAMES_PER_CHECK == 0 {
                watch.check().map_err(ListError::Stopped)?;
            }
            count += 1;
            if matches!(name.to_bytes(), b"." | b"..") {
                return Ok(());
            }
            if toolwright_reserved::may_be(name.to_bytes(), inode) && is_reserved(dir, name) {
                return Ok(());
            }
            let kind = match kind {
                FileType::Unknown => statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            self.add(name.to_bytes(), kind);
            Ok(())
        })
    }

    fn add_root(&mut self, root: &Path, watch: Watch<'_>) -> Result<(), ListError> {
        for (count, entry) in fs::read_dir(root)?.enumerate() {
            if count % NAMES_PER_CHECK == 0 {
                watch.check().map_err(ListError::Stopped)?;
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
            self.add(entry.file_name().as_bytes(), kind);
        }
        Ok(())
    }
}

/// Whether it belongs to an open journal of this process. Such a file is not even opened: to close it
/// again would take from the process its locks on it.
fn is_reserved(dir: &File, name: &CStr) -> bool {
    let Ok(stat) = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    #[cfg_attr(target_os = "linux", expect(clippy::unnecessary_cast, reason = "types differ"))]
    #[cfg_attr(not(target_os = "linux"), expect(clippy::cast_sign_loss, reason = "only compared"))]
    let device = stat.st_dev as u64;
    toolwright_reserved::holds(device, stat.st_ino)
}

/// With a buffer that is not written to before the system does: one on the stack would be, page by
/// page, for each directory.
#[cfg(target_os = "linux")]
fn each_entry(
    dir: &File,
    mut each: impl FnMut(&CStr, FileType, u64) -> Result<(), ListError>,
) -> Result<(), ListError> {
    let mut buffer = Box::new_uninit_slice(16 << 10);
    let mut entries = rustix::fs::RawDir::new(dir, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        each(entry.file_name(), entry.file_type(), entry.ino())?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn each_entry(
    dir: &File,
    mut each: impl FnMut(&CStr, FileType, u64) -> Result<(), ListError>,
) -> Result<(), ListError> {
    for entry in rustix::fs::Dir::new(dir.try_clone()?)? {
        let entry = entry?;
        each(entry.file_name(), entry.file_type(), entry.ino())?;
    }
    Ok(())
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
