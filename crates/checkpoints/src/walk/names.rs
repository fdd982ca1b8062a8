//! The names in a directory.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::FileType;
use toolwright_git::name::is_git_directory_name;
use toolwright_search::IgnoreMarkers;

/// The names of files that this library is writing. They are not part of the tree.
const TEMPORARY: &[u8] = b".toolwright-";
const TEMPORARY_ENDS: [&[u8]; 11] = [
    b".part", b".swap", b".step", b".back", b".mark", b".draft", b".plan", b".undo", b".done",
    b".new", b".out",
];

fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(TEMPORARY) && TEMPORARY_ENDS.iter().any(|end| name.ends_with(end))
}

/// The names in a directory, without those that are never part of the tree.
#[derive(Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    entries: Vec<(usize, usize, FileType)>,
    pub(super) markers: IgnoreMarkers,
}

impl Names {
    pub(crate) fn read(&mut self, directory: &OwnedFd) -> io::Result<()> {
        for_each_name(directory, |name, kind| {
            if matches!(name, b"." | b"..") || is_temporary(name) {
                return;
            }
            self.markers.note(OsStr::from_bytes(name));
            // Whatever it is: a directory, the file of a worktree, a link. No spelling of it comes back either.
            if is_git_directory_name(name) {
                return;
            }
            let start = self.bytes.len();
            self.bytes.extend_from_slice(name);
            self.entries.push((start, self.bytes.len(), kind));
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], FileType)> {
        self.entries.iter().map(|&(start, end, kind)| (&self.bytes[start..end], kind))
    }
}

#[cfg(target_os = "linux")]
fn for_each_name(directory: &OwnedFd, mut each: impl FnMut(&[u8], FileType)) -> io::Result<()> {
    let mut buffer = Box::new_uninit_slice(32 << 10);
    let mut entries = rustix::fs::RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        each(entry.file_name().to_bytes(), entry.file_type());
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn for_each_name(directory: &OwnedFd, mut each: impl FnMut(&[u8], FileType)) -> io::Result<()> {
    for entry in rustix::fs::Dir::new(directory.try_clone()?)? {
        let entry = entry?;
        each(entry.file_name().to_bytes(), entry.file_type());
    }
    Ok(())
}
