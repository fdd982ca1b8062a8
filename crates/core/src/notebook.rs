//! Notebooks as a model reads and changes them: cells, without media.

use std::sync::atomic::AtomicBool;

use toolwright_fs::{DirectoryGrant, FsErrorKind};
use toolwright_ledger::Shown;

use crate::access::target::Target;
use crate::failure::{Failure, Unfinished, changes};
use crate::file::Publish;
use crate::seen::SeenFiles;

/// The largest notebook. Its pictures are in it.
const MAX_NOTEBOOK_BYTES: u64 = 64 << 20;

/// What a header of a cell begins with.
const HEADER: &str = "# %%";

/// Whether a file is named as a notebook.
#[must_use]
pub fn is_named(path: &str) -> bool {
    let extension = path.len().checked_sub(6).and_then(|at| path.get(at..));
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case(".ipynb"))
}

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

impl Target {
    /// Reads the cells of the opened notebook, however long they are. `seen`: of the model that is shown them, if they have at
    /// most `shown_bytes`.
    pub fn read_notebook(
        &self,
        shown_bytes: u64,
        seen: Option<&SeenFiles>,
        cancel: &AtomicBool,
    ) -> Result<NotebookText, Unfinished> {
        let since = seen.map(SeenFiles::now);
        let content = self.read_whole(MAX_NOTEBOOK_BYTES, cancel)?;
        let Ok(view) = toolwright_notebook::view(&content) else {
            return Ok(NotebookText { text: None });
        };
        if let (Some(seen), Some(since)) = (seen, since)
            && view.len() as u64 <= shown_bytes
        {
            seen.shown(Some(self.file.real_path()), since, Shown::Whole(&content));
        }
        Ok(NotebookText { text: Some(view) })
    }
}

/// The most bytes of a file that is changed, if `limit_bytes` are those of any other file.
pub(crate) fn file_limit(publish: &Publish, path: &str, limit_bytes: u64) -> u64 {
    let is_notebook = publish.notebooks && is_named(path);
    if is_notebook { limit_bytes.max(MAX_NOTEBOOK_BYTES) } else { limit_bytes }
}

/// What becomes of a file by a change of what a model is shown of it: of the cells of a notebook, and of any other file's own
/// text.
pub(crate) fn changed<T>(
    publish: &Publish,
    path: &str,
    content: &[u8],
    change: impl FnOnce(&[u8]) -> Result<(Vec<u8>, T), Unfinished>,
) -> Result<(Vec<u8>, T), Unfinished> {
    if !publish.notebooks || !is_named(path) {
        return change(content);
    }
    let Ok(view) = toolwright_notebook::view(content) else {
        let (bytes, told) = change(content)?;
        check_whole(publish, path, &bytes)?;
        return Ok((bytes, told));
    };
    let (cells, told) = change(view.as_bytes())?;
    let bytes = toolwright_notebook::with_view(content, &String::from_utf8_lossy(&cells))
        .map_err(|error| changes::cells_not_put_back(path, &error))?;
    if bytes == content && cells != view.as_bytes() {
        return Err(changes::outputs_stay(path).into());
    }
    Ok((bytes, told))
}

/// Refuses cells as the whole of a notebook: its metadata and its outputs would be gone.
pub(crate) fn check_whole(publish: &Publish, path: &str, content: &[u8]) -> Result<(), Failure> {
    let are_cells = || content.trim_ascii_start().starts_with(HEADER.as_bytes());
    if publish.notebooks && is_named(path) && are_cells() {
        return Err(changes::cells_are_no_notebook(path));
    }
    Ok(())
}
