//! A part of a file, cut between characters.

use std::fs::File;
use std::sync::atomic::AtomicBool;

use rustix::io::Errno;
use toolwright_encoding::utf16::{ByteOrder, Decoder};

use crate::cancel::checkpoint;
use crate::{FsError, utf16_range};

/// A file with a NUL byte in its first bytes is not text.
const TEXT_CHECK_BYTES: usize = 8192;
/// Bytes read between two checks of the cancel flag.
const STRIDE: usize = 1 << 20;
/// The longest character.
const CHARACTER: usize = 4;

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The bytes: whole characters, if the file is UTF-8. UTF-16 with a byte order mark has become UTF-8.
    pub bytes: Vec<u8>,
    /// Their offset in the file: the requested one, or that of the character it falls into.
    pub offset: u64,
    /// The offset of the rest. `None` at the end of the file.
    pub next_offset: Option<u64>,
    /// The size of the file.
    pub file_bytes: u64,
    /// Whether there is a NUL byte near the beginning of the file.
    pub is_binary: bool,
    /// Whether some of the bytes are not UTF-8.
    pub is_lossy: bool,
}

/// Reads at most `limit` bytes from `offset` on, but at least one character if there is one and
/// `limit` is not zero. Does not read what is before and behind.
pub(crate) fn read_range(
    file: &File,
    display_path: &str,
    offset: u64,
    limit: u64,
    cancel: &AtomicBool,
) -> Result<Range, FsError> {
    let failed = |errno| FsError::at(display_path, "reading", errno);
    let size = rustix::fs::fstat(file).map_err(failed)?.st_size;
    let size = u64::try_from(size).unwrap_or(0);
    let head = pread(file, display_path, 0, TEXT_CHECK_BYTES, cancel)?;
    let is_binary = is_binary(&head);
    // Files of procfs have contents and no size.
    let offset = if size > 0 { offset.min(size) } else { offset };
    if let Some(order) = ByteOrder::of(&head).filter(|_| !is_binary) {
        let asked = (offset, limit);
        let range = utf16_range::read_range(file, display_path, order, asked, cancel)?;
        return Ok(Range { file_bytes: size.max(range.file_bytes), ..range });
    }
    let offset = beginning(file, display_path, offset, cancel)?;

    let max_bytes = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(CHARACTER);
    let mut bytes = pread(file, display_path, offset, max_bytes, cancel)?;
    let limit = max_bytes - CHARACTER;
    let has_all = bytes.len() <= limit;
    if !has_all {
        let whole = whole_characters(&bytes[..limit]);
        bytes.truncate(if whole == 0 && limit > 0 { first_character(&bytes) } else { whole });
    }
    let end = offset.saturating_add(bytes.len() as u64);
    let is_lossy = std::str::from_utf8(&bytes).is_err();
    Ok(Range {
        offset,
        next_offset: (!has_all).then_some(end),
        file_bytes: size.max(end),
        is_binary,
        is_lossy,
        bytes,
    })
}

/// Reads up to `max_bytes` bytes of an open file from `offset` on. Fewer only at its end. `path` is for
/// errors.
pub fn read_part(
    file: &File,
    path: &str,
    offset: u64,
    max_bytes: usize,
    cancel: &AtomicBool,
) -> Result<Vec<u8>, FsError> {
    pread(file, path, offset, max_bytes, cancel)
}

/// Whether a file with these first bytes is binary. UTF-16 with a byte order mark is text.
#[must_use]
pub fn is_binary(beginning: &[u8]) -> bool {
    let beginning = &beginning[..beginning.len().min(TEXT_CHECK_BYTES)];
    let Some(order) = ByteOrder::of(beginning) else { return beginning.contains(&0) };
    let mut text = Vec::new();
    Decoder::new(order).push(beginning, &mut text);
    text.contains(&0)
}

/// The beginning of the character that `offset` falls into. Invalid bytes are left alone.
fn beginning(
    file: &File,
    display_path: &str,
    offset: u64,
    cancel: &AtomicBool,
) -> Result<u64, FsError> {
    let back = offset.min(CHARACTER as u64 - 1);
    if back == 0 {
        return Ok(offset);
    }
    let start = offset - back;
    let around = pread(file, display_path, start, CHARACTER - 1 + CHARACTER, cancel)?;
    let back = usize::try_from(back).unwrap_or(0);
    for step in 1..=back {
        let Some(from) = around.get(back - step..) else { continue };
        let length = first_character(from);
        let is_one = from.get(..length).is_some_and(|bytes| std::str::from_utf8(bytes).is_ok());
        if is_one && length > step {
            return Ok(offset - step as u64);
        }
    }
    Ok(offset)
}

/// The length of the first character, by its first byte. An invalid byte counts as one character.
fn first_character(bytes: &[u8]) -> usize {
    let length = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(_) => 1,
        None => 0,
    };
    match bytes.get(..length) {
        Some(character) if std::str::from_utf8(character).is_ok() => length,
        _ => length.min(1),
    }
}

/// The length of `bytes` without a character that is cut at the end. Bytes that are not UTF-8 stay.
#[must_use]
pub fn whole_characters(bytes: &[u8]) -> usize {
    (1..CHARACTER.min(bytes.len() + 1))
        .map(|back| bytes.len() - back)
        .find(|&at| {
            std::str::from_utf8(&bytes[at..])
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(bytes.len())
}

/// Up to `max_bytes` bytes from `offset` on. Fewer only at the end of the file.
pub(crate) fn pread(
    file: &File,
    display_path: &str,
    offset: u64,
    max_bytes: usize,
    cancel: &AtomicBool,
) -> Result<Vec<u8>, FsError> {
    let failed = |errno: Errno| FsError::at(display_path, "reading", errno);
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        checkpoint(cancel)?;
        let missing = (max_bytes - bytes.len()).min(STRIDE);
        if missing == 0 {
            return Ok(bytes);
        }
        let at = offset.saturating_add(bytes.len() as u64);
        if at > i64::MAX as u64 {
            return Ok(bytes); // no file is so long
        }
        // Reserved first, because running out of memory would otherwise abort the process.
        bytes.try_reserve(missing.min(TEXT_CHECK_BYTES)).map_err(|_| failed(Errno::NOMEM))?;
        let room = (bytes.capacity() - bytes.len()).min(missing);
        let before = bytes.len();
        bytes.resize(before + room, 0);
        match rustix::io::pread(file, &mut bytes[before..], at) {
            Ok(0) => {
                bytes.truncate(before);
                return Ok(bytes);
            }
            Ok(read) => bytes.truncate(before + read),
            Err(Errno::INTR) => bytes.truncate(before),
            Err(errno) => return Err(failed(errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use super::*;

    #[test]
    fn characters_are_told_by_their_bytes() {
        assert_eq!(first_character("é".as_bytes()), 2);
        assert_eq!(first_character("漢".as_bytes()), 3);
        assert_eq!(first_character("😀".as_bytes()), 4);
        assert_eq!(first_character(b"a"), 1);
        assert_eq!(first_character(b"\xff"), 1);
        assert_eq!(first_character(b"\xe6\xbc"), 1);
        assert_eq!(whole_characters("aé".as_bytes().get(..2).unwrap()), 1);
        assert_eq!(whole_characters(b"a\xff"), 2);
        assert_eq!(whole_characters(b""), 0);
    }
}
