//! Entries: versions of files at their paths.

use std::fmt;

use crate::object::Id;

/// What git has seen of a file. Its bytes are kept as they are, because nothing here has to read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat(pub(super) [u8; 36]);

impl Stat {
    /// Nothing was seen: git reads the file.
    pub(super) const NONE: Self = Self([0; 36]);
}

/// What an entry is besides its path, mode and object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) stage: u8,
    pub(super) is_assumed_valid: bool,
    pub(super) skips_worktree: bool,
    pub(super) is_intent_to_add: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) start: u32,
    pub(super) length: u16,
    pub(super) flags: Flags,
    pub(super) mode: u32,
    pub(super) id: Id,
    pub(super) stat: Stat,
}

impl Record {
    /// Whether both say the same of a path, as far as a command's word counts.
    pub(super) fn says_same(&self, other: &Self) -> bool {
        self.mode == other.mode
            && self.id == other.id
            && self.flags.stage == other.flags.stage
            && self.flags.is_intent_to_add == other.flags.is_intent_to_add
    }
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// A file that is no program.
    File,
    /// A file that may be executed.
    Executable,
    /// A symbolic link.
    Link,
    /// The commit of a repository of its own.
    Gitlink,
}

impl Mode {
    pub(super) const DIRECTORY: u32 = 0o040_000;

    /// The number that git writes.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Link => 0o120_000,
            Self::Gitlink => 0o160_000,
        }
    }

    /// The kind with this number.
    #[must_use]
    pub fn with_number(number: u32) -> Option<Self> {
        [Self::File, Self::Executable, Self::Link, Self::Gitlink]
            .into_iter()
            .find(|mode| mode.number() == number)
    }
}

/// One version of a file at one path.
#[derive(Clone, Copy)]
pub struct Entry<'i> {
    path: &'i [u8],
    record: &'i Record,
}

impl<'i> Entry<'i> {
    pub(super) fn new(path: &'i [u8], record: &'i Record) -> Self {
        Self { path, record }
    }

    /// Its path below the top of the work tree, with slashes.
    #[must_use]
    pub fn path(&self) -> &'i [u8] {
        self.path
    }

    /// The kind of the file.
    #[must_use]
    pub fn mode(&self) -> Mode {
        // A parsed index has no other numbers.
        Mode::with_number(self.record.mode).unwrap_or(Mode::File)
    }

    /// Its content, or the commit of a gitlink.
    #[must_use]
    pub fn id(&self) -> Id {
        self.record.id
    }

    /// 0, or 1 to 3 in a conflict: the ancestor's version, ours and theirs.
    #[must_use]
    pub fn stage(&self) -> u8 {
        self.record.flags.stage
    }

    /// Whether only the path is staged (`git add -N`). Its object need not be there.
    #[must_use]
    pub fn is_intent_to_add(&self) -> bool {
        self.record.flags.is_intent_to_add
    }

    /// Whether git expects no file at this path (a sparse checkout).
    #[must_use]
    pub fn skips_worktree(&self) -> bool {
        self.record.flags.skips_worktree
    }

    /// Whether a person told git not to look at the file (`git update-index --assume-unchanged`).
    #[must_use]
    pub fn is_assumed_valid(&self) -> bool {
        self.record.flags.is_assumed_valid
    }

    /// What git has seen of the file: times of change, device, number, owner and size, in the order of
    /// the file format. All zeros: nothing.
    #[must_use]
    pub fn stat(&self) -> &'i [u8; 36] {
        &self.record.stat.0
    }
}

impl PartialEq for Entry<'_> {
    /// Whether both say the same of the same path. Stat data and bits about the work tree are no part of
    /// that.
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.record.says_same(other.record)
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mode, flags, path) = (self.record.mode, self.record.flags, self.path.escape_ascii());
        write!(formatter, "{mode:o} {} {} {path}", self.record.id, flags.stage)?;
        if flags.is_intent_to_add {
            write!(formatter, " (intent to add)")?;
        }
        if flags.skips_worktree {
            write!(formatter, " (skips work tree)")?;
        }
        Ok(())
    }
}
