//! The file format, versions 2 to 4.

use std::fmt;

use sha1::{Digest, Sha1};

use super::entry::{Flags, Record, Stat};
use super::{Extensions, Index, Layout, Mode, check, sparse, split};
use crate::object::Id;

const HEADER: usize = 12;
/// From the start of an entry to its path, without the two bytes of more flags.
const FIXED: usize = 62;
pub(super) const ASSUMED_VALID: u16 = 0x8000;
pub(super) const IS_EXTENDED: u16 = 0x4000;
pub(super) const STAGE_SHIFT: u16 = 12;
pub(super) const MAX_LENGTH: u16 = 0x0fff;
pub(super) const SKIPS_WORKTREE: u16 = 0x4000;
pub(super) const INTENT_TO_ADD: u16 = 0x2000;

/// Whose index it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The repository's own, written by the person's git. It keeps its stat data and extensions. As git
    /// does by default, nothing computes its checksum.
    Person,
    /// One that a command could write. Each entry is checked, and nothing else of it is kept.
    Command,
}

/// How large an index may be.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of the file, and bytes of all paths together.
    pub bytes: usize,
    /// Entries, those of expanded directories included.
    pub entries: usize,
}

impl Limits {
    /// For an index of a person. Git itself needs some seconds for one of this size.
    pub const PERSON: Self = Self { bytes: 1 << 30, entries: 8_000_000 };

    /// For an index of a command beside the person's own of so many bytes: what a command adds is
    /// bounded.
    #[must_use]
    pub fn beside(bytes: usize) -> Self {
        const MORE_BYTES: usize = 16 << 20;
        const MORE_ENTRIES: usize = 200_000;
        let bytes = bytes.min(Self::PERSON.bytes);
        // An entry with a short path has 72 bytes, and 65 in version 4.
        let entries = (bytes / 64 + MORE_ENTRIES).min(Self::PERSON.entries);
        Self { bytes: bytes.saturating_mul(3) + MORE_BYTES, entries }
    }
}

/// How a file is read.
pub struct Reading<'r> {
    /// Whose index it is.
    pub source: Source,
    /// How large it may be.
    pub limits: Limits,
    /// The content of `sharedindex.ID`, of which a split index tells the difference. `None`: it is not
    /// there.
    pub shared: &'r dyn Fn(&Id) -> Option<Vec<u8>>,
    /// The content of a tree, for the directories of a sparse index. `None`: it is not there.
    pub tree: &'r dyn Fn(&Id) -> Option<Vec<u8>>,
}

impl fmt::Debug for Reading<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reading").field("source", &self.source).finish_non_exhaustive()
    }
}

/// Why a file is no index that is accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// It is no index at all, or of an unknown version.
    #[error("it is no index of version 2, 3 or 4")]
    Header,
    /// It is larger than its limit.
    #[error("it is larger than its limit")]
    TooLarge,
    /// It ends in the middle of something, or something is malformed.
    #[error("its format is broken at byte {0}")]
    Broken(usize),
    /// The checksum is that of other bytes.
    #[error("its checksum is wrong")]
    Checksum,
    /// It has an extension that a reader must understand, and this one does not.
    #[error("it needs the extension {}", .0.escape_ascii())]
    Extension([u8; 4]),
    /// Entries are not in their order, or one is there twice.
    #[error("the entries are not in order at {}", .0.escape_ascii())]
    Order(Vec<u8>),
    /// An entry has a mode that no file has.
    #[error("an entry has an unknown mode: {}", .0.escape_ascii())]
    Mode(Vec<u8>),
    /// An entry has the name of no object.
    #[error("an entry has no object: {}", .0.escape_ascii())]
    NoObject(Vec<u8>),
    /// Git accepts no such path, or takes a part of it for a repository.
    #[error("a path is not accepted: {}", .0.escape_ascii())]
    Path(Vec<u8>),
    /// One path is a file and a directory.
    #[error("a path is a file and a directory: {}", .0.escape_ascii())]
    FileAndDirectory(Vec<u8>),
    /// A split index whose shared part is missing or another one.
    #[error("the shared index {0} is missing or broken")]
    Shared(Id),
    /// A sparse index with a directory whose tree is missing or broken.
    #[error("the tree {0} of a sparse directory is missing or broken")]
    Sparse(Id),
}

/// What a file says, before its parts are put together.
pub(super) struct File {
    pub(super) index: Index,
    /// The content of the extension `link`.
    pub(super) link: Option<Vec<u8>>,
    /// Whether directories may stand for the files below them.
    pub(super) is_sparse: bool,
    /// The checksum as it is written.
    pub(super) checksum: Id,
}

impl Index {
    /// Reads an index: a split one as a whole, a sparse one with every file.
    pub fn parse(bytes: &[u8], reading: &Reading<'_>) -> Result<Self, IndexError> {
        let File { mut index, link, is_sparse, .. } = file(bytes, reading)?;
        if let Some(link) = link {
            index = split::joined(index, &link, reading)?;
        }
        check::order(&index)?;
        if is_sparse {
            index = sparse::expanded(index, reading)?;
            check::order(&index)?;
        }
        check::modes(&index)?;
        if reading.source == Source::Command {
            check::entries(&index)?;
            index.extensions = Extensions::default();
            for record in &mut index.records {
                record.stat = Stat::NONE;
                record.flags.is_assumed_valid = false;
            }
        }
        Ok(index)
    }
}

/// Reads one file without judging its entries.
pub(super) fn file(bytes: &[u8], reading: &Reading<'_>) -> Result<File, IndexError> {
    if bytes.len() > reading.limits.bytes {
        return Err(IndexError::TooLarge);
    }
    let (body, trailer) = bytes.split_last_chunk::<{ Id::LENGTH }>().ok_or(IndexError::Header)?;
    let checksum = Id::new(*trailer);
    let version = match body.get(..8) {
        Some([b'D', b'I', b'R', b'C', 0, 0, 0, version @ 2..=4]) => *version,
        _ => return Err(IndexError::Header),
    };
    let count = body.get(8..HEADER).map_or(0, number) as usize;
    if count > reading.limits.entries {
        return Err(IndexError::TooLarge);
    }
    let is_without_checksum = checksum == Id::NONE;
    if reading.source == Source::Command && !is_without_checksum {
        let computed: [u8; Id::LENGTH] = Sha1::digest(body).into();
        if Id::new(computed) != checksum {
            return Err(IndexError::Checksum);
        }
    }
    let layout = Layout { is_prefixed: version == 4, is_without_checksum };
    let mut parser = Parser {
        body,
        at: HEADER,
        version,
        max_paths: reading.limits.bytes,
        index: Index { layout, ..Index::default() },
    };
    // An entry has at least `FIXED` bytes, so a count alone allocates nothing.
    parser.index.records.reserve(count.min(body.len() / FIXED));
    parser.index.paths.reserve(body.len().saturating_sub(count.saturating_mul(FIXED)));
    for _ in 0..count {
        parser.entry()?;
    }
    let (link, is_sparse) = parser.extensions()?;
    Ok(File { index: parser.index, link, is_sparse, checksum })
}

struct Parser<'b> {
    body: &'b [u8],
    at: usize,
    version: u8,
    max_paths: usize,
    index: Index,
}

impl Parser<'_> {
    fn broken(&self) -> IndexError {
        IndexError::Broken(self.at)
    }

    fn entry(&mut self) -> Result<(), IndexError> {
        let rest = self.body.get(self.at..).unwrap_or_default();
        let Some((fixed, rest)) = rest.split_first_chunk::<FIXED>() else {
            return Err(self.broken());
        };
        let mut seen = [0; 36];
        seen[..24].copy_from_slice(&fixed[..24]);
        seen[24..].copy_from_slice(&fixed[28..40]);
        let mut id = [0; Id::LENGTH];
        id.copy_from_slice(&fixed[40..60]);
        let short = u16::from_be_bytes([fixed[60], fixed[61]]);
        let mut flags = Flags {
            stage: fixed[60] >> 4 & 3,
            is_assumed_valid: short & ASSUMED_VALID != 0,
            ..Flags::default()
        };
        let (mut head, mut rest) = (FIXED, rest);
        if short & IS_EXTENDED != 0 {
            let more = rest.split_first_chunk::<2>().filter(|_| self.version > 2);
            let Some((more, after)) = more else { return Err(self.broken()) };
            let more = u16::from_be_bytes(*more);
            if more & !(SKIPS_WORKTREE | INTENT_TO_ADD) != 0 {
                return Err(self.broken());
            }
            flags.skips_worktree = more & SKIPS_WORKTREE != 0;
            flags.is_intent_to_add = more & INTENT_TO_ADD != 0;
            (head, rest) = (head + 2, after);
        }
        let before = self.index.paths.len();
        let said = short & MAX_LENGTH;
        let size = if self.version == 4 {
            head + self.prefixed(rest)?
        } else {
            let length = self.whole(rest, said)?;
            // At least one NUL, and as many as make a multiple of eight bytes.
            (head + length + 8) & !7
        };
        let length = self.index.paths.len() - before;
        let start = u32::try_from(before).map_err(|_| IndexError::TooLarge)?;
        let length = u16::try_from(length).map_err(|_| self.broken())?;
        if said != length.min(MAX_LENGTH) || self.index.paths.len() > self.max_paths {
            return Err(self.broken());
        }
        let mode = number(&fixed[24..28]);
        let id = Id::new(id);
        self.index.records.push(Record { start, length, flags, mode, id, stat: Stat(seen) });
        self.at += size;
        if self.at > self.body.len() {
            return Err(self.broken());
        }
        Ok(())
    }

    /// A path that stands there as a whole. Its length in bytes.
    fn whole(&mut self, rest: &[u8], said: u16) -> Result<usize, IndexError> {
        let length = if said < MAX_LENGTH {
            Some(usize::from(said)).filter(|length| rest.get(*length) == Some(&0))
        } else {
            rest.iter().take(check::MAX_PATH + 1).position(|byte| *byte == 0)
        };
        let path = length.and_then(|length| rest.get(..length)).ok_or_else(|| self.broken())?;
        self.index.paths.extend_from_slice(path);
        Ok(path.len())
    }

    /// A path that begins as the one before it does. How many bytes it takes.
    fn prefixed(&mut self, rest: &[u8]) -> Result<usize, IndexError> {
        let (cut, digits) = varint(rest).ok_or_else(|| self.broken())?;
        let rest = rest.get(digits..).unwrap_or_default();
        let end = rest.iter().take(check::MAX_PATH + 1).position(|byte| *byte == 0);
        let own = end.and_then(|end| rest.get(..end)).ok_or_else(|| self.broken())?;
        if let Some(last) = self.index.records.last() {
            let kept = usize::from(last.length).checked_sub(cut).ok_or_else(|| self.broken())?;
            let start = last.start as usize;
            self.index.paths.extend_from_within(start..start + kept);
        } else if cut != 0 {
            return Err(self.broken());
        }
        self.index.paths.extend_from_slice(own);
        Ok(digits + own.len() + 1)
    }

    fn extensions(&mut self) -> Result<(Option<Vec<u8>>, bool), IndexError> {
        let (mut link, mut is_sparse) = (None, false);
        while self.at < self.body.len() {
            let rest = self.body.get(self.at..).unwrap_or_default();
            let Some((signature, rest)) = rest.split_first_chunk::<4>() else {
                return Err(self.broken());
            };
            let Some((length, rest)) = rest.split_first_chunk::<4>() else {
                return Err(self.broken());
            };
            let length = u32::from_be_bytes(*length) as usize;
            let content = rest.get(..length).ok_or_else(|| self.broken())?;
            let kept = &mut self.index.extensions;
            match signature {
                b"TREE" => kept.cache_tree = Some(content.to_vec()),
                b"REUC" => kept.resolve_undo = Some(content.to_vec()),
                b"UNTR" => kept.untracked = Some(content.to_vec()),
                b"FSMN" => kept.monitor = Some(content.to_vec()),
                b"link" => link = Some(content.to_vec()),
                b"sdir" => is_sparse = true,
                // Those with a capital are of use, and no reader needs them. Two tell where entries and
                // extensions begin in this very file, and others are not known.
                [b'A'..=b'Z', ..] => {}
                needed => return Err(IndexError::Extension(*needed)),
            }
            self.at += 8 + length;
        }
        Ok((link, is_sparse))
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |all, byte| all << 8 | u32::from(*byte))
}

/// A number of any length, as git writes it, and how many bytes it takes. Larger ones than a length of a
/// path are none.
pub(super) fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        if index > 0 {
            value += 1;
        }
        value = value << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Whether this number is the mode of a file, or of a directory in a sparse index.
pub(super) fn is_directory(record: &Record) -> bool {
    record.mode == Mode::DIRECTORY
}
