//! A part of a file in UTF-16, as text in UTF-8. Its offsets are those of the file.

use std::fs::File;
use std::sync::atomic::AtomicBool;

use toolwright_encoding::utf16::{ByteOrder, Decoder};

use crate::FsError;
use crate::range::{Range, pread};

/// Bytes of a unit.
const UNIT: usize = 2;
/// Bytes of the longest character, a pair of units.
const PAIR: usize = 2 * UNIT;

/// Reads whole characters from `offset` on: at most `limit` bytes of the file, and of the text. At least one
/// character if there is one and `limit` is not zero.
pub(crate) fn read_range(
    file: &File,
    display_path: &str,
    order: ByteOrder,
    (offset, limit): (u64, u64),
    cancel: &AtomicBool,
) -> Result<Range, FsError> {
    let offset = beginning(file, display_path, order, offset, cancel)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let max_bytes = limit.saturating_add(PAIR);
    let bytes = pread(file, display_path, offset, max_bytes, cancel)?;
    let (mut text, mut taken) = (Vec::new(), 0);
    while limit > 0 && taken < bytes.len() {
        let rest = &bytes[taken..];
        let length = character(rest, order);
        let before = text.len();
        let mut decoder = Decoder::new(order);
        decoder.push(&rest[..length], &mut text);
        decoder.end(&mut text);
        if before > 0 && (taken + length > limit || text.len() > limit) {
            text.truncate(before);
            break;
        }
        taken += length;
    }
    let end = offset.saturating_add(taken as u64);
    let has_all = taken == bytes.len() && bytes.len() < max_bytes;
    let is_lossy = taken % UNIT != 0 || str::from_utf8(&text).is_err();
    Ok(Range {
        offset,
        next_offset: (!has_all).then_some(end),
        file_bytes: end,
        is_binary: false,
        is_lossy,
        bytes: text,
    })
}

/// The beginning of the character that `offset` falls into.
fn beginning(
    file: &File,
    display_path: &str,
    order: ByteOrder,
    offset: u64,
    cancel: &AtomicBool,
) -> Result<u64, FsError> {
    let offset = offset - offset % UNIT as u64;
    let Some(before) = offset.checked_sub(UNIT as u64) else { return Ok(offset) };
    let around = pread(file, display_path, before, PAIR, cancel)?;
    Ok(if character(&around, order) == PAIR { before } else { offset })
}

/// How many bytes the first character has. Half of a pair is one, and so is the half of a unit at the end.
fn character(bytes: &[u8], order: ByteOrder) -> usize {
    let Some(pair) = bytes.get(..PAIR) else { return bytes.len().min(UNIT) };
    let mut text = Vec::new();
    let mut decoder = Decoder::new(order);
    decoder.push(pair, &mut text);
    // Only a character of four bytes takes two units.
    if text.len() == PAIR && matches!(text[0], 0xf0..=0xf4) { PAIR } else { UNIT }
}
