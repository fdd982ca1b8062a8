//! Notebooks as a model reads them: cells, without media.

use std::sync::atomic::AtomicBool;

use toolwright_fs::{DirectoryGrant, FsErrorKind};
use toolwright_ledger::Shown;

use crate::failure::Unfinished;
use crate::seen::SeenFiles;

/// The largest notebook. Its pictures are in it.
pub const MAX_NOTEBOOK_BYTES: u64 = 64 << 20;

/// A notebook below a root.
#[derive(Debug, Clone, Copy)]
pub struct ReadNotebookInput<'a> {
    /// The root.
    pub root: &'a DirectoryGrant,
    /// The path, relative to the root or absolute.
    pub path: &'a str,
    /// The most bytes of the text.
    pub limit_bytes: u64,
}

/// A notebook as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotebookText {
    /// The cells. `None`: the file is no notebook.
    pub text: Option<String>,
}

impl ReadNotebookInput<'_> {
    /// Reads the notebook. `seen`: of the model that is shown its cells.
    pub fn run(
        &self,
        seen: Option<&SeenFiles>,
        cancel: &AtomicBool,
    ) -> Result<NotebookText, Unfinished> {
        let since = seen.map(SeenFiles::now);
        let root = self.root.open()?;
        let (content, path) =
            toolwright_fs::read_named(&root, self.path, MAX_NOTEBOOK_BYTES, cancel)?;
        let Ok(view) = toolwright_notebook::view(&content) else {
            return Ok(NotebookText { text: None });
        };
        let (bytes, limit) = (view.len() as u64, self.limit_bytes);
        if bytes > limit {
            return Err(FsErrorKind::TooLarge { bytes, limit, result: false }.at(self.path).into());
        }
        if let (Some(seen), Some(since)) = (seen, since) {
            seen.shown(path.as_deref(), since, Shown::Whole(&content));
        }
        Ok(NotebookText { text: Some(view) })
    }
}
