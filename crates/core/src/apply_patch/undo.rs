//! Undoes a patch that was applied.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use toolwright_fs::{
    Change, ChangeSet, ChangedFile, ChangedFiles, DirectoryGrant, FileChange, FsErrorKind, Inverse,
    Place, UpdateError,
};

use super::{limits, unfinished};
use crate::access::protected_below;
use crate::failure::Unfinished;
use crate::file::Publish;

/// Undoes a patch. It holds the contents of its files before and after.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undo(pub(super) ChangedFiles);

impl Undo {
    /// Puts every file back to what it was, or none. A file that was changed since refuses it.
    pub fn run(
        &self,
        root: &DirectoryGrant,
        publish: &Publish,
        cancel: &AtomicBool,
    ) -> Result<(), Unfinished> {
        let ChangedFiles { files, made } = &self.0;
        let inverse: Vec<(String, Inverse, Option<String>)> = files
            .iter()
            .map(|file| {
                let (path, inverse) = file.inverse();
                let to = match &inverse {
                    Inverse::Move { to } => Some(text(to)),
                    _ => None,
                };
                (text(path), inverse, to)
            })
            .collect();
        let changes: Vec<FileChange<'_>> = inverse
            .iter()
            .map(|(path, inverse, to)| {
                let change = match (inverse, to) {
                    (Inverse::Delete, _) => Change::Delete,
                    (Inverse::Create { mode }, _) => Change::Create { mode: *mode },
                    (Inverse::CreateLink, _) => Change::CreateLink,
                    (Inverse::Replace { by }, _) => Change::Replace { by: *by },
                    (_, Some(to)) => Change::Move { to: Place::Path(to) },
                    (Inverse::Update | Inverse::Move { .. }, None) => Change::Update,
                };
                FileChange { place: Place::Path(path), change }
            })
            .collect();
        let bytes = |file: &ChangedFile| file.new.as_ref().map_or(0, Vec::len) as u64;
        let limits = limits(files.iter().map(bytes).max().unwrap_or(0).max(u64::from(u32::MAX)));
        let root = root.open()?;
        let set = ChangeSet { root: &root, changes: &changes, emptied: made, limits };
        let real = root.canonical().unwrap_or_else(|| root.path());
        let protected = protected_below(publish.deny_write.as_deref(), real);
        let options = publish.options_for_all(protected);
        let undone = set.run(&options, cancel, |index, now| {
            let file = &files[index];
            if file.new.as_deref().unwrap_or_default() != now.bytes {
                return Err(FsErrorKind::Conflict.at(&*inverse[index].0));
            }
            Ok(file.old.clone().unwrap_or_default())
        });
        match undone {
            Ok(_) => Ok(()),
            Err(UpdateError::Fs(error) | UpdateError::Refused(error)) => Err(unfinished(error)),
        }
    }
}

/// The path of a file that was named by text, or lies in a directory that was.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
