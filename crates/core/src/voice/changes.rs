//! Next moves after changes that were not made.

pub(crate) const CONTENT_TOO_LARGE: &str = "Write the file in parts (a first part with write, the rest with edit); the limit is the host's.";

/// For a tool of a session.
pub(crate) const SESSION_CONTENT_TOO_LARGE: &str =
    "Write the file in parts: a first part with write, the rest with edit.";

pub(crate) const PATCH_TOO_LARGE: &str =
    "Send the hunks in several smaller patches; the limit is the host's.";

pub(crate) const NO_MEMORY: &str = "Give less at once, in several calls.";
