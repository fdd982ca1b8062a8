//! Writing a whole file.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::publish::OpenDirectory;
use crate::target::{PublishMethod, Target};
use crate::walk::CreatedDirectories;
use crate::{FsError, Refusal, Root, deferred_close, publish, target};

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
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// What a finished call has survived.
    pub durability: Durability,
    /// Overwrite in place where the file cannot be replaced atomically.
    pub allow_in_place: bool,
    /// How long to wait for other calls on the same file.
    pub wait: Duration,
    /// Paths that are left alone: relative to the root, without `.` and `..`. Nothing has to be
    /// there. (Others, absolute ones too, count where they lead.)
    ///
    /// A file that is one of them, lies below one or stands where a directory above one would be
    /// (as a file `.git` would, which can lead git to other hooks) is refused with
    /// [`FsError::Protected`], and nothing is left behind. What counts is the place that was opened,
    /// whatever links led there; and a protected path that goes through links also counts where it
    /// leads.
    ///
    /// Places are compared by name. Another name of the same file cannot be told: a hard link (which
    /// is replaced, so that the protected file keeps its bytes, but written through in place), a
    /// bind mount, a directory that is moved to a protected place later. On Apple systems the
    /// case of ASCII letters is ignored, that of others is not; elsewhere case always counts, even
    /// on a file system that ignores it.
    pub protected: Vec<PathBuf>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Process,
            allow_in_place: false,
            wait: Duration::from_secs(60),
            protected: Vec::new(),
        }
    }
}

/// How often a write begins anew when its directory or file is exchanged under it.
const MAX_ATTEMPTS: usize = 32;

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
    publish::within_size_limit(path, bytes)?;
    let mut answer = Ok(());
    for _ in 0..MAX_ATTEMPTS {
        checkpoint(cancel)?;
        answer = write_once(root, path, bytes, options, cancel);
        // A directory that was there is gone, perhaps because another call that failed took back
        // the directories it had made; or the file has just become a link. Both are looked at again.
        if !matches!(answer, Err(FsError::NotFound { .. } | FsError::Conflict { .. })) {
            return answer;
        }
    }
    match answer {
        Err(FsError::Conflict { .. }) => {
            Err(FsError::at(path, "opening a file that is being replaced", Errno::AGAIN))
        }
        other => other,
    }
}

fn write_once(
    root: &Root,
    path: &str,
    bytes: &[u8],
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    let mut created = CreatedDirectories::default();
    let target = Target::open(root, path, Some(&mut created), options, cancel)?;
    write_target(&target, &mut created, path, bytes, options, cancel).map(|_| ())
}

/// Makes `bytes` the content of what is open; true when there was no such file before.
pub(crate) fn write_target(
    target: &Target,
    created: &mut CreatedDirectories,
    path: &str,
    bytes: &[u8],
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<bool, FsError> {
    let old = target.open_old(path)?;
    // Names that are not UTF-8 are displayed with this character, in listings and search results. A new
    // file of the displayed name would stand beside the one that was meant.
    if old.is_none() && path.contains('\u{fffd}') {
        let reason = "Path holds U+FFFD, which stands for bytes that are not UTF-8";
        return Err(FsError::PathInvalid { path: path.to_owned(), reason });
    }
    let directory = match options.durability {
        Durability::Process => None,
        Durability::Fsync => {
            Some(OpenDirectory::new(target.directory(), path, options.durability)?)
        }
    };
    let way = match target.prepare(path, old.as_ref(), options)? {
        PublishMethod::InPlace => PublishMethod::InPlace,
        PublishMethod::Atomic(mut temporary) => {
            target::fill(&temporary, path, bytes, old.as_ref(), options, cancel)?;
            match temporary.rename_over(target.name()) {
                Ok(()) => PublishMethod::Atomic(temporary),
                Err(Errno::BUSY) => {
                    target::in_place_or_refuse(path, (Refusal::MountPoint, Errno::BUSY), options)?
                }
                Err(errno) => return Err(FsError::at(path, "renaming", errno)),
            }
        }
    };
    if let PublishMethod::InPlace = way {
        checkpoint(cancel)?;
        let file = publish::open_in_place(target.directory(), target.name(), path)?;
        publish::overwrite(&file, path, bytes, options.durability)?;
    }
    created.keep();
    directory.map_or(Ok(()), |directory| directory.finish(path, options.durability))?;
    let is_new = old.is_none();
    if let Some(file) = old.and_then(|old| old.file) {
        deferred_close::close_later(file);
    }
    Ok(is_new)
}
