//! The new bytes are first written to a temporary file beside the file that they will replace.
//!
//! The name of the temporary file shows its owner and its state. It does not contain the target's
//! name, which may have the greatest length of a name already:
//!
//! - `.toolwright-REALM-PID-START-SEQ.part`: being written, and unknown to other processes;
//! - `.toolwright-REALM-PID-START-SEQ-NEW-OUT-TARGET.swap`: about to be exchanged with its target,
//!   or just exchanged. `NEW` is the fingerprint of the new file, `OUT` that of the file which
//!   should come out of the exchange; `TARGET` is the hash of the target's name;
//! - `.toolwright-REALM-PID-START-SEQ-SET.step` and `.back`: files of the change set `SET`;
//! - `.toolwright-REALM-PID-START-SET.mark`: the set has files in this directory;
//! - `.toolwright-REALM-PID-START-SET.draft`, `.plan`, `.undo` and `.done`: its plan (see
//!   [`crate::change_set`]).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use toolwright_process::ShortId;

use crate::deferred_close::with_space;
use crate::publish::rename_unless_taken;

/// Every temporary file's name begins with this.
pub(crate) const PREFIX: &str = ".toolwright-";
const PART: &str = ".part";
const SWAP: &str = ".swap";
const STEP: &str = ".step";
const BACK: &str = ".back";
const MARK: &str = ".mark";

/// The next number in a name of this process.
static SEQUENCE: AtomicU64 = AtomicU64::new(0);

/// Whether a file has the name of one that this library is writing, in this process or another one.
#[must_use]
pub fn is_temporary_name(name: &OsStr) -> bool {
    Residue::parse(name.as_bytes()).is_some()
}

/// A name by which nobody takes a file or directory for one of a user. If this process ends, it is worthless.
#[must_use]
pub fn temporary_name() -> OsString {
    part_name(ShortId::current(), next_sequence()).into()
}

/// A number that no other name of this process has.
pub(crate) fn next_sequence() -> u64 {
    SEQUENCE.fetch_add(1, Ordering::Relaxed)
}

/// How a file is created that must not exist.
pub(crate) const NEW_FILE: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

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
        Self::create_named(directory, mode, |sequence| part_name(ShortId::current(), sequence))
    }

    /// As [`Temporary::create`], for a file of the change set `set`.
    pub(crate) fn create_step(
        directory: BorrowedFd<'a>,
        mode: Mode,
        set: SetId,
    ) -> Result<Self, Errno> {
        Self::create_named(directory, mode, |sequence| set.step(sequence))
    }

    fn create_named(
        directory: BorrowedFd<'a>,
        mode: Mode,
        named: impl Fn(u64) -> String,
    ) -> Result<Self, Errno> {
        loop {
            let sequence = next_sequence();
            let name = OsString::from(named(sequence));
            match with_space(|| rustix::fs::openat(directory, &name, NEW_FILE, mode)) {
                Ok(fd) => {
                    let file = File::from(fd);
                    return Ok(Self { directory, name, file, sequence, present: true });
                }
                // Only a file made by hand, or a reused pid, can have the name.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// The number in its name.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
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

    /// Gives the file the name `target`, unless that is taken: fails with `EXIST` then.
    pub(crate) fn rename_unless_taken(&mut self, target: &OsStr) -> Result<(), Errno> {
        rename_unless_taken(self.directory, &self.name, self.directory, target)?;
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

/// Creates a link for the change set `set`, and returns the number in its name and its status.
pub(crate) fn create_link(
    directory: BorrowedFd<'_>,
    text: &[u8],
    set: SetId,
) -> Result<(u64, rustix::fs::Stat), Errno> {
    loop {
        let sequence = next_sequence();
        let name = OsString::from(set.step(sequence));
        match rustix::fs::symlinkat(OsStr::from_bytes(text), directory, &name) {
            Ok(()) => {
                let stat = rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW)?;
                return Ok((sequence, stat));
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
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
    /// A part of a change set. Its plan says what to do with it.
    Member(SetId),
    /// The plan of a change set.
    Plan(SetId, PlanState),
}

/// Identifies a change set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SetId {
    pub(crate) owner: ShortId,
    pub(crate) sequence: u64,
}

/// How far a change set has come. Its plan has the state in its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanState {
    /// Being prepared: no file has changed.
    Draft,
    /// Committed: the changes are made, or will be.
    Plan,
    /// Given up: the changes are undone, or will be.
    Undo,
    /// Every change is made, and only the files of the set itself are left.
    Done,
}

impl PlanState {
    pub(crate) const ALL: [Self; 4] = [Self::Draft, Self::Plan, Self::Undo, Self::Done];

    fn suffix(self) -> &'static str {
        match self {
            Self::Draft => ".draft",
            Self::Plan => ".plan",
            Self::Undo => ".undo",
            Self::Done => ".done",
        }
    }
}

impl SetId {
    /// A new set of this process.
    pub(crate) fn new() -> Self {
        Self { owner: ShortId::current(), sequence: next_sequence() }
    }

    /// The name of a file that one of its steps puts in place, or has taken out.
    pub(crate) fn step(self, sequence: u64) -> String {
        format!("{}-{:x}{STEP}", stem(self.owner, sequence), self.sequence)
    }

    /// The name of a second link to an old file, where files cannot be exchanged.
    pub(crate) fn back(self, sequence: u64) -> String {
        format!("{}-{:x}{BACK}", stem(self.owner, sequence), self.sequence)
    }

    /// The name of the mark in each of its directories.
    pub(crate) fn mark(self) -> String {
        format!("{}{MARK}", stem(self.owner, self.sequence))
    }

    /// The name of its plan.
    pub(crate) fn plan(self, state: PlanState) -> String {
        format!("{}{}", stem(self.owner, self.sequence), state.suffix())
    }
}

impl Residue {
    pub(crate) fn parse(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?.strip_prefix(PREFIX)?;
        let (fields, suffix) = name.split_at(name.rfind('.')?);
        let (owner, fields) = ShortId::parse_prefix(fields)?;
        let mut fields = fields.split('-').map(|field| u64::from_str_radix(field, 16).ok());
        let mut next = || fields.next().flatten();
        let sequence = next()?;
        Some(match suffix {
            PART => Self::Part(owner),
            SWAP => {
                let (new, out) = (Fingerprint(next()?), Fingerprint(next()?));
                Self::Swap(owner, Swap { new, out, target: NameHash(next()?) })
            }
            STEP | BACK => Self::Member(SetId { owner, sequence: next()? }),
            MARK => Self::Member(SetId { owner, sequence }),
            suffix => {
                let state = PlanState::ALL.into_iter().find(|state| state.suffix() == suffix)?;
                Self::Plan(SetId { owner, sequence }, state)
            }
        })
    }

    pub(crate) fn owner(&self) -> ShortId {
        match self {
            Self::Part(owner) | Self::Swap(owner, _) => *owner,
            Self::Member(set) | Self::Plan(set, _) => set.owner,
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
        let max = Fingerprint(u64::MAX);
        let exchange = Swap { new: max, out: max, target: NameHash(u64::MAX) };
        let swap = swap_name(owner, u64::MAX, exchange);
        assert_eq!(Residue::parse(part.as_bytes()), Some(Residue::Part(owner)));
        assert_eq!(Residue::parse(swap.as_bytes()), Some(Residue::Swap(owner, exchange)));
        assert!(swap.len() <= 143, "{} bytes: eCryptfs allows 143", swap.len());
        let set = SetId { owner, sequence: u64::MAX };
        for name in [set.step(u64::MAX), set.back(u64::MAX), set.mark()] {
            assert_eq!(Residue::parse(name.as_bytes()), Some(Residue::Member(set)));
            assert!(name.len() <= 143);
        }
        for state in PlanState::ALL {
            let name = set.plan(state);
            assert_eq!(Residue::parse(name.as_bytes()), Some(Residue::Plan(set, state)));
        }
    }

    #[test]
    fn other_names_are_nobodys() {
        for name in ["a.part", ".toolwright-", ".toolwright-1-2.part", ".toolwright-x-1-1-1.part"] {
            assert_eq!(Residue::parse(name.as_bytes()), None, "{name}");
        }
    }
}
