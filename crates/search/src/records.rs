//! What a search finds, as records and not as text: a path may hold a colon or a newline.
//!
//! A record is the path, a NUL byte, the number of the line, a NUL byte, and the line with a newline;
//! in the path a newline is written as two bytes.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const ESCAPE: u8 = 1;

/// A path as it stands in a record.
pub(crate) fn encoded(path: &[u8]) -> Cow<'_, [u8]> {
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

fn decoded(path: &[u8]) -> Cow<'_, Path> {
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
    /// From one.
    pub line: u64,
    /// The line without its end. Not always UTF-8.
    pub text: &'r [u8],
}

/// The records of lines.
pub(crate) fn hits(records: &[u8]) -> impl Iterator<Item = Hit<'_>> {
    lines(records).filter_map(|record| {
        let mut parts = record.splitn(3, |&byte| byte == 0);
        let (path, line, text) = (parts.next()?, parts.next()?, parts.next()?);
        let line = std::str::from_utf8(line).ok()?.parse().ok()?;
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Some(Hit { path: decoded(path), line, text })
    })
}

/// The records of names.
pub(crate) fn names(records: &[u8]) -> impl Iterator<Item = Cow<'_, Path>> {
    lines(records).map(decoded)
}

fn lines(records: &[u8]) -> impl Iterator<Item = &[u8]> {
    records.split(|&byte| byte == b'\n').filter(|record| !record.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_come_back() {
        for name in ["a", "a\nb", "\u{1}", "\u{1}n", "\n\u{1}\n", "a:1:b"] {
            let encoded = encoded(name.as_bytes());
            assert!(!encoded.contains(&b'\n'));
            assert_eq!(decoded(&encoded), Path::new(name), "{name:?}");
        }
    }
}
