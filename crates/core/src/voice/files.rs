//! Next moves after failures of file operations.

use std::borrow::Cow;

use toolwright_fs::FsError;

/// After an attempt to read a binary file.
pub(crate) const BINARY: &str =
    "Only text can be read; look at it with a command that knows its format.";

/// For every reader, unless [`session_hint`] has another.
pub(crate) fn hint(error: &FsError) -> Cow<'static, str> {
    Cow::Borrowed(error.hint())
}

/// For a tool of a session, where [`hint`] would lead nowhere.
pub(crate) fn session_hint(error: &FsError) -> Option<&'static str> {
    match error {
        FsError::TooLarge { result: true, .. } => Some(
            "Nothing was changed. Make the new text shorter, or divide the file; the host can raise limits.textBytes.",
        ),
        FsError::TooLarge { .. } => Some(
            "Read it in parts (offset, limit) or search it with grep, and change it with a command; the host can raise limits.textBytes.",
        ),
        FsError::Conflict { .. } => Some(
            "Nothing was changed. Read the file again, and make the change to what it holds now.",
        ),
        FsError::NotReplaceable { .. } => {
            Some("Nothing was changed. Write to another path, or have the cause fixed.")
        }
        FsError::Root { .. } => {
            Some("Go on without it; the host opens a new session when the directory is there.")
        }
        _ => None,
    }
}
