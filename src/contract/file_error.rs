//! Errors of files in the words of a session: its tools take no patch, and its host sets `limits` and no
//! `maxOutputBytes`.

use toolwright_core::failure::{Unfinished, files};
use toolwright_fs::FsError;

use crate::error;
use crate::error::NativeError;

/// `None` for a cancellation, which is no error.
pub(super) fn told(error: &FsError) -> Option<NativeError> {
    error::to_error(Unfinished::from(error).for_session())
}

/// The same for the directory of a command.
pub(super) fn of_workdir(error: &FsError) -> Option<NativeError> {
    let hint = "Check `workdir`, or leave it out to run in the workspace.";
    let unfinished = match error {
        FsError::NotADirectory { .. } => {
            Unfinished::from(error).map(|failure| failure.with_hint(hint))
        }
        _ => files::working_directory(error, hint),
    };
    error::to_error(unfinished.for_session())
}
