//! The directories whose objects a repository borrows.

#![expect(
    clippy::disallowed_methods,
    reason = "the repository's own alternates lead anywhere; nothing but a directory is opened, without waiting"
)]

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, fstat, openat};

use crate::directory::{Directory, ReadError};

/// Git follows alternates of alternates as far.
const MAX_DEPTH: usize = 5;
const MAX_STORES: usize = 64;
const MAX_FILE: u64 = 1 << 20;
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The directory, and those that it borrows from, directly or not, each once.
pub(super) fn follow(objects: Directory) -> Result<Vec<Directory>, ReadError> {
    let mut seen = vec![identity(&objects)?];
    let mut found = vec![(objects, 0)];
    let mut next = 0;
    while let Some((directory, depth)) = found.get(next) {
        next += 1;
        let depth = depth + 1;
        if depth > MAX_DEPTH {
            continue;
        }
        let text = directory.read("info/alternates", MAX_FILE)?.unwrap_or_default();
        let mut others = Vec::new();
        for path in text.split(|byte| *byte == b'\n').filter_map(path) {
            // A directory that has gone is no error for git: it has no objects.
            let Ok(other) = openat(directory.as_fd(), path, DIRECTORY, Mode::empty()) else {
                continue;
            };
            others.push(Directory::from(other));
        }
        for other in others {
            let identity = identity(&other)?;
            if !seen.contains(&identity) && found.len() < MAX_STORES {
                seen.push(identity);
                found.push((other, depth));
            }
        }
    }
    Ok(found.into_iter().map(|(directory, _)| directory).collect())
}

fn identity(directory: &Directory) -> Result<(u64, u64), ReadError> {
    let stat = fstat(directory.as_fd())?;
    Ok((stat.st_dev, stat.st_ino))
}

/// The path on a line. It may be quoted as C quotes a text.
fn path(line: &[u8]) -> Option<PathBuf> {
    if line.is_empty() || line.starts_with(b"#") {
        return None;
    }
    let quoted = line.strip_prefix(b"\"").and_then(unquote);
    Some(PathBuf::from(OsString::from_vec(quoted.unwrap_or_else(|| line.to_vec()))))
}

fn unquote(text: &[u8]) -> Option<Vec<u8>> {
    let mut path = Vec::new();
    let mut bytes = text.iter().copied();
    loop {
        let byte = match bytes.next()? {
            b'"' => return Some(path),
            b'\\' => match bytes.next()? {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                escaped @ (b'"' | b'\\') => escaped,
                first @ b'0'..=b'3' => {
                    let (second, third) = (bytes.next()?, bytes.next()?);
                    let is_octal = |digit: u8| (b'0'..=b'7').contains(&digit);
                    if !is_octal(second) || !is_octal(third) {
                        return None;
                    }
                    (first - b'0') << 6 | (second - b'0') << 3 | (third - b'0')
                }
                _ => return None,
            },
            byte => byte,
        };
        path.push(byte);
    }
}
