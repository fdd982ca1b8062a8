//! Errors of files in the words of a session: its tools take no patch, and its host sets `limits` and no
//! `maxOutputBytes`.

use toolwright_core::failure::Unfinished;
use toolwright_fs::FsError;

use crate::error;
use crate::error::NativeError;

/// `None` for a cancellation, which is no error.
pub(super) fn told(error: &FsError) -> Option<NativeError> {
    error::to_error(Unfinished::from(error).for_session())
}
