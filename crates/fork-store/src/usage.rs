//! How much a fork takes of the disk.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::tree;

/// A block of the numbers that the system gives, in bytes.
const BLOCK: u64 = 512;
/// A tree that is deeper is not followed.
const MAX_DEPTH: usize = 256;

/// The bytes of all changes, git directories included. What cannot be read counts as nothing.
pub(crate) fn usage(upper: BorrowedFd<'_>) -> u64 {
    of_directory(upper, MAX_DEPTH).unwrap_or_default()
}

fn of_directory(directory: BorrowedFd<'_>, depth: usize) -> Result<u64, Errno> {
    let mut bytes = 0;
    for name in tree::all_names(directory)? {
        let Ok(Some(stat)) = tree::look(directory, &name) else { continue };
        let blocks = u64::try_from(stat.st_blocks).unwrap_or_default();
        let is_directory = tree::kind(&stat) == FileType::Directory;
        // A file of several names is counted once in all. Those of a directory are in it.
        let names = if is_directory {
            1
        } else {
            u64::try_from(i128::from(stat.st_nlink)).unwrap_or(1).max(1)
        };
        bytes += blocks.saturating_mul(BLOCK) / names;
        if is_directory && depth > 0 {
            let below = tree::directory(directory, &name);
            let below = below.and_then(|below| of_directory(below.as_fd(), depth - 1));
            bytes += below.unwrap_or_default();
        }
    }
    Ok(bytes)
}
