//! The entries of a directory, listed through the descriptor that the opener returns, so a walk stays
//! inside the root however the tree changes.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, statat};

use crate::ignore_files::Markers;
use crate::ignore_rules::ActiveRules;
use crate::query::OpenFile;
use crate::stop_signal::{StopSignal, Stopped};

/// The stop signal is checked once for this many names.
const NAMES_PER_CHECK: usize = 1024;

/// The files and directories in a directory, in order. Links and special files are left out, except
/// that any entry can be a marker.
pub(crate) struct Listing {
    dir: PathBuf,
    /// All names, one after the other, so that a large directory takes one allocation.
    names: Vec<u8>,
    entries: Vec<Entry>,
    pub(crate) markers: Markers,
}

struct Entry {
    start: usize,
    len: usize,
    is_dir: bool,
    metadata: FileMetadata,
}

/// What a listing tells of a file besides its name, if that was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FileMetadata {
    pub(crate) bytes: u64,
    pub(crate) is_executable: bool,
}

impl FileMetadata {
    fn of(dir: &File, name: &CStr) -> Self {
        statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map_or(Self::default(), |stat| Self {
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            is_executable: Mode::from_raw_mode(stat.st_mode)
                .intersects(Mode::XUSR | Mode::XGRP | Mode::XOTH),
        })
    }
}

/// Why a search cannot go on, or not even begin.
pub(crate) enum WalkError {
    Stopped(Stopped),
    Failed(io::Error),
}

impl From<io::Error> for WalkError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<rustix::io::Errno> for WalkError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Failed(error.into())
    }
}

impl Listing {
    /// Lists `dir`, relative to the root; empty for the root itself. `with_metadata` looks at each file.
    pub(crate) fn read(
        dir: PathBuf,
        open: &OpenFile<'_>,
        with_metadata: bool,
        stop_signal: StopSignal<'_>,
    ) -> Result<Self, WalkError> {
        let file = open(if dir.as_os_str().is_empty() { Path::new(".") } else { &dir })?;
        let mut listing =
            Self { dir, names: Vec::new(), entries: Vec::new(), markers: Markers::default() };
        listing.add_all(&file, with_metadata, stop_signal)?;
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

    pub(crate) fn metadata(&self, index: usize) -> FileMetadata {
        self.entries[index].metadata
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

    fn add_all(
        &mut self,
        dir: &File,
        with_metadata: bool,
        stop_signal: StopSignal<'_>,
    ) -> Result<(), WalkError> {
        let mut count = 0;
        each_entry(dir, |name, kind, inode| {
            if count % NAMES_PER_CHECK == 0 {
                stop_signal.check().map_err(WalkError::Stopped)?;
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
            self.markers.note(name.to_bytes());
            let is_dir = kind == FileType::Directory;
            if is_dir || kind == FileType::RegularFile {
                let looks = with_metadata && !is_dir;
                let metadata =
                    if looks { FileMetadata::of(dir, name) } else { FileMetadata::default() };
                let (start, len) = (self.names.len(), name.to_bytes().len());
                self.entries.push(Entry { start, len, is_dir, metadata });
                self.names.extend_from_slice(name.to_bytes());
            }
            Ok(())
        })
    }
}

/// Whether the entry belongs to an open journal of this process. Such a file is not even opened,
/// because closing it would release the locks that the process has on it.
fn is_reserved(dir: &File, name: &CStr) -> bool {
    let Ok(stat) = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    #[cfg_attr(target_os = "linux", expect(clippy::unnecessary_cast, reason = "types differ"))]
    #[cfg_attr(not(target_os = "linux"), expect(clippy::cast_sign_loss, reason = "only compared"))]
    let device = stat.st_dev as u64;
    toolwright_reserved::holds(device, stat.st_ino)
}

/// Uses an uninitialized buffer: one on the stack would be zeroed for each directory.
#[cfg(target_os = "linux")]
fn each_entry(
    dir: &File,
    mut each: impl FnMut(&CStr, FileType, u64) -> Result<(), WalkError>,
) -> Result<(), WalkError> {
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
    mut each: impl FnMut(&CStr, FileType, u64) -> Result<(), WalkError>,
) -> Result<(), WalkError> {
    for entry in rustix::fs::Dir::new(dir.try_clone()?)? {
        let entry = entry?;
        each(entry.file_name(), entry.file_type(), entry.ino())?;
    }
    Ok(())
}

/// Whether an error means that the entry has changed since it was listed: deleted, replaced, or
/// turned into a link that the opener refuses. Such an entry is passed over without a note.
pub(crate) fn has_moved(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let Some(errno) = Errno::from_io_error(error) else {
        return error.kind() == io::ErrorKind::NotFound;
    };
    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::XDEV, Errno::ISDIR, Errno::NXIO]
        .contains(&errno)
}

/// The path for the output, in which `display` stands for `start`.
pub(crate) fn display_path(path: &Path, start: &Path, display: &Path) -> PathBuf {
    match path.strip_prefix(start) {
        Ok(rest) if rest.as_os_str().is_empty() => display.to_owned(),
        Ok(rest) => display.join(rest),
        Err(_) => path.to_owned(),
    }
}

/// Entries of one directory: a directory, or files that follow each other.
pub(crate) struct Task {
    pub(crate) listing: Arc<Listing>,
    pub(crate) entries: Range<usize>,
    pub(crate) rules: Arc<ActiveRules>,
}

impl Task {
    /// Divides a listing into tasks of one directory or at most `max_files` files.
    pub(crate) fn divide(
        listing: Listing,
        rules: &Arc<ActiveRules>,
        max_files: usize,
        tasks: &mut Vec<Self>,
    ) {
        let listing = Arc::new(listing);
        let mut start = 0;
        while start < listing.len() {
            let files = (start..listing.len())
                .take(max_files)
                .take_while(|&index| !listing.is_dir(index))
                .count();
            let entries = start..start + files.max(1);
            start = entries.end;
            tasks.push(Self { listing: Arc::clone(&listing), entries, rules: Arc::clone(rules) });
        }
    }

    /// The path of the first entry, relative to the root.
    pub(crate) fn path(&self) -> PathBuf {
        self.listing.path(self.entries.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_replaces_the_start() {
        let of = |path, start, display| {
            display_path(Path::new(path), Path::new(start), Path::new(display))
        };
        assert_eq!(of("a/b", "", ""), Path::new("a/b"));
        assert_eq!(of("real/b", "real", "link"), Path::new("link/b"));
        assert_eq!(of("real", "real", "link").as_os_str().as_bytes(), b"link");
    }
}
