//! Next moves after failures of checkpoints.

pub(crate) const DISK_FULL: &str =
    "Free some disk space and try again; the checkpoints and the files are as they were.";
pub(crate) const BUSY: &str = "Try again; if it persists, look for a process that hangs.";
pub(crate) const CORRUPT: &str =
    "Move the store away; the next checkpoint begins a new one. The files are not concerned.";
pub(crate) const CLOSED: &str = "Open it again, or close it only after the last call.";
pub(crate) const STORE_FAILED: &str =
    "Check that the directory of the store can be read and written by this user.";
pub(crate) const ROOT: &str = "Check that the directory exists and can be read.";
pub(crate) const STORE_INSIDE: &str =
    "Choose a directory for the store outside of the project, or leave `store` out.";
pub(crate) const OTHER_ROOT: &str = "Give each directory a store of its own, or leave `store` out.";
pub(crate) const NOT_FOUND: &str =
    "List the checkpoints; the oldest are removed when the store reaches its limits.";
pub(crate) const CALL_UNKNOWN: &str = "Check the id; only calls made with checkpoints are known, until their checkpoints are removed.";
pub(crate) const CONFLICT: &str = "Compare the files with the checkpoint; restore other paths alone with `paths`, or these too with `force`.";
pub(crate) const TOO_LARGE: &str = "Leave files out with `ignore`, or raise `maxBytes`.";
pub(crate) const CORRECT: &str = "Correct the value and call again.";
pub(crate) const RESTORE_FAILED: &str =
    "Remove the cause, or restore other paths alone with `paths`, and try again.";
pub(crate) const NO_PLACE: &str = "Give `store`, or set HOME or XDG_STATE_HOME.";
