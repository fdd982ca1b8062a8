//! The profile of macOS's sandbox.
