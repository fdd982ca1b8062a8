//! Writing a whole file.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::io::Errno;

use crate::FsError;
use crate::Refusal;
use crate::Root;
use crate::cancel::checkpoint;
use crate::publish;
use crate::target;
use crate::target::Target;
use crate::target::Way;
use crate::walk::CreatedDirectories;

/// What a finished call has survived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The death of every process: the bytes are with the kernel.
    #[default]
    Process,
    /// The loss of power too: file and directory are synced.
    Fsync,
}

/// How [`write()`] and [`crate::update`] publish.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions {
    /// What a finished call has survived.
    pub durability: Durability,
    /// Overwrite in place where the file cannot be replaced atomically.
    pub allow_in_place: bool,
    /// How long to wait for other calls on the same file.
    pub wait: Duration,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Process,
            allow_in_place: false,
            wait: Duration::from_secs(60),
        }
    }
}

/// Makes `bytes` the content of the file at `path`, creating it and its parent directories.
///
/// Until the last step (a rename) nothing but a temporary file exists; on every error it is removed
/// again, and so are the directories that were created.
pub fn write(
    root: &Root,
    path: &str,
    bytes: &[u8],
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    checkpoint(cancel)?;
    let mut created = CreatedDirectories::default();
    let target = Target::open(root, path, Some(&mut created), options, cancel)?;
    let existing = target.existing(path)?;
    // Read for its attributes; a file that may be written but not read has none that could be copied.
    let old = match existing {
        Some(_) => target.open_file(path).ok(),
        None => None,
    };
    let way = target.prepare(path, existing.as_ref().map(|stat| (stat, old.as_ref())), options)?;
    let way = match way {
        Way::InPlace => Way::InPlace,
        Way::Atomic(mut temporary) => {
            publish::write_all(&temporary.file, path, bytes, cancel)?;
            if options.durability == Durability::Fsync {
                sync(&temporary.file, path)?;
            }
            checkpoint(cancel)?;
            match temporary.rename_over(target.name()) {
                Ok(()) => Way::Atomic(temporary),
                Err(Errno::BUSY) => {
                    target::in_place_or_refuse(path, (Refusal::MountPoint, Errno::BUSY), options)?
                }
                Err(errno) => return Err(FsError::at(path, "renaming", errno)),
            }
        }
    };
    if let Way::InPlace = way {
        publish::overwrite(target.directory(), target.name(), path, bytes)?;
    }
    created.keep();
    finish(&target, path, options)
}

pub(crate) fn sync(file: &std::fs::File, shown: &str) -> Result<(), FsError> {
    file.sync_all().map_err(|source| FsError::Io {
        path: shown.to_owned(),
        operation: "syncing",
        source,
    })
}

pub(crate) fn finish(target: &Target, shown: &str, options: &WriteOptions) -> Result<(), FsError> {
    match options.durability {
        Durability::Process => Ok(()),
        Durability::Fsync => publish::sync_directory(target.directory(), shown),
    }
}
