//! The names of a database and of the files beside it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The full name of the database without links, so that every process finds the same locks.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The name of a file that belongs to the database.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
