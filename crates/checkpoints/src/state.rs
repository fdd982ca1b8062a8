//! What a path is at a checkpoint.

use rusqlite::Row as SqlRow;

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) what: What,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// In nanoseconds. Of what is not kept, this is the time of its last change, which no program sets.
    pub(crate) mtime: i64,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    File {
        content: i64,
        size: u64,
        hash: Hash,
    },
    /// A symbolic link with its text.
    Link(Vec<u8>),
    Directory,
    /// An entry that the ignore rules leave out. What is in it is unknown.
    Ignored,
    /// An entry that is not kept, for a reason.
    Skipped(SkipReason),
}

/// SHA-256.
pub(crate) type Hash = [u8; 32];

/// Why an entry is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// It has more than one name.
    HardLink,
    /// A pipe, a socket or a device.
    Special,
    /// It belongs to another user.
    OtherOwner,
    /// It is larger than a file may be.
    Large,
    /// It cannot be read.
    Unreadable,
}

impl SkipReason {
    pub(crate) const ALL: [Self; 5] =
        [Self::HardLink, Self::Special, Self::OtherOwner, Self::Large, Self::Unreadable];

    /// A name for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HardLink => "hard-link",
            Self::Special => "special",
            Self::OtherOwner => "other-owner",
            Self::Large => "too-large",
            Self::Unreadable => "unreadable",
        }
    }
}

impl State {
    pub(crate) fn untracked(what: What) -> Self {
        Self { what, mode: 0, uid: 0, gid: 0, mtime: 0 }
    }

    /// Whether it is a file, a link or a directory, which can be restored.
    pub(crate) fn is_kept(&self) -> bool {
        !matches!(self.what, What::Ignored | What::Skipped(_))
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.what == What::Directory
    }

    /// Whether content and permissions are the same: what an editor of the file cares about.
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        self.what == other.what && self.mode == other.mode
    }

    /// Whether they differ in more than the time of a directory, which changes with its entries.
    pub(crate) fn is_change_of(&self, other: &Self) -> bool {
        if self.is_directory() && other.is_directory() {
            (self.mode, self.uid, self.gid) != (other.mode, other.uid, other.gid)
        } else {
            self != other
        }
    }

    /// As stored: kind, and the text of a link or the reason why it is skipped.
    pub(crate) fn columns(&self) -> (i64, Option<i64>, Option<&[u8]>) {
        match &self.what {
            What::File { content, .. } => (0, Some(*content), None),
            What::Link(text) => (1, None, Some(text)),
            What::Directory => (2, None, None),
            What::Ignored => (3, None, None),
            What::Skipped(reason) => (4, None, Some(reason.as_str().as_bytes())),
        }
    }
}

/// The columns that [`read_state`] reads, of `v` (versions) joined with `c` (contents).
pub(crate) const STATE_COLUMNS: &str =
    "v.kind, v.mode, v.uid, v.gid, v.mtime, v.content, c.size, c.hash, v.text";

/// The tables that they are read from.
pub(crate) const VERSIONS: &str =
    "checkpoint_versions v LEFT JOIN checkpoint_contents c ON c.id = v.content";

/// Reads a state from the columns that begin at `at`.
pub(crate) fn read_state(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<State> {
    let text = || row.get::<_, Option<Vec<u8>>>(at + 8).map(Option::unwrap_or_default);
    let what = match row.get::<_, i64>(at)? {
        0 => What::File {
            content: row.get(at + 5)?,
            size: row.get::<_, i64>(at + 6)?.try_into().unwrap_or(0),
            hash: row.get(at + 7)?,
        },
        1 => What::Link(text()?),
        2 => What::Directory,
        3 => What::Ignored,
        _ => {
            let text = text()?;
            let known = SkipReason::ALL.into_iter();
            let reason = known.into_iter().find(|reason| reason.as_str().as_bytes() == text);
            What::Skipped(reason.unwrap_or(SkipReason::Special))
        }
    };
    let (mode, uid, gid) = (row.get(at + 1)?, row.get(at + 2)?, row.get(at + 3)?);
    Ok(State { what, mode, uid, gid, mtime: row.get(at + 4)? })
}
