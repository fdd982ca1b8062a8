//! Patches of several files by a model that has seen something of them.

use std::path::{Path, PathBuf};

use toolwright_fs::{ChangedFile, Watch};
use toolwright_ledger::Edited;

use super::{Note, SeenFiles};
use crate::failure::Unfinished;
use crate::voice::applied::{PatchKind, PatchedFile};

/// A patch whose files are known.
pub(crate) struct SeenPatch<'a> {
    /// `None` for a caller that keeps no account.
    seen: Option<&'a SeenFiles>,
    /// The real path of the directory that the files are below.
    root: PathBuf,
    planned: &'a [PatchedFile],
    /// Deletions show nothing of what they delete.
    deletes_unshown: bool,
    noted: Vec<(PathBuf, Noted)>,
    /// What a model reads after the patch, for each file.
    pub(crate) notes: Vec<(usize, String)>,
}

enum Noted {
    Written(Vec<u8>),
    Edited(Box<Edited>),
    Unknown,
}

impl<'a> SeenPatch<'a> {
    pub(crate) fn new(
        seen: Option<&'a SeenFiles>,
        root: PathBuf,
        planned: &'a [PatchedFile],
        deletes_unshown: bool,
    ) -> Self {
        Self { seen, root, planned, deletes_unshown, noted: Vec::new(), notes: Vec::new() }
    }

    fn look_at(
        &mut self,
        seen: &SeenFiles,
        file: &ChangedFile,
        moved: Option<&ChangedFile>,
    ) -> Result<(), Unfinished> {
        let Some(planned) = self.planned.get(file.change).filter(|_| !file.was_link) else {
            return Ok(());
        };
        let path = self.root.join(&file.path);
        let named = planned.path.as_str();
        let (old, new) = (file.old.as_deref(), file.new.as_deref());
        match (old, new) {
            (None, Some(new)) => self.noted.push((path, Noted::Written(new.to_vec()))),
            // The file has gone to where another one was.
            (Some(_), None) if planned.kind == PatchKind::Move => {
                self.noted.push((path, Noted::Written(Vec::new())));
            }
            (Some(old), None) => {
                if self.deletes_unshown {
                    self.replace(seen, (&path, named), (old, None), file.change)?;
                }
                self.noted.push((path, Noted::Written(Vec::new())));
            }
            (Some(old), Some(new)) if file.is_replaced || planned.kind == PatchKind::Add => {
                let named = planned.moved_to.as_deref().unwrap_or(named);
                self.replace(seen, (&path, named), (old, Some(new)), file.change)?;
                let noted = match moved
                    .and_then(|from| Some((self.root.join(&from.path), from.old.as_deref()?)))
                {
                    Some((from, before)) => {
                        Noted::moved(seen.ledger.judge_edit(&from, before, new, 0))
                    }
                    None => Noted::Written(new.to_vec()),
                };
                self.noted.push((path, noted));
            }
            (Some(old), Some(new)) => {
                let (edited, note) = seen.edit(&path, named, old, new);
                self.notes.extend(note.map(|note| (file.change, note)));
                match &file.moved_to {
                    Some(to) => {
                        self.noted.push((self.root.join(to), Noted::moved(edited)));
                        self.noted.push((path, Noted::Written(Vec::new())));
                    }
                    None => self.noted.push((path, Noted::Edited(Box::new(edited)))),
                }
            }
            (None, None) => {}
        }
        Ok(())
    }

    fn replace(
        &mut self,
        seen: &SeenFiles,
        (path, named): (&Path, &str),
        (old, new): (&[u8], Option<&[u8]>),
        change: usize,
    ) -> Result<(), Unfinished> {
        // What was replaced is told for every file.
        if let Note::Text(text) = seen.replace(path, named, old, new)? {
            self.notes.push((change, text));
        }
        Ok(())
    }
}

impl Noted {
    /// What is known of a file at its new place.
    fn moved(edited: Edited) -> Self {
        if edited.is_known() { Self::Edited(Box::new(edited)) } else { Self::Unknown }
    }
}

impl Watch<Unfinished> for SeenPatch<'_> {
    fn before(&mut self, files: &[ChangedFile]) -> Result<(), Unfinished> {
        let Some(seen) = self.seen else { return Ok(()) };
        for (index, file) in files.iter().enumerate() {
            let moved = index.checked_sub(1).and_then(|before| files.get(before));
            let moved = moved.filter(|one| one.change == file.change);
            self.look_at(seen, file, moved)?;
        }
        Ok(())
    }

    fn after(&mut self) {
        let Some(seen) = self.seen else { return };
        for (path, noted) in self.noted.drain(..) {
            match noted {
                Noted::Written(new) => seen.ledger.written(&path, &new),
                Noted::Edited(edited) => seen.ledger.edited(&path, *edited),
                Noted::Unknown => seen.ledger.forget(&path),
            }
        }
    }
}
