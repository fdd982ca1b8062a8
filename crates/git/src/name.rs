//! Names by which git, on any file system, finds its own directory or takes another one for it.
//!
//! The file system decides whether two names are the same one. Some ignore case, some ignore characters that
//! nobody sees, some drop dots and spaces at the end, and some have a short name beside the long one. A name
//! that one of them takes for `.git` counts everywhere: a directory may be mounted elsewhere tomorrow, and
//! nobody needs such a name.

mod fold;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fold::folded;

/// Whether a file system may take a name for `.git`.
///
/// It holds every name that git refuses with `core.protectHFS` and `core.protectNTFS`, and those that other
/// file systems take for it. Backslashes count as separators, as they do for git.
///
/// ```
/// use toolwright_git::name::is_git_directory_name;
///
/// for name in [".git", ".GIT", "git~1", ".git. .", ".git::$INDEX_ALLOCATION", ".g\u{200c}it", "a\\.git"] {
///     assert!(is_git_directory_name(name.as_bytes()), "{name}");
/// }
/// for name in [".gitignore", ".github", "git", "a.git", ".git-credentials", ".git~"] {
///     assert!(!is_git_directory_name(name.as_bytes()), "{name}");
/// }
/// ```
#[must_use]
pub fn is_git_directory_name(name: &[u8]) -> bool {
    // The common case, which needs no text.
    if name.is_ascii() && !name.iter().any(|byte| matches!(byte, b'g' | b'G')) {
        return false;
    }
    name.split(|byte| *byte == b'\\').any(|part| is_spelling(&folded(part)))
}

/// Whether a component of a path may be taken for `.git`.
#[must_use]
pub fn holds_git_name(path: &Path) -> bool {
    path.iter().any(|name| is_git_directory_name(name.as_bytes()))
}

/// Whether a tree may have an entry with this name: what `git fsck` accepts, and no spelling of `.git`.
#[must_use]
pub fn is_allowed_tree_entry(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..")
        && !name.iter().any(|byte| matches!(byte, b'/' | 0))
        && !is_git_directory_name(name)
}

/// A folded name without separators.
fn is_spelling(name: &str) -> bool {
    let rest = name.strip_prefix(".git").or_else(|| {
        // The short name of `.git`. Where four others have the first letters, it has a checksum.
        let name = name.strip_prefix("gi")?;
        let name = name.strip_prefix('t').or_else(|| {
            let is_sum = name.bytes().take(4).filter(u8::is_ascii_hexdigit).count() == 4;
            is_sum.then(|| name.get(4..)).flatten()
        })?;
        let number = name.strip_prefix('~')?;
        let rest = number.trim_start_matches(|digit: char| digit.is_ascii_digit());
        (rest.len() < number.len()).then_some(rest)
    });
    rest.is_some_and(|rest| end(rest).is_empty())
}

/// What is left of the end of a name where dots and spaces there, and a stream, do not count.
fn end(rest: &str) -> &str {
    let rest = rest.split([':', '/', '\0']).next().unwrap_or_default();
    rest.trim_matches(['.', ' '])
}

/// An entry by which git takes the directory that holds it for its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mark {
    /// The current branch.
    Head,
    /// The objects.
    Objects,
    /// The references.
    Refs,
    /// A directory that has the objects and the references in its place.
    CommonDir,
}

impl Mark {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Head, Self::Objects, Self::Refs, Self::CommonDir];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Head => "HEAD",
            Self::Objects => "objects",
            Self::Refs => "refs",
            Self::CommonDir => "commondir",
        }
    }

    /// The entry that a file system may take a name for.
    #[must_use]
    pub fn of(name: &[u8]) -> Option<Self> {
        const SHORTEST: usize = 4;
        if name.len() < SHORTEST {
            return None;
        }
        let name = folded(name);
        Self::ALL.into_iter().find(|mark| {
            let rest = name.strip_prefix(mark.folded_name());
            rest.is_some_and(|rest| end(rest).is_empty())
        })
    }

    fn folded_name(self) -> &'static str {
        if self == Self::Head { "head" } else { self.name() }
    }
}

/// Whether git takes a directory with such entries for its own.
///
/// Kinds, contents and permissions do not count, although git looks at them: they change without a new name.
/// git needs `HEAD`, and either `objects` and `refs`, which may be any files that can be executed, or
/// `commondir`, which leads to both.
pub fn makes_git_directory<E>(mut has: impl FnMut(Mark) -> Result<bool, E>) -> Result<bool, E> {
    if !has(Mark::Head)? {
        return Ok(false);
    }
    Ok(has(Mark::CommonDir)? || has(Mark::Objects)? && has(Mark::Refs)?)
}

#[cfg(test)]
mod tests;
