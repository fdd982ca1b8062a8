//! Path text: what a caller may write, and how an absolute path becomes one below the root.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::error::shortened;
use crate::{FsError, FsErrorKind};

/// Linux's `PATH_MAX`. Other systems allow less and report that themselves.
const MAX_PATH_BYTES: usize = 4096;

/// Refuses text that cannot be a path.
pub(crate) fn validate(path: &str) -> Result<(), FsError> {
    let reason = if path.is_empty() {
        "Path must be a string"
    } else if path.contains('\0') {
        "Path holds a NUL byte"
    } else if path.len() > MAX_PATH_BYTES {
        "Path is too long"
    } else {
        return Ok(());
    };
    Err(FsErrorKind::PathInvalid { reason }.at(shortened(path)))
}

/// The rest of `path` behind `prefix`, or `None` if it does not begin with it.
///
/// Compares by component and ignores `.` and doubled slashes. A `..` stays for the resolver to
/// judge, and so does a trailing slash, which asks for a directory.
pub(crate) fn below(path: &Path, prefix: &Path) -> Option<PathBuf> {
    let rest = path.strip_prefix(prefix).ok()?;
    let mut rest = rest.to_path_buf();
    if rest.as_os_str().is_empty() {
        rest.push(".");
    } else if asks_for_directory(path) {
        rest.push("");
    }
    Some(rest)
}

/// True for `a/`, `a/.`, `.` and the like: forms that only a directory can satisfy.
pub(crate) fn asks_for_directory(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.") || bytes == b"."
}

/// One step of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// `..`
    Up,
    /// A name.
    Down(Box<OsStr>),
}

/// The steps of a relative path, in reverse order, so that a walk can pop them.
pub(crate) fn steps_reversed(path: &Path) -> Vec<Step> {
    path.components()
        .rev()
        .filter_map(|component| match component {
            Component::ParentDir => Some(Step::Up),
            Component::Normal(name) => Some(Step::Down(name.into())),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        })
        .collect()
}

/// `path` without `.` and doubled slashes: the real path, if there is no link on the way. `None`
/// for a path with `..`, which depends on where the walk is.
pub(crate) fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::with_capacity(path.as_os_str().len());
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

/// Splits `a/b/c` into (`a/b`, `c`). The parent of a bare name is `None` (the root itself).
///
/// `None` if the last component is not a name (`..`, `.`, a trailing slash).
pub(crate) fn split_last(path: &Path) -> Option<(Option<&Path>, &OsStr)> {
    if asks_for_directory(path) {
        return None;
    }
    let name = path.file_name()?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Some((parent, name))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use super::*;

    #[test]
    fn below_strips_whole_components_only() {
        let cases = [
            ("/root/a", "/root", Some("a")),
            ("/root//./a", "/root", Some("a")),
            ("/root", "/root", Some(".")),
            ("/root/", "/root", Some(".")),
            ("/rooted/a", "/root", None),
            ("/root/../x", "/root", Some("../x")),
            ("/x", "/", Some("x")),
            ("/", "/", Some(".")),
            ("/root/a/", "/root", Some("a/")),
        ];
        for (path, prefix, want) in cases {
            let got = below(Path::new(path), Path::new(prefix));
            assert_eq!(got.as_deref().map(|p| p.to_str().unwrap()), want, "{path} below {prefix}");
        }
    }

    #[test]
    fn names_are_split_from_their_parents() {
        assert_eq!(split_last(Path::new("a/b")), Some((Some(Path::new("a")), OsStr::new("b"))));
        assert_eq!(split_last(Path::new("b")), Some((None, OsStr::new("b"))));
        for directory_form in [".", "..", "a/", "a/.", "a/.."] {
            assert_eq!(split_last(Path::new(directory_form)), None, "{directory_form}");
        }
    }

    #[test]
    fn invalid_text_is_named() {
        assert!(validate("a").is_ok());
        for bad in ["", "a\0b", &"x".repeat(5000)] {
            assert!(matches!(
                validate(bad),
                Err(FsError { kind: FsErrorKind::PathInvalid { .. }, .. })
            ));
        }
    }
}
