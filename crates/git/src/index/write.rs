//! An index as bytes.

use sha1::{Digest, Sha1};

use super::entry::Record;
use super::parse::{
    ASSUMED_VALID, INTENT_TO_ADD, IS_EXTENDED, MAX_LENGTH, SKIPS_WORKTREE, STAGE_SHIFT,
};
use super::{Extensions, Index};
use crate::object::Id;

impl Index {
    /// The file, with its checksum. The version is 4 where the person's is, else the lowest that
    /// suffices.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let is_extended = |record: &Record| extended(record) != 0;
        let version: u32 = if self.layout.is_prefixed {
            4
        } else if self.records.iter().any(is_extended) {
            3
        } else {
            2
        };
        let mut bytes = Vec::with_capacity(self.paths.len() + self.records.len() * 72 + 4096);
        bytes.extend_from_slice(b"DIRC");
        bytes.extend_from_slice(&version.to_be_bytes());
        bytes.extend_from_slice(&number(self.records.len()).to_be_bytes());
        let mut before: &[u8] = b"";
        for record in &self.records {
            let path = self.path(record);
            let start = bytes.len();
            fixed(&mut bytes, record, path.len());
            if version == 4 {
                let shared =
                    path.iter().zip(before).take_while(|(one, other)| one == other).count();
                varint(&mut bytes, before.len() - shared);
                bytes.extend_from_slice(path.get(shared..).unwrap_or_default());
                bytes.push(0);
                before = path;
            } else {
                bytes.extend_from_slice(path);
                let length = bytes.len() - start;
                bytes.resize(start + ((length + 8) & !7), 0);
            }
        }
        let Extensions { cache_tree, resolve_undo, untracked, monitor } = &self.extensions;
        let extensions = [
            (b"TREE", cache_tree),
            (b"REUC", resolve_undo),
            (b"UNTR", untracked),
            (b"FSMN", monitor),
        ];
        for (signature, content) in extensions {
            if let Some(content) = content {
                bytes.extend_from_slice(signature);
                bytes.extend_from_slice(&number(content.len()).to_be_bytes());
                bytes.extend_from_slice(content);
            }
        }
        let checksum: [u8; Id::LENGTH] = if self.layout.is_without_checksum {
            [0; Id::LENGTH]
        } else {
            Sha1::digest(&bytes).into()
        };
        bytes.extend_from_slice(&checksum);
        bytes
    }
}

fn extended(record: &Record) -> u16 {
    let flags = record.flags;
    let bit = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
    bit(flags.skips_worktree, SKIPS_WORKTREE) | bit(flags.is_intent_to_add, INTENT_TO_ADD)
}

fn fixed(bytes: &mut Vec<u8>, record: &Record, length: usize) {
    let stat = &record.stat.0;
    bytes.extend_from_slice(&stat[..24]);
    bytes.extend_from_slice(&record.mode.to_be_bytes());
    bytes.extend_from_slice(&stat[24..]);
    bytes.extend_from_slice(record.id.as_bytes());
    let more = extended(record);
    let mut flags = u16::try_from(length).unwrap_or(MAX_LENGTH).min(MAX_LENGTH);
    flags |= u16::from(record.flags.stage) << STAGE_SHIFT;
    if record.flags.is_assumed_valid {
        flags |= ASSUMED_VALID;
    }
    if more != 0 {
        flags |= IS_EXTENDED;
    }
    bytes.extend_from_slice(&flags.to_be_bytes());
    if more != 0 {
        bytes.extend_from_slice(&more.to_be_bytes());
    }
}

/// Git's numbers of any length: the highest bit tells that another byte follows, which begins one later.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: usize) {
    let mut digits = [0; 10];
    let mut at = digits.len() - 1;
    digits[at] = low_bits(value);
    while value > 0x7f {
        value = (value >> 7) - 1;
        at -= 1;
        digits[at] = 0x80 | low_bits(value);
    }
    bytes.extend_from_slice(&digits[at..]);
}

fn low_bits(value: usize) -> u8 {
    value.to_le_bytes()[0] & 0x7f
}

/// Lengths have four bytes. What was read is not longer.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
