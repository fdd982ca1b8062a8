//! `apply_patch`: files created, changed, moved and deleted by one patch, all of them or none.

mod undo;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use toolwright_fs::{
    Before, Change, ChangeLimits, ChangeSet, ChangedFiles, DirectoryGrant, FileChange, FsError,
    FsErrorKind, Place, Root, UpdateError,
};
use toolwright_patch::{DiffMode, FilePatch, PatchError, apply_diff, parse_patch};

use crate::access::protected_below;
use crate::access::target::Target;
use crate::failure::{Failure, Unfinished, changes};
use crate::file::Publish;
use crate::notebook;
use crate::seen::{SeenFiles, SeenPatch};
use crate::voice::applied::{MAX_FILES, refused, summary};
pub use crate::voice::applied::{PatchKind, PatchedFile};
use crate::voice::changes::ROOT_NOT_WRITABLE;

pub use self::undo::Undo;

/// The most bytes of all files of a patch, before and after.
const MAX_TOTAL_BYTES: u64 = 256 << 20;

/// The files of a patch, before any of them is looked at.
pub fn plan(patch: &str, limit_bytes: u64) -> Result<Vec<PatchedFile>, Failure> {
    let files = parsed(patch, limit_bytes)?;
    Ok(files.iter().map(PatchedFile::of).collect())
}

fn parsed(patch: &str, limit_bytes: u64) -> Result<Vec<FilePatch<'_>>, Failure> {
    if patch.len() as u64 > limit_bytes {
        return Err(changes::patch_too_large(patch, limit_bytes));
    }
    parse_patch(patch).map_err(|error| changes::patch_of_files_failed(None, &error))
}

/// Where the files of a patch are.
#[derive(Debug, Clone, Copy)]
pub enum Files<'a> {
    /// Below a root: they are found and used in one step.
    Below(&'a DirectoryGrant),
    /// Opened before, and allowed by the policy of a session: those that [`plan`] names, in its order,
    /// each followed by the place it is moved to.
    Opened(&'a [Arc<Target>]),
}

/// A patch, and the files that it is for.
#[derive(Debug, Clone, Copy)]
pub struct ApplyPatchInput<'a> {
    /// Where the files are.
    pub files: Files<'a>,
    /// The envelope of `apply_patch`, or a unified diff.
    pub patch: &'a str,
    /// The most bytes of the patch, and of each file before and after it.
    pub limit_bytes: u64,
    /// How the files are published.
    pub publish: &'a Publish,
}

/// What a patch did.
#[derive(Debug)]
pub struct AppliedPatch {
    /// Its files, in its order.
    pub files: Vec<PatchedFile>,
    /// What undoes it.
    pub undo: Undo,
}

impl AppliedPatch {
    /// What happened, for a model: a line for each file.
    #[must_use]
    pub fn summary(&self) -> String {
        summary(&self.files)
    }
}

impl ApplyPatchInput<'_> {
    /// Makes all changes of the patch or none. The size of the patch and its form are judged before
    /// any file is.
    pub fn run(&self, cancel: &AtomicBool) -> Result<AppliedPatch, Unfinished> {
        self.run_for(None, cancel)
    }

    /// As [`Self::run`], by a model that has seen something of the files. With `seen`, no change of others is undone that
    /// it has not been shown.
    pub fn run_for(
        &self,
        seen: Option<&SeenFiles>,
        cancel: &AtomicBool,
    ) -> Result<AppliedPatch, Unfinished> {
        let Self { files, patch, limit_bytes, publish } = *self;
        let in_words = |unfinished: Unfinished| match files {
            Files::Below(_) => unfinished,
            Files::Opened(_) => unfinished.for_session(),
        };
        let patches = parsed(patch, limit_bytes).map_err(|error| in_words(error.into()))?;
        let mut planned: Vec<PatchedFile> = patches.iter().map(PatchedFile::of).collect();
        let mut notes = vec![Vec::new(); planned.len()];
        let transform = |index: usize, old: Before<'_>| {
            let Before { bytes, is_link } = old;
            let patch = &patches[index];
            let PatchedFile { path, kind, .. } = &planned[index];
            let apply = |shown: &[u8]| {
                let applied = if is_link { patch.apply_to_link(shown) } else { patch.apply(shown) };
                let applied = applied.map_err(|error| patch_failed(path, &error))?;
                let told = applied.notes();
                Ok((applied.bytes, told))
            };
            let (bytes, told) = match kind {
                PatchKind::Delete => apply(bytes)?,
                PatchKind::Add => notebook::changed(publish, path, &[], |_| apply(bytes))?,
                PatchKind::Update | PatchKind::Move if is_link => apply(bytes)?,
                PatchKind::Update | PatchKind::Move => {
                    notebook::changed(publish, path, bytes, apply)?
                }
            };
            notes[index] = told;
            Ok(bytes)
        };
        let replaces = patches.first().is_some_and(|file| file.replaces);
        let set = SetOfFiles {
            files,
            planned: &planned,
            replaces,
            shows_deleted: !replaces,
            limit_bytes,
            publish,
            seen,
        };
        let (done, told) = set.run(cancel, transform).map_err(in_words)?;
        for (index, note) in told {
            notes[index].push(note);
        }
        PatchedFile::tell(&mut planned, &done, notes);
        Ok(AppliedPatch { files: planned, undo: Undo(done) })
    }
}

/// A change of one file by a diff that does not name it.
#[derive(Debug, Clone, Copy)]
pub enum FileOperation<'a> {
    /// Creates it; every line of the diff has a `+`.
    Create {
        /// The diff.
        diff: &'a str,
    },
    /// Changes it.
    Update {
        /// The diff.
        diff: &'a str,
    },
    /// Deletes it.
    Delete,
}

impl<'a> FileOperation<'a> {
    /// The operation with a name, and its diff.
    pub fn of(word: &str, diff: &'a str) -> Result<Self, Failure> {
        match word {
            "create" => Ok(Self::Create { diff }),
            "update" => Ok(Self::Update { diff }),
            "delete" => Ok(Self::Delete),
            _ => Err(changes::unknown_operation(word)),
        }
    }
}

/// A file below a root, and its change.
#[derive(Debug, Clone, Copy)]
pub struct FileOperationInput<'a> {
    /// The root.
    pub root: &'a DirectoryGrant,
    /// The path, relative to the root or absolute.
    pub path: &'a str,
    /// The change.
    pub operation: FileOperation<'a>,
    /// The most bytes of the diff, and of the file before and after it.
    pub limit_bytes: u64,
    /// How the file is published.
    pub publish: &'a Publish,
}

impl FileOperationInput<'_> {
    /// Makes the change.
    pub fn run(&self, cancel: &AtomicBool) -> Result<AppliedPatch, Unfinished> {
        self.run_for(None, cancel)
    }

    /// As [`Self::run`], by a model that has seen something of the file.
    pub fn run_for(
        &self,
        seen: Option<&SeenFiles>,
        cancel: &AtomicBool,
    ) -> Result<AppliedPatch, Unfinished> {
        let Self { root, path, operation, limit_bytes, publish } = *self;
        let (kind, diff) = match operation {
            FileOperation::Create { diff } => (PatchKind::Add, diff),
            FileOperation::Update { diff } => (PatchKind::Update, diff),
            FileOperation::Delete => (PatchKind::Delete, ""),
        };
        if diff.len() as u64 > limit_bytes {
            return Err(changes::patch_too_large(diff, limit_bytes).into());
        }
        let mut planned = vec![PatchedFile::new(path.to_owned(), kind, None)];
        let files = Files::Below(root);
        let mut notes = Vec::new();
        let set = SetOfFiles {
            files,
            planned: &planned,
            replaces: false,
            shows_deleted: false,
            limit_bytes,
            publish,
            seen,
        };
        let (done, told) = set.run(cancel, |_, old| {
            let (bytes, told) = match operation {
                FileOperation::Delete => return Ok(Vec::new()),
                _ => notebook::changed(publish, path, old.bytes, |shown| {
                    let applied = match operation {
                        FileOperation::Create { .. } => apply_diff(b"", diff, DiffMode::Create),
                        _ => apply_diff(shown, diff, DiffMode::Update),
                    };
                    let applied = applied.map_err(|error| patch_failed(path, &error))?;
                    let told = applied.notes();
                    Ok((applied.bytes, told))
                })?,
            };
            notes = told;
            Ok(bytes)
        })?;
        notes.extend(told.into_iter().map(|(_, note)| note));
        PatchedFile::tell(&mut planned, &done, vec![notes]);
        Ok(AppliedPatch { files: planned, undo: Undo(done) })
    }
}

struct SetOfFiles<'a> {
    files: Files<'a>,
    planned: &'a [PatchedFile],
    /// Whether a file that stands in the way is replaced.
    replaces: bool,
    /// Whether a deletion has all lines of its file.
    shows_deleted: bool,
    limit_bytes: u64,
    publish: &'a Publish,
    seen: Option<&'a SeenFiles>,
}

/// What was changed, and what else there is to tell of each file.
type Done = (ChangedFiles, Vec<(usize, String)>);

fn patch_failed(path: &str, error: &PatchError) -> Unfinished {
    changes::patch_of_files_failed(Some(path), error).into()
}

impl SetOfFiles<'_> {
    fn run(
        &self,
        cancel: &AtomicBool,
        transform: impl FnMut(usize, Before<'_>) -> Result<Vec<u8>, Unfinished>,
    ) -> Result<Done, Unfinished> {
        match self.files {
            Files::Below(root) => {
                let real = root.real_path().map_or(root.path(), |(real, _)| real);
                let protected = protected_below(self.publish.deny_write.as_deref(), real);
                let change = |file: &PatchedFile| (file.path.clone(), file.moved_to.clone());
                let names: Vec<_> = self.planned.iter().map(change).collect();
                let places = names
                    .iter()
                    .map(|(path, to)| (Place::Path(path), to.as_deref().map(Place::Path)));
                self.run_in(&root.open()?, places, protected, cancel, transform)
            }
            Files::Opened(targets) => {
                let mut rest = targets.iter().map(|target| Place::Opened(&target.file));
                let mut places = Vec::with_capacity(self.planned.len());
                for file in self.planned {
                    let place = rest.next().ok_or_else(changes::not_the_files)?;
                    let to = file.moved_to.as_ref().map(|_| rest.next());
                    let to = to.map(|to| to.ok_or_else(changes::not_the_files)).transpose()?;
                    places.push((place, to));
                }
                let Some(first) = targets.first().filter(|_| rest.next().is_none()) else {
                    return Err(changes::not_the_files().into());
                };
                let policy = &first.policy;
                let roots = policy.open_roots(first.file.real_path())?;
                let files: Vec<_> = targets.iter().map(|target| &target.file).collect();
                let root = roots.around(&files);
                let root = root.ok_or_else(|| changes::several_roots(first.file.display_path()))?;
                let protected = policy.deny_write();
                self.run_in(root, places.into_iter(), protected, cancel, transform)
            }
        }
    }

    fn run_in<'a>(
        &self,
        root: &Root,
        places: impl Iterator<Item = (Place<'a>, Option<Place<'a>>)>,
        protected: Vec<PathBuf>,
        cancel: &AtomicBool,
        transform: impl FnMut(usize, Before<'_>) -> Result<Vec<u8>, Unfinished>,
    ) -> Result<Done, Unfinished> {
        let changes: Vec<FileChange<'_>> = places
            .zip(self.planned)
            .map(|((place, to), file)| {
                let change = match (file.kind, to) {
                    (PatchKind::Add, _) => Change::Create { mode: None },
                    (PatchKind::Delete, _) => Change::Delete,
                    (_, Some(to)) => Change::Move { to },
                    (PatchKind::Update | PatchKind::Move, None) => Change::Update,
                };
                FileChange { place, change }
            })
            .collect();
        let limit_of =
            |file: &PatchedFile| notebook::file_limit(self.publish, &file.path, self.limit_bytes);
        let limits = limits(self.planned.iter().map(limit_of).max().unwrap_or(self.limit_bytes));
        let set = ChangeSet { root, changes: &changes, emptied: &[], limits };
        let options = self.publish.options_for_all(protected);
        let real_root = root.canonical().unwrap_or_else(|| root.path()).to_owned();
        let mut watch = SeenPatch::new(self.seen, real_root, self.planned, !self.shows_deleted);
        let done = if self.replaces {
            set.run_replacing_watched(&options, cancel, transform, &mut watch)
        } else {
            set.run_watched(&options, cancel, transform, &mut watch)
        };
        done.map(|done| (done, watch.notes)).map_err(|error| match error {
            UpdateError::Fs(error) if is_about(root, &error) => {
                Unfinished::from(error).map(|failure| failure.with_hint(ROOT_NOT_WRITABLE))
            }
            UpdateError::Fs(error) => unfinished(error),
            UpdateError::Refused(unfinished) => unfinished,
        })
    }
}

fn limits(file_bytes: u64) -> ChangeLimits {
    ChangeLimits {
        files: MAX_FILES,
        file_bytes,
        // A patch of one file may fill the whole limit before and after.
        total_bytes: MAX_TOTAL_BYTES.max(file_bytes.saturating_mul(2)),
    }
}

/// Whether the root itself is what cannot be changed: the plan of a set lies in it for a moment.
fn is_about(root: &Root, error: &FsError) -> bool {
    let is_refused = matches!(error.kind, FsErrorKind::Permission { .. } | FsErrorKind::Io { .. });
    is_refused && root.path().as_os_str() == &*error.path
}

fn unfinished(error: FsError) -> Unfinished {
    let hint = refused(&error);
    Unfinished::from(error).map(|failure| match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    })
}
