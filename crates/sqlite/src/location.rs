//! Where a file is: `file:runs.db`, a plain path, or `memory:`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::{SqliteError, SqliteErrorKind};

/// Where a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A file, relative to the current directory or absolute. `SQLite` keeps two more files beside it
    /// (`-wal`, `-shm`), and locks are in a directory beside it (`.locks`).
    File(PathBuf),
    /// A database of this process alone, gone when it is closed.
    Memory,
}

impl FromStr for Location {
    type Err = SqliteError;

    /// `memory:`, `file:PATH`, `file:///PATH` (an address, percent-encoded), or a path.
    fn from_str(text: &str) -> Result<Self, SqliteError> {
        let refused =
            |reason: &str| Err(SqliteErrorKind::Location.because(Path::new(text), reason));
        if text == "memory:" || text == ":memory:" {
            return Ok(Self::Memory);
        }
        let path = match text.strip_prefix("file:") {
            Some(address) if address.starts_with("//") => {
                let rest = address.strip_prefix("//localhost").or(address.strip_prefix("//"));
                match rest.filter(|path| path.starts_with('/')).map(decoded) {
                    Some(Some(path)) => path,
                    _ => return refused("an address of a file is `file:///PATH`"),
                }
            }
            Some(path) => path.into(),
            None if has_scheme(text) => return refused("only `file:` and `memory:` are known"),
            None => text.into(),
        };
        if path.as_os_str().is_empty() {
            return refused("the path is empty");
        }
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return refused("the path holds a NUL byte");
        }
        Ok(Self::File(path))
    }
}

/// `postgres://…` is a mistake, not a file's name.
fn has_scheme(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

fn decoded(address: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> PathBuf {
        match text.parse() {
            Ok(Location::File(path)) => path,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn files_are_named_in_three_ways() {
        assert_eq!(file("file:runs.db"), PathBuf::from("runs.db"));
        assert_eq!(file("file:/var/runs.db"), PathBuf::from("/var/runs.db"));
        assert_eq!(file("file:///var/my%20runs.db"), PathBuf::from("/var/my runs.db"));
        assert_eq!(file("file://localhost/var/x"), PathBuf::from("/var/x"));
        assert_eq!(file("a/b:c.db"), PathBuf::from("a/b:c.db"));
        assert_eq!(file("file:100%.db"), PathBuf::from("100%.db"), "only an address is encoded");
        assert!(matches!("memory:".parse(), Ok(Location::Memory)));
    }

    #[test]
    fn other_places_are_refused() {
        for text in ["", "file:", "postgres://host/db", "file://host/x", "file:///a%2", "a\0b"] {
            let error = text.parse::<Location>().expect_err(text);
            assert_eq!(error.kind, SqliteErrorKind::Location, "{text}");
        }
    }
}
