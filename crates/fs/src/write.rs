//! Writes a whole file.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::publish::OpenDirectory;
use crate::target::{PublishMethod, Target};
use crate::walk::CreatedDirectories;
use crate::{
    Content, FsError, FsErrorKind, GitBorder, Refusal, Root, deferred_close, publish, target,
};

/// What the new bytes survive once the call has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The death of every process: the kernel has the bytes.
    #[default]
    Process,
    /// The loss of power too: file and directory are synced.
    Fsync,
}

/// How [`write()`] and [`crate::update`] publish.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// What the new bytes survive once the call has returned.
    pub durability: Durability,
    /// Overwrite in place where the file cannot be replaced atomically.
    pub allow_in_place: bool,
    /// How long to wait for other calls on the same file.
    pub wait: Duration,
    /// Paths that must not change: relative to the root, without `.` and `..`. They need not exist.
    /// (Other paths, absolute ones too, count where they lead.)
    ///
    /// The call fails with [`FsErrorKind::Protected`], and leaves nothing behind, if the file is one of
    /// them, is below one, or takes the place of a directory above one. (A file `.git`, for
    /// example, can lead git to other hooks.) The path of what was opened counts, whatever links
    /// led there. A protected path that goes through links also counts where it leads.
    ///
    /// The check compares names, so it does not notice another name of the same file: a hard link
    /// (a replacement leaves the protected file alone, but a write in place does not), a bind
    /// mount, or a directory that is moved to a protected path later. On Apple systems it ignores
    /// the case of ASCII letters only. Elsewhere case always counts, even on a file system that
    /// ignores it.
    pub protected: Vec<PathBuf>,
    /// Whether git's own directories are closed: nothing in them is changed, and nothing becomes one. The call
    /// fails with [`FsErrorKind::Git`] then.
    ///
    /// They are those with a name that git, on any file system, takes for `.git`, and those with the entries by
    /// which git knows a repository. Names are judged where the file lies, whatever links led there.
    pub git: GitBorder,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Process,
            allow_in_place: false,
            wait: Duration::from_secs(60),
            protected: Vec::new(),
            git: GitBorder::Open,
        }
    }
}

/// How often a write begins anew when its directory or file is exchanged meanwhile.
const MAX_ATTEMPTS: usize = 32;

/// Makes `bytes` the content of the file at `path`, and creates it and its parent directories.
///
/// Until the last step, a rename, there is nothing but a temporary file. On an error it is removed
/// again, and so are the new directories.
pub fn write(
    root: &Root,
    path: &str,
    bytes: &[u8],
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    write_content(root, path, Content::Bytes(bytes), options, cancel)
}

/// As [`write()`], with the content of a file that was staged elsewhere: it need not fit into memory.
pub fn write_content(
    root: &Root,
    path: &str,
    content: Content<'_>,
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    publish::within_size_limit(path, content.size())?;
    let mut answer = Ok(());
    for _ in 0..MAX_ATTEMPTS {
        checkpoint(cancel)?;
        answer = write_once(root, path, content, options, cancel);
        // A directory has disappeared, perhaps because another call failed and removed the
        // directories that it had created; or the file has just become a link. Both need another
        // look.
        if !matches!(
            answer,
            Err(FsError { kind: FsErrorKind::NotFound | FsErrorKind::Conflict, .. })
        ) {
            return answer;
        }
    }
    match answer {
        Err(FsError { kind: FsErrorKind::Conflict, .. }) => {
            Err(FsError::at(path, "opening a file that is being replaced", Errno::AGAIN))
        }
        other => other,
    }
}

fn write_once(
    root: &Root,
    path: &str,
    content: Content<'_>,
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    let mut created = CreatedDirectories::default();
    let target = Target::open(root, path, Some(&mut created), options, cancel)?;
    write_target(&target, &mut created, path, content, options, cancel).map(|_| ())
}

/// Makes `content` that of an open target. Returns true if the file is new.
pub(crate) fn write_target(
    target: &Target,
    created: &mut CreatedDirectories,
    path: &str,
    content: Content<'_>,
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<bool, FsError> {
    let old = target.open_old(path)?;
    if old.is_none() {
        check_new_name(path)?;
    }
    let directory = match options.durability {
        Durability::Process => None,
        Durability::Fsync => {
            Some(OpenDirectory::new(target.directory(), path, options.durability)?)
        }
    };
    let method = match target.prepare(path, old.as_ref(), options)? {
        PublishMethod::InPlace => PublishMethod::InPlace,
        PublishMethod::Atomic(mut temporary) => {
            target::fill(&temporary, path, content, old.as_ref(), options, cancel)?;
            let _new = options.git.new_name(path, target.directory(), target.name())?;
            match temporary.rename_over(target.name()) {
                Ok(()) => PublishMethod::Atomic(temporary),
                Err(Errno::BUSY) => {
                    target::in_place_or_refuse(path, (Refusal::MountPoint, Errno::BUSY), options)?
                }
                Err(errno) => return Err(FsError::at(path, "renaming", errno)),
            }
        }
    };
    if let PublishMethod::InPlace = method {
        checkpoint(cancel)?;
        let file = publish::open_in_place(target.directory(), target.name(), path)?;
        publish::overwrite(&file, path, content, options.durability)?;
    }
    created.keep();
    directory.map_or(Ok(()), |directory| directory.finish(path, options.durability))?;
    let is_new = old.is_none();
    if let Some(file) = old.and_then(|old| old.file) {
        deferred_close::close_later(file);
    }
    Ok(is_new)
}

/// Refuses a name that is written for something else than a new file of that name.
///
/// Listings and search results display U+FFFD in names that are not UTF-8. A shell replaces `~` and `$HOME` at the
/// beginning of a path by the home directory: here they would make a directory of that name. `./~/` means one.
pub(crate) fn check_new_name(path: &str) -> Result<(), FsError> {
    let reason = if path.contains('\u{fffd}') {
        "Path holds U+FFFD, which stands for bytes that are not UTF-8"
    } else if matches!(path.split_once('/'), Some(("~" | "$HOME" | "${HOME}", _))) {
        "Path begins with the home directory as a shell writes it, and is taken as it is"
    } else {
        return Ok(());
    };
    Err(FsErrorKind::PathInvalid { reason }.at(path))
}
