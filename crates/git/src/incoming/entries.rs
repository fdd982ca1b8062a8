//! The entries of a command's directory, one after the other: a million names are never held at once.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Dir, FileType};

use super::{Fault, Reason};
use crate::bounds::{Bound, Budget};
use crate::directory::Directory;

/// A directory that is being listed.
#[derive(Debug)]
pub(crate) struct Entries(Option<Dir>);

impl Entries {
    /// Opens a directory below another. There are no entries if there is none.
    pub(crate) fn open(directory: &Directory, path: &str) -> Result<Self, Reason> {
        let listed = match path {
            "." => Some(Dir::read_from(directory)),
            path => directory.below(path)?.map(Dir::read_from),
        };
        match listed.transpose() {
            Ok(listed) => Ok(Self(listed)),
            Err(errno) => Err(Reason::Unreadable(errno.into())),
        }
    }

    /// The next name, and what it is as the directory says.
    pub(crate) fn next(
        &mut self,
        budget: &mut Budget,
    ) -> Result<Option<(OsString, FileType)>, Fault> {
        while let Some(entry) = self.0.as_mut().and_then(Dir::next) {
            let entry = entry.map_err(|errno| Reason::Unreadable(io::Error::from(errno)))?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                budget.take(Bound::Entries, 1)?;
                return Ok(Some((OsStr::from_bytes(name).to_owned(), entry.file_type())));
            }
        }
        Ok(None)
    }
}
