//! Reading directories that a command could have made: by descriptors, without following a link.

#![expect(
    clippy::disallowed_methods,
    reason = "each name is opened in the directory before it, with O_NOFOLLOW and O_NONBLOCK"
)]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat, fgetxattr, openat, readlinkat, statat,
};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
/// What makes a directory of an overlay hide the one below it.
const OPAQUE: &str = "user.overlay.opaque";

/// Opens a directory whose path has no links.
pub(crate) fn open(path: &Path) -> Result<OwnedFd, Errno> {
    openat(CWD, path, DIRECTORY, Mode::empty())
}

/// Opens a directory in another one.
pub(crate) fn directory(at: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(at, name, DIRECTORY, Mode::empty())
}

/// Opens the directory that holds the last name of a relative path, and returns that name.
pub(crate) fn parent<'p>(
    root: BorrowedFd<'_>,
    path: &'p Path,
) -> Result<(OwnedFd, &'p OsStr), Errno> {
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let mut open = rustix::io::fcntl_dupfd_cloexec(root, 0)?;
    for part in path.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(part) = part else { return Err(Errno::INVAL) };
        open = directory(&open, part)?;
    }
    Ok((open, name))
}

/// What a name in a directory is; `None` where nothing is.
pub(crate) fn look(at: impl AsFd, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// As [`look`], at a path below a directory.
pub(crate) fn look_below(root: BorrowedFd<'_>, path: &Path) -> Result<Option<Stat>, Errno> {
    match parent(root, path) {
        Ok((parent, name)) => look(parent, name),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Whether an entry of an overlay says that nothing is there.
pub(crate) fn is_whiteout(stat: &Stat) -> bool {
    kind(stat) == FileType::CharacterDevice && stat.st_rdev == 0
}

/// Whether a directory of an overlay hides the one below it.
pub(crate) fn is_opaque(directory: impl AsFd) -> bool {
    let mut value = [0_u8; 8];
    fgetxattr(directory, OPAQUE, &mut value).is_ok_and(|length| length > 0 && value[0] == b'y')
}

/// The names in a directory, in their order, without those of files that this library is writing.
pub(crate) fn names(directory: impl AsFd) -> Result<Vec<OsString>, Errno> {
    let mut names = all_names(directory)?;
    names.retain(|name| !toolwright_fs::is_temporary_name(name));
    Ok(names)
}

/// All names in a directory, in their order.
pub(crate) fn all_names(directory: impl AsFd) -> Result<Vec<OsString>, Errno> {
    let mut buffer = Box::new_uninit_slice(32 << 10);
    // A descriptor remembers how far it was read.
    let anew = openat(directory, ".", DIRECTORY, Mode::empty())?;
    let mut entries = RawDir::new(anew, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if !matches!(name.as_bytes(), b"." | b"..") {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Where a link leads.
pub(crate) fn link(at: impl AsFd, name: &OsStr) -> Result<Vec<u8>, Errno> {
    readlinkat(at, name, Vec::new()).map(std::ffi::CString::into_bytes)
}

/// Opens a regular file.
pub(crate) fn file(at: impl AsFd, name: &OsStr) -> io::Result<File> {
    let file = File::from(openat(at, name, FILE, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read(at: impl AsFd, name: &OsStr, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file(at, name)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Whether two files have the same bytes.
pub(crate) fn is_same_file(mut one: File, mut other: File) -> io::Result<bool> {
    const BLOCK: usize = 64 << 10;
    let (mut first, mut second) = (vec![0; BLOCK], vec![0; BLOCK]);
    loop {
        let count = fill(&mut one, &mut first)?;
        if count != fill(&mut other, &mut second)? || first[..count] != second[..count] {
            return Ok(false);
        }
        if count < BLOCK {
            return Ok(true);
        }
    }
}

fn fill(file: &mut File, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match file.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
