//! Directories that git takes for its own by what is in them, under any name.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::io::Errno;
use toolwright_git::name::{Mark, makes_git_directory};

use crate::tree;

/// Whether git takes a directory for its own, with what `base` has there and these `names` of the fork. What one side has
/// deleted counts: the other one may still be a repository.
pub(crate) fn is_git_directory(
    names: &[OsString],
    base: Option<BorrowedFd<'_>>,
) -> Result<bool, Errno> {
    makes_git_directory(|mark| {
        if names.iter().any(|name| Mark::of(name.as_bytes()) == Some(mark)) {
            return Ok(true);
        }
        let there = base.map(|base| tree::look(base, mark.name().as_ref())).transpose()?;
        Ok(there.flatten().is_some())
    })
}
