//! Which file a part of a unified diff is for, and what happens to it.

use std::ops::Range;

use crate::error::{HeaderLine, PatchError};
use crate::excerpt::excerpt;
use crate::files_error::FilesError;
use crate::headers::{PatchText, is_new_name, is_old_name};

/// The mode of a plain file, the only one that a patch can set.
const PLAIN_FILE: &str = "100644";

/// The mode of a symbolic link.
const LINK: &str = "120000";

/// The letters that Git puts before names: by default `a` and `b`, and others by configuration.
const PREFIXES: [&str; 6] = ["a/", "b/", "c/", "i/", "o/", "w/"];

/// What a patch does to a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Create,
    Update { move_to: Option<String> },
    Delete,
}

/// A name in a header. `None` is `/dev/null`.
type Name = Option<String>;

/// The lines above the hunks of one file.
#[derive(Debug, Default)]
pub(crate) struct Header<'p> {
    git: Option<&'p str>,
    old: Option<Name>,
    new: Option<Name>,
    from: Option<String>,
    to: Option<String>,
    created: bool,
    deleted: bool,
    /// It is a symbolic link that is deleted.
    pub(crate) is_link: bool,
}

impl<'p> Header<'p> {
    pub(crate) fn read(lines: &PatchText<'p>, range: Range<usize>) -> Result<Self, PatchError> {
        let mut header = Self::default();
        for at in range {
            let Some(line) = lines.text(at) else { break };
            header.line(at, line)?;
        }
        Ok(header)
    }

    fn line(&mut self, at: usize, line: &'p str) -> Result<(), PatchError> {
        let refused =
            |reason: fn(HeaderLine) -> FilesError| Err(reason(HeaderLine::new(at, line)).into());
        if line == "GIT binary patch"
            || (line.starts_with("Binary files ") && line.ends_with(" differ"))
        {
            return Err(PatchError::Binary(HeaderLine::new(at, line)));
        }
        if let Some(names) = line.strip_prefix("diff --git ") {
            self.git = Some(names);
        } else if is_old_name(line) && self.old.is_none() {
            self.old = Some(name(line));
        } else if is_new_name(line) && self.new.is_none() {
            self.new = Some(name(line));
        } else if self.git.is_some() {
            if let Some(path) = line.strip_prefix("rename from ") {
                self.from = Some(unquoted(path));
            } else if let Some(path) = line.strip_prefix("rename to ") {
                self.to = Some(unquoted(path));
            } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
                return refused(FilesError::Copy);
            } else if let Some(mode) = line.strip_prefix("new file mode ") {
                self.created = true;
                if mode.trim() != PLAIN_FILE {
                    return refused(FilesError::Mode);
                }
            } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
                self.deleted = true;
                self.is_link = mode.trim() == LINK;
                // Repositories are no files.
                if !mode.trim().starts_with("100") && !self.is_link {
                    return refused(FilesError::Mode);
                }
            } else if line.starts_with("old mode ") || line.starts_with("new mode ") {
                return refused(FilesError::Mode);
            }
        }
        Ok(())
    }

    /// The path of the file and what happens to it. The part begins at line `start`.
    pub(crate) fn role(
        self,
        lines: &PatchText<'_>,
        start: usize,
        has_hunks: bool,
    ) -> Result<(String, Role), PatchError> {
        let header = || HeaderLine::new(start, lines.text(start).unwrap_or_default());
        let differ = |old: &str, new: &str| FilesError::NamesDiffer {
            patch_line: start + 1,
            old: excerpt(old),
            new: excerpt(new),
        };
        let without_names = self.git.is_some() && self.old.is_none() && self.new.is_none();
        let (old, new) = match (self.old, self.new) {
            // Git names an empty file only in its first line.
            (None, None) => {
                let path = self.git.and_then(git_path);
                let old = Some(path.clone()).filter(|_| !self.created);
                let new = Some(path).filter(|_| !self.deleted);
                (old.flatten(), new.flatten())
            }
            (Some(Some(old)), Some(Some(new))) => {
                let (old, new) = without_prefixes(old, new);
                (Some(old), Some(new))
            }
            (Some(old), Some(new)) => (old.map(without_prefix), new.map(without_prefix)),
            (Some(Some(one)), None) | (None, Some(Some(one))) => {
                let one = without_prefix(one);
                (Some(one.clone()), Some(one))
            }
            (Some(None), None) | (None, Some(None)) => (None, None),
        };
        if let (Some(from), Some(to)) = (self.from, self.to) {
            let fits = |name: &Name, path: &str| name.as_ref().is_none_or(|name| name == path);
            let fit = fits(&old, &from) && fits(&new, &to);
            if !without_names && !fit {
                return Err(differ(&old.unwrap_or_default(), &new.unwrap_or_default()).into());
            }
            return Ok((from, Role::Update { move_to: Some(to) }));
        }
        match (old, new) {
            (None, None) => Err(FilesError::NoPath(header()).into()),
            (None, Some(path)) => Ok((path, Role::Create)),
            (Some(path), None) => Ok((path, Role::Delete)),
            (Some(old), Some(new)) if old != new => Err(differ(&old, &new).into()),
            (Some(path), Some(_)) if has_hunks => Ok((path, Role::Update { move_to: None })),
            (Some(path), Some(_)) => {
                Err(PatchError::NoHunks { patch_line: start + 1 }.in_file(&path))
            }
        }
    }
}

/// The name in a line such as `--- a/name`, which a date can follow.
fn name(line: &str) -> Name {
    let name = line.get(4..).unwrap_or_default();
    let name = if name.starts_with('"') {
        unquoted(name)
    } else {
        name.split('\t').next().unwrap_or_default().trim_end().to_owned()
    };
    Some(name).filter(|name| name != "/dev/null")
}

fn without_prefixes(old: String, new: String) -> (String, String) {
    let stripped = |name: &str| {
        PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix).map(str::to_owned))
    };
    // Without different prefixes they are directories.
    match (stripped(&old), stripped(&new)) {
        (Some(left), Some(right)) if old.as_bytes().first() != new.as_bytes().first() => {
            (left, right)
        }
        _ => (old, new),
    }
}

/// The name of a file that is created or deleted.
fn without_prefix(name: String) -> String {
    match PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        Some(rest) => rest.to_owned(),
        None => name,
    }
}

/// The path in `a/path b/path`.
fn git_path(names: &str) -> Option<String> {
    let names = names.trim_end();
    let (old, new) = if names.starts_with('"') {
        let end = quoted_end(names)?;
        (unquoted(names.get(..end)?), unquoted(names.get(end..)?.trim_start()))
    } else {
        let middle = names.len() / 2;
        let (old, new) = (names.get(..middle)?, names.get(middle..)?.strip_prefix(' ')?);
        (old.to_owned(), new.to_owned())
    };
    let (old, new) = without_prefixes(old, new);
    (old == new).then_some(new)
}

/// Where the quoted text at the beginning of `text` ends.
fn quoted_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes()
        .skip(1)
        .position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })
        .map(|at| at + 2)
}

/// A name without the quotes that Git puts around unusual ones.
fn unquoted(text: &str) -> String {
    let text = text.trim_end();
    let inner =
        quoted_end(text).filter(|_| text.starts_with('"')).and_then(|end| text.get(1..end - 1));
    let Some(inner) = inner else { return text.to_owned() };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(first @ b'0'..=b'7') => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    if let Some(digit) = rest.next_if(|digit| (b'0'..=b'7').contains(digit)) {
                        value = value * 8 + u32::from(digit - b'0');
                    }
                }
                bytes.push(u8::try_from(value).unwrap_or(b'?'));
            }
            Some(letter) => bytes.push(match letter {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                other => other,
            }),
            None => bytes.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_the_letters_that_git_adds() {
        let both = |old: &str, new: &str| without_prefixes(old.to_owned(), new.to_owned());
        assert_eq!(both("a/x", "b/x"), ("x".to_owned(), "x".to_owned()));
        assert_eq!(both("i/x", "w/x"), ("x".to_owned(), "x".to_owned()));
        assert_eq!(both("a/x", "a/x"), ("a/x".to_owned(), "a/x".to_owned()));
        assert_eq!(both("src/x", "src/x"), ("src/x".to_owned(), "src/x".to_owned()));
    }

    #[test]
    fn quoted_names_are_read() {
        assert_eq!(unquoted(r#""caf\303\251\t\"x\"""#), "café\t\"x\"");
        assert_eq!(git_path(r#""a/\303\251" "b/\303\251""#), Some("é".to_owned()));
        assert_eq!(git_path("a/with space b/with space"), Some("with space".to_owned()));
        assert_eq!(git_path("a/one b/two"), None);
    }
}
