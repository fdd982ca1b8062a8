//! Writes whose caller decides with the content in sight that they replace.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::location::name_of;
use crate::publish::OpenDirectory;
use crate::read::read_open;
use crate::target::{Old, PublishMethod, Target};
use crate::update::{replace_known, update_target};
use crate::walk::CreatedDirectories;
use crate::write::{check_new_name, write_target};
use crate::{
    Content, Durability, FsError, FsErrorKind, OpenTarget, Root, UpdateError, WriteOptions,
    publish, target,
};

/// Larger files are replaced unread.
const MAX_READ_BYTES: u64 = 64 << 20;
/// How often a write begins anew when others change its file meanwhile.
const MAX_ATTEMPTS: usize = 32;

/// What is there before a change.
#[derive(Debug, Clone, Copy)]
pub enum Present<'a> {
    /// No file.
    Missing,
    /// A file with this content.
    Content(&'a [u8]),
    /// A file that is too large to be read, or may not be.
    Unread {
        /// How long it is.
        bytes: u64,
    },
}

/// Decides about a change of a file, and hears of it.
pub trait Witness {
    /// Why the change is not made.
    type Refusal;

    /// Makes the new content. It is called again when others change the file before it is replaced. `path` is the real
    /// path; `None` where the system does not tell.
    fn decide(
        &mut self,
        path: Option<&Path>,
        present: Present<'_>,
    ) -> Result<Vec<u8>, Self::Refusal>;

    /// The file has the content that was decided last, and other calls of this process still wait for it.
    fn published(&mut self);
}

/// Makes what the witness decides the content of the file at `path`, and creates it and its parent directories. What is
/// replaced is what the witness has seen. Returns true if the file is new.
pub fn write_witnessed<W: Witness>(
    root: &Root,
    path: &str,
    options: &WriteOptions,
    cancel: &AtomicBool,
    witness: &mut W,
) -> Result<bool, UpdateError<W::Refusal>> {
    again(path, cancel, || {
        let mut created = CreatedDirectories::default();
        let target = Target::open(root, path, Some(&mut created), options, cancel)?;
        replace_target(&target, &mut created, path, options, cancel, witness)
    })
}

impl OpenTarget {
    /// As [`write_witnessed`], for a file that was opened before.
    pub fn write_witnessed<W: Witness>(
        &self,
        options: &WriteOptions,
        cancel: &AtomicBool,
        witness: &mut W,
    ) -> Result<bool, UpdateError<W::Refusal>> {
        let path = self.display_path();
        again(path, cancel, || {
            let mut created = CreatedDirectories::default();
            let target = self.target(&mut created, options, cancel)?;
            replace_target(&target, &mut created, path, options, cancel, witness)
        })
    }
}

/// Repeats what others have got in the way of.
fn again<E>(
    path: &str,
    cancel: &AtomicBool,
    mut write: impl FnMut() -> Result<bool, UpdateError<E>>,
) -> Result<bool, UpdateError<E>> {
    let mut answer = Err(FsErrorKind::Conflict.at(path).into());
    for _ in 0..MAX_ATTEMPTS {
        checkpoint(cancel)?;
        answer = write();
        let Err(UpdateError::Fs(FsError { kind, .. })) = &answer else { break };
        if !matches!(kind, FsErrorKind::NotFound | FsErrorKind::Conflict) {
            break;
        }
    }
    answer
}

fn replace_target<W: Witness>(
    target: &Target,
    created: &mut CreatedDirectories,
    path: &str,
    options: &WriteOptions,
    cancel: &AtomicBool,
    witness: &mut W,
) -> Result<bool, UpdateError<W::Refusal>> {
    let real_path = target.real_path();
    let real_path = real_path.as_deref();
    let Some(stat) = target.existing(path)? else {
        let new = witness.decide(real_path, Present::Missing).map_err(UpdateError::Refused)?;
        create_target(target, path, &new, options, cancel)?;
        created.keep();
        witness.published();
        return Ok(true);
    };
    let bytes = u64::try_from(stat.st_size).unwrap_or(0);
    let opened = match target.open_file(path) {
        Ok((file, stat)) => match read_open(&file, path, MAX_READ_BYTES, cancel) {
            Ok(old) => Some((file, stat, old)),
            Err(FsError { kind: FsErrorKind::TooLarge { .. }, .. }) => None,
            Err(error) => return Err(error.into()),
        },
        // It may be written but not read.
        Err(FsError { kind: FsErrorKind::Permission { .. }, .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let Some((file, stat, old)) = opened else {
        let new =
            witness.decide(real_path, Present::Unread { bytes }).map_err(UpdateError::Refused)?;
        publish::within_size_limit(path, new.len() as u64)?;
        let is_new = write_target(target, created, path, Content::Bytes(&new), options, cancel)?;
        witness.published();
        return Ok(is_new);
    };
    let new = witness.decide(real_path, Present::Content(&old)).map_err(UpdateError::Refused)?;
    publish::within_size_limit(path, new.len() as u64)?;
    let before = Old { file: Some(file), stat };
    replace_known(target, path, before, (&old, &new), options, cancel)?;
    created.keep();
    witness.published();
    Ok(false)
}

/// Creates the file. One that appears meanwhile is a conflict.
fn create_target(
    target: &Target,
    path: &str,
    new: &[u8],
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    check_new_name(path)?;
    publish::within_size_limit(path, new.len() as u64)?;
    let directory = match options.durability {
        Durability::Process => None,
        Durability::Fsync => {
            Some(OpenDirectory::new(target.directory(), path, options.durability)?)
        }
    };
    let PublishMethod::Atomic(mut temporary) = target.prepare(path, None, options)? else {
        return Err(FsErrorKind::Conflict.at(path));
    };
    target::fill(&temporary, path, Content::Bytes(new), None, options, cancel)?;
    let _new = options.git.new_name(path, target.directory(), target.name())?;
    temporary.rename_unless_taken(target.name()).map_err(|errno| match errno {
        Errno::EXIST => FsErrorKind::Conflict.at(path),
        errno => FsError::at(path, "renaming", errno),
    })?;
    directory.map_or(Ok(()), |directory| directory.finish(path, options.durability))
}

/// As [`crate::update`], with a witness: the content is that of an existing file within `limit` bytes.
pub fn update_witnessed<W: Witness>(
    root: &Root,
    path: &str,
    limit: u64,
    options: &WriteOptions,
    cancel: &AtomicBool,
    witness: &mut W,
) -> Result<(), UpdateError<W::Refusal>> {
    checkpoint(cancel)?;
    let target = Target::open(root, path, None, options, cancel)?;
    update_watched(&target, path, limit, options, cancel, witness)
}

impl OpenTarget {
    /// As [`update_witnessed`], for a file that was opened before.
    pub fn update_witnessed<W: Witness>(
        &self,
        limit: u64,
        options: &WriteOptions,
        cancel: &AtomicBool,
        witness: &mut W,
    ) -> Result<(), UpdateError<W::Refusal>> {
        checkpoint(cancel)?;
        let mut created = CreatedDirectories::default();
        let target = self.target(&mut created, options, cancel)?;
        update_watched(&target, self.display_path(), limit, options, cancel, witness)
    }
}

fn update_watched<W: Witness>(
    target: &Target,
    path: &str,
    limit: u64,
    options: &WriteOptions,
    cancel: &AtomicBool,
    witness: &mut W,
) -> Result<(), UpdateError<W::Refusal>> {
    let real_path = target.real_path();
    update_target(target, path, limit, options, cancel, |old| {
        witness.decide(real_path.as_deref(), Present::Content(old))
    })?;
    witness.published();
    Ok(())
}

impl Target {
    /// The real path of the file, or of the one to be created.
    pub(crate) fn real_path(&self) -> Option<PathBuf> {
        name_of(self.directory()).ok().map(|directory| directory.join(self.name()))
    }
}
