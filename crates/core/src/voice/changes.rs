//! Next moves after changes that were not made.

pub(crate) const CONTENT_TOO_LARGE: &str = "Write the file in parts (a first part with write, the rest with edit); the limit is the host's.";

/// For a tool of a session.
pub(crate) const SESSION_CONTENT_TOO_LARGE: &str =
    "Write the file in parts: a first part with write, the rest with edit.";

pub(crate) const PATCH_TOO_LARGE: &str =
    "Send the hunks in several smaller patches; the limit is the host's.";

pub(crate) const SEVERAL_ROOTS: &str =
    "No file was changed. Make one patch for the files of each directory.";

pub(crate) const UNKNOWN_OPERATION: &str = "Use create, update or delete.";

pub(crate) const NO_MEMORY: &str = "Give less at once, in several calls.";
