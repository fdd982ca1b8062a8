//! Writing a loose object.

use std::io::{self, BufWriter, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustix::fs::{Mode, chmodat, fstat, mkdirat};
use rustix::io::Errno;

use crate::directory::{Directory, ReadError};
use crate::object::{Id, Kind, ObjectHash};
use crate::temporary::Temporary;

/// Writes an object into a directory of objects, unless it is there. Its content is compressed anew.
///
/// # Errors
///
/// The system's, and `InvalidData` if the content has another size or another name: nothing is written then.
pub fn write(
    objects: &Directory,
    id: &Id,
    kind: Kind,
    size: u64,
    mut content: impl Read,
) -> io::Result<()> {
    let hex = id.to_string();
    let mut attempts = 3;
    let (directory, temporary, file) = loop {
        let directory = Arc::new(subdirectory(objects, &hex[..2])?);
        match Temporary::create(&directory, "tmp_obj_", 0o444) {
            Ok((temporary, file)) => break (directory, temporary, file),
            // Garbage collection has removed the directory while it was empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempts > 0 => attempts -= 1,
            Err(error) => return Err(error),
        }
    };
    // The level that git uses for loose objects.
    let mut encoder = ZlibEncoder::new(BufWriter::new(file), Compression::fast());
    write!(encoder, "{} {size}\0", kind.name())?;
    let mut hash = ObjectHash::new(kind, size);
    let mut written = 0;
    let mut part = [0; 16 << 10];
    loop {
        let length = content.read(&mut part)?;
        if length == 0 {
            break;
        }
        hash.update(&part[..length]);
        encoder.write_all(&part[..length])?;
        written += length as u64;
    }
    if written != size || hash.finish() != *id {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not the content of the object"));
    }
    encoder.finish()?.flush()?;
    temporary.publish(&directory, &hex[2..])?;
    Ok(())
}

/// A directory below `objects`, which is made with the permissions of `objects` if there is none: these are
/// what the owner has chosen for a shared repository.
pub(crate) fn subdirectory(objects: &Directory, name: &str) -> io::Result<Directory> {
    if let Some(directory) = objects.below(name).map_err(refused)? {
        return Ok(directory);
    }
    match mkdirat(objects.as_fd(), name, Mode::from_raw_mode(0o777)) {
        Ok(()) => {
            let mode = Mode::from_raw_mode(fstat(objects.as_fd())?.st_mode & 0o2777);
            chmodat(objects.as_fd(), name, mode, rustix::fs::AtFlags::empty())?;
        }
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno.into()),
    }
    objects.below(name).map_err(refused)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

pub(crate) fn refused(error: ReadError) -> io::Error {
    match error {
        ReadError::Io(error) => error,
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}
