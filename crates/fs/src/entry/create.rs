//! Creates a file that must not exist yet.

use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::entry::rename::Placed;
use crate::publish::OpenDirectory;
use crate::target::Target;
use crate::temporary::Temporary;
use crate::walk::CreatedDirectories;
use crate::write::check_new_name;
use crate::{Content, Durability, FsError, FsErrorKind, Root, WriteOptions, publish, target};

/// Creates the file at `path` with the content `bytes`, and the directories on the way to it. The file
/// appears with all of its content, or not at all.
pub fn create(
    root: &Root,
    path: &str,
    bytes: &[u8],
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<Placed, FsError> {
    publish::within_size_limit(path, bytes.len() as u64)?;
    checkpoint(cancel)?;
    check_new_name(path)?;
    let mut created = CreatedDirectories::default();
    let target = match Target::open(root, path, Some(&mut created), options, cancel) {
        Ok(target) => target,
        // A directory, or a path that only a directory can satisfy.
        Err(FsError { kind: FsErrorKind::NotAFile { .. }, .. }) => return Ok(Placed::Occupied),
        Err(error) => return Err(error),
    };
    if target.stat().is_ok() {
        return Ok(Placed::Occupied);
    }
    let directory = match options.durability {
        Durability::Process => None,
        Durability::Fsync => {
            Some(OpenDirectory::new(target.directory(), path, options.durability)?)
        }
    };
    let failed = |operation, errno| FsError::at(path, operation, errno);
    let mut temporary = Temporary::create(target.directory(), Mode::from_raw_mode(0o666))
        .map_err(|errno| failed("creating a file beside it", errno))?;
    target::fill(&temporary, path, Content::Bytes(bytes), None, options, cancel)?;
    let (parent, name) = (target.directory(), target.name());
    let _new = options.git.new_name(path, parent, name)?;
    // A link never replaces a file. The temporary name goes afterwards.
    match rustix::fs::linkat(parent, temporary.name(), parent, name, AtFlags::empty()) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Ok(Placed::Occupied),
        // A file system without links.
        Err(Errno::PERM | Errno::NOTSUP | Errno::MLINK | Errno::NOSYS) => match target.stat() {
            Err(Errno::NOENT) => {
                temporary.rename_over(name).map_err(|errno| failed("renaming", errno))?;
            }
            _ => return Ok(Placed::Occupied),
        },
        Err(errno) => return Err(failed("linking", errno)),
    }
    created.keep();
    drop(temporary);
    directory.map_or(Ok(()), |directory| directory.finish(path, options.durability))?;
    Ok(Placed::Done)
}
