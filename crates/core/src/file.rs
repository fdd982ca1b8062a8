//! The file that an operation works on, and how its change is published.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use toolwright_encoding::utf16::ByteOrder;
use toolwright_fs::{DirectoryGrant, Durability, FsError, UpdateError, Witness, WriteOptions};

use crate::access::target::Target;
use crate::access::{git_border, protected_below};
use crate::failure::Unfinished;

/// How much of a file shows its form.
const BEGINNING_BYTES: usize = 1 << 20;

/// A file at either door.
#[derive(Debug, Clone, Copy)]
pub enum File<'a> {
    /// Named by a path below a root: it is found and used in one step.
    Below {
        /// The root.
        root: &'a DirectoryGrant,
        /// The path, relative to the root or absolute.
        path: &'a str,
    },
    /// Opened before, and allowed by the policy of a session.
    Opened(&'a Target),
}

/// How a changed file is published.
#[derive(Debug, Clone)]
pub struct Publish {
    /// Wait until file and directory are on the disk.
    pub fsync: bool,
    /// Overwrite in place where the file cannot be replaced atomically.
    pub allow_in_place: bool,
    /// How long to wait for other calls on the same file.
    pub wait: Duration,
    /// Paths below the root that are not written; the usual ones without a list. An opened file was
    /// checked when it was opened.
    pub deny_write: Option<Vec<PathBuf>>,
    /// A model that makes the change is shown notebooks as cells: it changes their cells, and never writes cells in their place.
    pub notebooks: bool,
}

impl Publish {
    /// For several files that are changed together.
    pub(crate) fn options_for_all(&self, protected: Vec<PathBuf>) -> WriteOptions {
        WriteOptions {
            git: git_border(&protected),
            durability: if self.fsync { Durability::Fsync } else { Durability::Process },
            allow_in_place: false,
            wait: self.wait,
            protected,
        }
    }

    pub(crate) fn options(&self, file: File<'_>) -> WriteOptions {
        match file {
            File::Below { root, .. } => {
                self.options_below(root.real_path().map_or(root.path(), |(real, _)| real))
            }
            File::Opened(target) => WriteOptions {
                allow_in_place: self.allow_in_place,
                git: target.policy.git(),
                ..self.options_for_all(Vec::new())
            },
        }
    }

    /// For a file that a path below a root names.
    pub(crate) fn options_below(&self, root: &Path) -> WriteOptions {
        let protected = protected_below(self.deny_write.as_deref(), root);
        WriteOptions { allow_in_place: self.allow_in_place, ..self.options_for_all(protected) }
    }
}

impl File<'_> {
    /// The path as the caller wrote it.
    #[must_use]
    pub fn display_path(&self) -> &str {
        match self {
            Self::Below { path, .. } => path,
            Self::Opened(target) => target.file.display_path(),
        }
    }

    /// The failure in the words of the door that the file came through.
    pub(crate) fn unfinished(&self, error: impl Into<Unfinished>) -> Unfinished {
        match self {
            Self::Below { .. } => error.into(),
            Self::Opened(_) => error.into().for_session(),
        }
    }

    /// The beginning of the existing file, if it can be read: whole lines, if there is more.
    pub(crate) fn beginning(&self, cancel: &AtomicBool) -> Option<Vec<u8>> {
        let read = match self {
            Self::Below { root, path } => {
                toolwright_fs::read_beginning(&root.open().ok()?, path, BEGINNING_BYTES, cancel)
            }
            Self::Opened(target) => target.file.read_beginning(BEGINNING_BYTES, cancel),
        };
        let mut bytes = read.ok()?;
        if bytes.len() == BEGINNING_BYTES && ByteOrder::of(&bytes).is_none() {
            let end = bytes.iter().rposition(|byte| *byte == b'\n');
            bytes.truncate(end.map_or(BEGINNING_BYTES, |end| end + 1));
        }
        Some(bytes)
    }

    /// Makes `bytes` the content; true when an opened file did not exist before.
    pub(crate) fn write(
        &self,
        bytes: &[u8],
        publish: &Publish,
        cancel: &AtomicBool,
    ) -> Result<bool, FsError> {
        let options = publish.options(*self);
        match self {
            Self::Below { root, path } => {
                toolwright_fs::write(&root.open()?, path, bytes, &options, cancel)?;
                Ok(false)
            }
            Self::Opened(target) => target.file.write(bytes, &options, cancel),
        }
    }

    /// Makes what the witness decides the content; true when the file did not exist before.
    pub(crate) fn write_witnessed(
        &self,
        publish: &Publish,
        cancel: &AtomicBool,
        witness: &mut impl Witness<Refusal = Unfinished>,
    ) -> Result<bool, Unfinished> {
        let options = publish.options(*self);
        let written = match self {
            Self::Below { root, path } => {
                let root = root.open().map_err(|error| self.unfinished(error))?;
                toolwright_fs::write_witnessed(&root, path, &options, cancel, witness)
            }
            Self::Opened(target) => target.file.write_witnessed(&options, cancel, witness),
        };
        written.map_err(|error| self.not_updated(error))
    }

    /// As [`Self::update`], with a witness.
    pub(crate) fn update_witnessed(
        &self,
        limit_bytes: u64,
        publish: &Publish,
        cancel: &AtomicBool,
        witness: &mut impl Witness<Refusal = Unfinished>,
    ) -> Result<(), Unfinished> {
        let options = publish.options(*self);
        let updated = match self {
            Self::Below { root, path } => {
                let root = root.open().map_err(|error| self.unfinished(error))?;
                toolwright_fs::update_witnessed(&root, path, limit_bytes, &options, cancel, witness)
            }
            Self::Opened(target) => {
                target.file.update_witnessed(limit_bytes, &options, cancel, witness)
            }
        };
        updated.map_err(|error| self.not_updated(error))
    }

    fn not_updated(&self, error: UpdateError<Unfinished>) -> Unfinished {
        match error {
            UpdateError::Fs(error) => self.unfinished(error),
            UpdateError::Refused(unfinished) => self.unfinished(unfinished),
        }
    }

    /// Replaces the content by what `transform` makes of it.
    pub(crate) fn update(
        &self,
        limit_bytes: u64,
        publish: &Publish,
        cancel: &AtomicBool,
        transform: impl FnOnce(&[u8]) -> Result<Vec<u8>, Unfinished>,
    ) -> Result<(), Unfinished> {
        let options = publish.options(*self);
        let updated = match self {
            Self::Below { root, path } => {
                let root = root.open().map_err(|error| self.unfinished(error))?;
                toolwright_fs::update(&root, path, limit_bytes, &options, cancel, transform)
            }
            Self::Opened(target) => target.file.update(limit_bytes, &options, cancel, transform),
        };
        updated.map(|_| ()).map_err(|error| self.not_updated(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Others change the file between the moment when it is read and the one when it is replaced.
    #[test]
    fn an_edit_refuses_a_file_that_was_changed_meanwhile() {
        use crate::code::Code;

        let made = tempfile::tempdir().expect("made");
        let path = made.path().canonicalize().expect("there");
        let root = DirectoryGrant::new("rootDir", &path);
        let (file, wait) = (File::Below { root: &root, path: "a" }, Duration::from_secs(1));
        let publish = Publish {
            fsync: false,
            allow_in_place: false,
            wait,
            deny_write: None,
            notebooks: false,
        };
        let changes: [fn(&std::path::Path) -> std::io::Result<()>; 3] = [
            |file| std::fs::write(file, "theirs"),
            |file| {
                std::fs::write(file.with_extension("new"), "theirs")?;
                std::fs::rename(file.with_extension("new"), file)
            },
            |file| std::fs::remove_file(file),
        ];
        for change in changes {
            std::fs::write(path.join("a"), "old").expect("written");
            let result = file.update(100, &publish, &AtomicBool::new(false), |old| {
                assert_eq!(old, b"old");
                change(&path.join("a")).expect("changed");
                Ok(b"ours".to_vec())
            });
            let Err(Unfinished::Failed(failure)) = result else { panic!("{result:?}") };
            let content = std::fs::read_to_string(path.join("a")).ok();
            assert!(
                [Code::EditConflict, Code::FileNotFound].contains(&failure.code),
                "{failure:?}"
            );
            assert_eq!(content.as_deref(), (content.is_some()).then_some("theirs"));
            assert_eq!(std::fs::read_dir(&path).expect("listed").count(), content.iter().count());
        }
    }

    #[test]
    fn a_file_is_published_as_the_host_says() {
        let root = DirectoryGrant::new("rootDir", "/");
        let wait = Duration::from_secs(1);
        let options = |fsync, allow_in_place| {
            let publish =
                Publish { fsync, allow_in_place, wait, deny_write: None, notebooks: false };
            publish.options(File::Below { root: &root, path: "a" })
        };
        assert_eq!(options(true, false).durability, Durability::Fsync);
        assert_eq!(options(false, false).durability, Durability::Process);
        assert!(options(false, true).allow_in_place);
        assert!(!options(true, false).allow_in_place);
        assert_eq!(options(false, false).wait, wait);
    }
}
