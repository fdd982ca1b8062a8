//! Results as records instead of text, because a path may contain a colon or a newline.
//!
//! A matching line is the path, a NUL byte, the line number, a NUL byte, the column if only a part of the
//! line is there, a NUL byte, and the line with a newline.
//! A file name is the path and a NUL byte.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit<'r> {
    /// The file, relative to the root.
    pub path: &'r Path,
    /// The line number, from 1.
    pub line: u64,
    /// The line without its terminator, or the part of a long one around its match. Not always UTF-8.
    pub text: &'r [u8],
    /// If it is a part: the byte of the line at which the match begins, from 1.
    pub column: Option<u64>,
}

/// Reads the records of lines.
pub(crate) fn hits(mut records: &[u8]) -> impl Iterator<Item = Hit<'_>> {
    let mut until = move |end: u8| {
        let at = records.iter().position(|&byte| byte == end)?;
        let (part, rest) = (&records[..at], &records[at + 1..]);
        records = rest;
        Some(part)
    };
    std::iter::from_fn(move || {
        let path = Path::new(OsStr::from_bytes(until(0)?));
        let line = std::str::from_utf8(until(0)?).ok()?.parse().ok()?;
        let column = std::str::from_utf8(until(0)?).ok()?.parse().ok();
        let text = until(b'\n')?;
        Some(Hit { path, line, text: text.strip_suffix(b"\r").unwrap_or(text), column })
    })
}

/// Reads the records of file names.
pub(crate) fn paths(records: &[u8]) -> impl Iterator<Item = &Path> {
    let records = records.split(|&byte| byte == 0).filter(|record| !record.is_empty());
    records.map(|path| Path::new(OsStr::from_bytes(path)))
}

/// Matching lines as text, as [`grep`](crate::grep) prints them.
pub(crate) fn hits_to_text(records: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(records.len());
    for hit in hits(records) {
        text.extend_from_slice(hit.path.as_os_str().as_bytes());
        text.extend_from_slice(format!(":{}:", hit.line).as_bytes());
        text.extend_from_slice(hit.text);
        text.push(b'\n');
    }
    text
}

/// File names as text, one a line.
pub(crate) fn paths_to_text(records: &[u8]) -> Vec<u8> {
    records.iter().map(|&byte| if byte == 0 { b'\n' } else { byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_survive_a_round_trip() {
        let names = ["a", "a\nb", "\n", "\u{1}n", "a:1:b", "\r"];
        let lines = names.map(|name| format!("{name}\07\0\0x\r\n")).concat();
        let actual: Vec<Hit<'_>> = hits(lines.as_bytes()).collect();
        let expected =
            names.map(|name| Hit { path: Path::new(name), line: 7, text: b"x", column: None });
        assert_eq!(actual, expected);
        let list = names.map(|name| format!("{name}\0")).concat();
        assert!(paths(list.as_bytes()).eq(names.map(Path::new)));
    }
}
