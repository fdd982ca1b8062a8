//! The new bytes are first written to a temporary file beside the file that they will replace.
//!
//! The name of the temporary file shows its owner and its state. It does not contain the target's
//! name, which may have the greatest length of a name already:
//!
//! - `.toolwright-REALM-PID-START-SEQ.part`: being written, and unknown to other processes;
//! - `.toolwright-REALM-PID-START-SEQ-NEW-OUT-TARGET.swap`: about to be exchanged with its target,
//!   or just exchanged. `NEW` is the fingerprint of the new file, `OUT` that of the file which
//!   should come out of the exchange; `TARGET` is the hash of the target's name.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use toolwright_process::ShortId;

use crate::deferred_close;

/// Every temporary file's name begins with this.
pub(crate) const PREFIX: &str = ".toolwright-";
const PART: &str = ".part";
const SWAP: &str = ".swap";

/// A temporary file; removed on drop unless it was published.
#[derive(Debug)]
pub(crate) struct Temporary<'a> {
    directory: BorrowedFd<'a>,
    name: OsString,
    pub(crate) file: File,
    sequence: u64,
    present: bool,
}

impl<'a> Temporary<'a> {
    /// Creates an empty file in `directory`. `mode` is subject to the umask.
    pub(crate) fn create(directory: BorrowedFd<'a>, mode: Mode) -> Result<Self, Errno> {
        static SEQUENCE: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NOCTTY;
        loop {
            let sequence = SEQUENCE.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(part_name(ShortId::current(), sequence));
            match rustix::fs::openat(directory, &name, flags, mode) {
                Ok(fd) => {
                    let file = File::from(fd);
                    return Ok(Self { directory, name, file, sequence, present: true });
                }
                // Only a file made by hand, or a reused pid, can have the name.
                Err(Errno::EXIST) => {}
                Err(Errno::NOSPC | Errno::DQUOT) if deferred_close::wait_for_space() => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Renames the file to its `.swap` name.
    pub(crate) fn announce_swap(&mut self, swap: Swap) -> Result<(), Errno> {
        let name = OsString::from(swap_name(ShortId::current(), self.sequence, swap));
        rustix::fs::renameat(self.directory, &self.name, self.directory, &name)?;
        self.name = name;
        Ok(())
    }

    /// Renames the file over `target`.
    pub(crate) fn rename_over(&mut self, target: &OsStr) -> Result<(), Errno> {
        rustix::fs::renameat(self.directory, &self.name, self.directory, target)?;
        self.present = false;
        Ok(())
    }

    /// Leaves the file behind, because it may be the only copy of its bytes. A later call settles
    /// it once this process has ended.
    pub(crate) fn leave(mut self) {
        self.present = false;
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if self.present {
            let _ = rustix::fs::unlinkat(self.directory.as_fd(), &self.name, AtFlags::empty());
        }
    }
}

/// Identifies a file and its state. It changes with every replacement and with almost every write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of a file whose status is unknown.
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn of(stat: &rustix::fs::Stat) -> Self {
        let mut hasher = DefaultHasher::new();
        (i128::from(stat.st_ino), i128::from(stat.st_size)).hash(&mut hasher);
        (i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec)).hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// The hash of a name, short enough to be part of a temporary file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameHash(u64);

impl NameHash {
    pub(crate) fn of(name: &OsStr) -> Self {
        let mut hasher = DefaultHasher::new();
        name.as_bytes().hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// An exchange that is about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Swap {
    /// The new file.
    pub(crate) new: Fingerprint,
    /// The file that should come out of the exchange.
    pub(crate) out: Fingerprint,
    /// The name that it is exchanged with.
    pub(crate) target: NameHash,
}

/// The meaning of a temporary file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Residue {
    /// Not published: worthless without its owner.
    Part(ShortId),
    /// Interrupted during an exchange.
    Swap(ShortId, Swap),
}

impl Residue {
    pub(crate) fn parse(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?.strip_prefix(PREFIX)?;
        let (fields, swap) = match (name.strip_suffix(PART), name.strip_suffix(SWAP)) {
            (Some(fields), _) => (fields, false),
            (_, Some(fields)) => (fields, true),
            _ => return None,
        };
        let (owner, fields) = ShortId::parse_prefix(fields)?;
        let mut fields = fields.split('-').map(|field| u64::from_str_radix(field, 16).ok());
        let mut next = || fields.next().flatten();
        let _sequence = next()?;
        Some(if swap {
            let (new, out) = (Fingerprint(next()?), Fingerprint(next()?));
            Self::Swap(owner, Swap { new, out, target: NameHash(next()?) })
        } else {
            Self::Part(owner)
        })
    }

    pub(crate) fn owner(&self) -> ShortId {
        match self {
            Self::Part(owner) | Self::Swap(owner, _) => *owner,
        }
    }
}

pub(crate) fn part_name(owner: ShortId, sequence: u64) -> String {
    format!("{}{PART}", stem(owner, sequence))
}

pub(crate) fn swap_name(owner: ShortId, sequence: u64, swap: Swap) -> String {
    let Swap { new, out, target } = swap;
    format!("{}-{:x}-{:x}-{:x}{SWAP}", stem(owner, sequence), new.0, out.0, target.0)
}

fn stem(owner: ShortId, sequence: u64) -> String {
    format!("{PREFIX}{owner}-{sequence:x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_fit_everywhere() {
        let owner = ShortId { realm: u64::MAX, pid: u32::MAX, start: u64::MAX };
        let part = part_name(owner, u64::MAX);
        let most = Fingerprint(u64::MAX);
        let exchange = Swap { new: most, out: most, target: NameHash(u64::MAX) };
        let swap = swap_name(owner, u64::MAX, exchange);
        assert_eq!(Residue::parse(part.as_bytes()), Some(Residue::Part(owner)));
        assert_eq!(Residue::parse(swap.as_bytes()), Some(Residue::Swap(owner, exchange)));
        assert!(swap.len() <= 143, "{} bytes: eCryptfs allows 143", swap.len());
    }

    #[test]
    fn other_names_are_nobodys() {
        for name in ["a.part", ".toolwright-", ".toolwright-1-2.part", ".toolwright-x-1-1-1.part"] {
            assert_eq!(Residue::parse(name.as_bytes()), None, "{name}");
        }
    }
}
