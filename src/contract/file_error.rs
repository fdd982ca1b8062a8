//! Errors of files in the words of a session: its tools take no patch, and its host sets `limits` and no
//! `maxOutputBytes`.

use toolwright_fs::FsError;

use crate::error;
use crate::error::NativeError;

/// `None` for a cancellation, which is no error.
pub(super) fn told(error: &FsError) -> Option<NativeError> {
    let native = error::from_fs(error)?;
    Some(match next_move(error) {
        Some(hint) => native.with_hint(hint),
        None => native,
    })
}

/// The same for the directory of a command.
pub(super) fn of_workdir(error: &FsError) -> Option<NativeError> {
    let hint = "Check `workdir`, or leave it out to run in the workspace.";
    match error {
        FsError::NotFound { path } => {
            let summary = "Directory not found".to_owned();
            let place = format!("{summary}: `{path}`");
            Some(NativeError::new(error.code(), summary, &place, hint).with("path", path.as_str()))
        }
        FsError::NotADirectory { .. } => Some(told(error)?.with_hint(hint)),
        _ => told(error),
    }
}

/// Where that of the other tools would lead nowhere.
fn next_move(error: &FsError) -> Option<&'static str> {
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
