//! Loose objects: one compressed file for each.

mod read;
mod write;

pub(crate) use read::Content;
pub use read::LooseError;
pub use write::write;
pub(crate) use write::{refused, subdirectory};

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::object::Id;

/// The path of an object below `objects`.
pub(crate) fn path(id: &Id) -> String {
    let hex = id.to_string();
    format!("{}/{}", &hex[..2], &hex[2..])
}

/// The object whose file is named so, in the directory that is named so.
pub(crate) fn id(directory: &str, name: &OsStr) -> Option<Id> {
    Id::from_hex(&[directory.as_bytes(), name.as_bytes()].concat()).ok()
}
