//! Results as records instead of text, because a path may contain a colon or a newline.
//!
//! A record is the path, a NUL byte, the line number, a NUL byte, and the line with a newline. In the
//! path, a newline is escaped as two bytes.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const ESCAPE: u8 = 1;

/// A path as a record holds it.
pub(crate) fn encode(path: &[u8]) -> Cow<'_, [u8]> {
    if !path.iter().any(|&byte| byte == b'\n' || byte == ESCAPE) {
        return Cow::Borrowed(path);
    }
    let mut encoded = Vec::with_capacity(path.len() + 8);
    for &byte in path {
        match byte {
            b'\n' => encoded.extend([ESCAPE, b'n']),
            ESCAPE => encoded.extend([ESCAPE, ESCAPE]),
            byte => encoded.push(byte),
        }
    }
    Cow::Owned(encoded)
}

fn decode(path: &[u8]) -> Cow<'_, Path> {
    if !path.contains(&ESCAPE) {
        return Cow::Borrowed(Path::new(OsStr::from_bytes(path)));
    }
    let mut decoded = Vec::with_capacity(path.len());
    let mut bytes = path.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            ESCAPE if bytes.next() == Some(&b'n') => decoded.push(b'\n'),
            byte => decoded.push(byte),
        }
    }
    Cow::Owned(OsStr::from_bytes(&decoded).to_owned().into())
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit<'r> {
    /// The file, relative to the root.
    pub path: Cow<'r, Path>,
    /// The line number, from 1.
    pub line: u64,
    /// The line without its terminator. Not always UTF-8.
    pub text: &'r [u8],
}

/// Reads the records of lines.
pub(crate) fn hits(records: &[u8]) -> impl Iterator<Item = Hit<'_>> {
    split(records).filter_map(hit)
}

fn hit(record: &[u8]) -> Option<Hit<'_>> {
    let mut parts = record.splitn(3, |&byte| byte == 0);
    let (path, line, text) = (parts.next()?, parts.next()?, parts.next()?);
    let line = std::str::from_utf8(line).ok()?.parse().ok()?;
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    Some(Hit { path: decode(path), line, text })
}

/// Reads the records of file names.
pub(crate) fn paths(records: &[u8]) -> impl Iterator<Item = Cow<'_, Path>> {
    split(records).map(decode)
}

/// The records as text, one result a line, as [`grep`](crate::grep) prints them.
pub(crate) fn to_text(records: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(records.len());
    for record in split(records) {
        if let Some(Hit { path, line, text: found }) = hit(record) {
            text.extend_from_slice(path.as_os_str().as_bytes());
            text.extend_from_slice(format!(":{line}:").as_bytes());
            text.extend_from_slice(found);
        } else {
            text.extend_from_slice(decode(record).as_os_str().as_bytes());
        }
        text.push(b'\n');
    }
    text
}

fn split(records: &[u8]) -> impl Iterator<Item = &[u8]> {
    records.split(|&byte| byte == b'\n').filter(|record| !record.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_survive_a_round_trip() {
        for name in ["a", "a\nb", "\u{1}", "\u{1}n", "\n\u{1}\n", "a:1:b"] {
            let encoded = encode(name.as_bytes());
            assert!(!encoded.contains(&b'\n'));
            assert_eq!(decode(&encoded), Path::new(name), "{name:?}");
        }
    }
}
