//! The content of ignore files and of the files of a git directory.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// A larger file is not taken for an ignore file: only a hostile one is this large.
const MAX_FILE_BYTES: u64 = 512 << 10;

/// Reads the content of a file.
pub(crate) type ReadFile<'a> = dyn Fn(&Path) -> io::Result<Vec<u8>> + 'a;

/// Opens a file above the root, without waiting for the other end of a FIFO.
#[expect(
    clippy::disallowed_methods,
    reason = "it is above the root, waits for nothing, and only a regular file is read"
)]
pub(crate) fn open_by_path(path: &Path) -> io::Result<File> {
    let is_reserved = |file: Metadata| toolwright_reserved::holds(file.dev(), file.ino());
    if toolwright_reserved::is_any() && path.metadata().is_ok_and(is_reserved) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// The content of a regular file of reasonable size.
pub(crate) fn content(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file.metadata()?.is_file() {
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= MAX_FILE_BYTES {
            return Ok(bytes);
        }
    }
    Err(io::ErrorKind::InvalidInput.into())
}
