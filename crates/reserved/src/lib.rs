//! The files of this process that no tool and no command of it may touch: those of an open journal or
//! thread store.
//!
//! Such a file may lie below a directory that tools and commands write to. Who opens one reserves it
//! ([`reserve`]); the plan of a command closes what is reserved ([`paths`]), and whatever opens a file
//! for a tool asks first ([`holds`]). That goes for reading too: a shared lock of a reader stops the
//! writers of a database, and a process that closes any descriptor of such a file loses all locks that
//! it holds on it. A descriptor that was opened all the same is therefore not closed but handed over
//! ([`keep`]).
//!
//! Files are known by device and inode, so that another name of one is known too. With nothing
//! reserved, asking costs a load from memory.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How many reservations there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static TABLE: RwLock<Table> =
    RwLock::new(Table { last: 0, entries: Vec::new(), open_files: Vec::new() });

#[derive(Debug)]
struct Table {
    last: u64,
    entries: Vec<Entry>,
    /// Descriptors that must not be closed while the file is reserved.
    open_files: Vec<(FileId, OwnedFd)>,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    paths: Vec<PathBuf>,
    files: Vec<FileId>,
}

/// What identifies a file while it exists. A copy of it has another identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The device.
    pub device: u64,
    /// The inode on it.
    pub inode: u64,
}

impl From<&Metadata> for FileId {
    fn from(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

impl FileId {
    /// The file at a path, with links followed; `None` where there is none.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        path.metadata().ok().map(|metadata| Self::from(&metadata))
    }
}

/// Files are reserved until it is dropped.
#[derive(Debug)]
#[must_use = "the files are free again as soon as this is dropped"]
pub struct Reservation {
    number: u64,
}

/// Reserves the files at these paths (absolute and without links), as they are now. One that is not
/// there is reserved by its name. What is reserved twice is free after both.
pub fn reserve(paths: Vec<PathBuf>) -> Reservation {
    let metadata = paths.iter().filter_map(|path| path.symlink_metadata().ok());
    let files = metadata.map(|metadata| FileId::from(&metadata)).collect();
    let mut table = write();
    table.last += 1;
    let number = table.last;
    table.entries.push(Entry { number, paths, files });
    COUNT.store(table.entries.len(), Ordering::Release);
    Reservation { number }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut table = write();
        table.entries.retain(|entry| entry.number != self.number);
        COUNT.store(table.entries.len(), Ordering::Release);
        let Table { entries, open_files, .. } = &mut *table;
        open_files.retain(|(file, _)| entries.iter().any(|entry| entry.files.contains(file)));
    }
}

/// Whether anything is reserved.
#[must_use]
pub fn is_any() -> bool {
    COUNT.load(Ordering::Acquire) > 0
}

/// Where what is reserved lies. Not all of it need be there.
#[must_use]
pub fn paths() -> Vec<PathBuf> {
    if !is_any() {
        return Vec::new();
    }
    let table = read();
    let mut paths: Vec<PathBuf> =
        table.entries.iter().flat_map(|entry| entry.paths.iter().cloned()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Whether this file is reserved.
#[must_use]
pub fn holds(device: u64, inode: u64) -> bool {
    is_any() && read().entries.iter().any(|entry| entry.files.contains(&FileId { device, inode }))
}

/// Whether what a listing calls by this name and inode could be reserved: whether it is worth a look.
#[must_use]
pub fn may_be(name: &[u8], inode: u64) -> bool {
    is_any()
        && read().entries.iter().any(|entry| {
            entry.files.iter().any(|file| file.inode == inode)
                || entry.paths.iter().any(|path| path.file_name() == Some(OsStr::from_bytes(name)))
        })
}

/// Whether `path` is the place of something that is reserved.
#[must_use]
pub fn is_at(path: &Path) -> bool {
    is_any() && read().entries.iter().any(|entry| entry.paths.iter().any(|known| known == path))
}

/// Takes a descriptor of a reserved file, and closes it when that is not reserved any more.
pub fn keep(descriptor: OwnedFd) {
    let opened = File::from(descriptor);
    let Ok(metadata) = opened.metadata() else { return };
    let file = FileId::from(&metadata);
    let mut table = write();
    if table.entries.iter().any(|entry| entry.files.contains(&file)) {
        table.open_files.push((file, opened.into()));
    }
}

/// What the lock guards is changed by single calls, and whole after a panic.
fn read() -> RwLockReadGuard<'static, Table> {
    TABLE.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Table> {
    TABLE.write().unwrap_or_else(PoisonError::into_inner)
}
