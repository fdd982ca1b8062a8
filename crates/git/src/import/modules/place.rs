//! Where submodules lie: their names, and their work trees.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::find::{MAX_PARTS, is_repository, parts};
use crate::config::Config;
use crate::directory::Directory;
use crate::import::Terms;
use crate::name::{self, Mark};
use crate::repository::DOT_GIT;

/// No file that leads to a directory is longer.
const MAX_LEAD: u64 = 8 << 10;

/// The terms for the settings of a submodule.
pub(super) fn terms<'t>(above: &'t Terms<'_>, path: &Path, top: Option<PathBuf>) -> Terms<'t> {
    Terms {
        git: above.git.join(path),
        top,
        is_writable: Box::new(|path| (above.is_writable)(path)),
        is_readable: Box::new(|path| (above.is_readable)(path)),
        lent: above.lent.clone(),
        ..*above
    }
}

/// Whether a command may give a submodule this name.
pub(super) fn is_plain(path: &Path) -> bool {
    let Some((_, name)) = parts(path) else { return false };
    let is_plain = |part: &OsStr| {
        let bytes = part.as_bytes();
        part.to_str().is_some_and(|text| !text.chars().any(char::is_control))
            && !bytes.starts_with(b"-")
            && !bytes.ends_with(b".lock")
            && name::is_allowed_tree_entry(bytes)
            // Directories of these names would make a repository of the one that holds them.
            && Mark::of(bytes).is_none()
    };
    let count = name.iter().count();
    count > 0 && count <= MAX_PARTS && name.iter().all(is_plain)
}

/// The work tree that the configuration of a submodule names.
pub(super) fn named(above: &Terms<'_>, path: &Path, config: &[u8]) -> Option<PathBuf> {
    let config = Config::parse(config)?;
    let value = config.values(b"core.worktree").last()?.as_deref()?;
    Some(clean(&above.git.join(path).join(OsStr::from_bytes(value))))
}

/// The work tree that a command has given a submodule, if it lies in the one above, whose top this is, where commands
/// write, and does not belong to another repository.
pub(super) fn accepted(
    above: &Terms<'_>,
    top: Option<&Path>,
    path: &Path,
    config: &[u8],
) -> Result<Option<PathBuf>, &'static str> {
    let Some(tree) = named(above, path, config) else { return Ok(None) };
    let Some(top) = top else { return Err("the repository above has no work tree") };
    let within = tree.strip_prefix(top).map_err(|_| "its work tree lies outside")?;
    let is_plain = !within.as_os_str().is_empty()
        && !name::holds_git_name(within)
        && within.to_str().is_some_and(|text| !text.chars().any(char::is_control));
    if !is_plain || !(above.is_writable)(&tree) {
        return Err("its work tree lies where no command writes");
    }
    match Directory::open(&tree) {
        Ok(directory) if leads_back(&directory, &tree, &above.git.join(path)) => Ok(Some(tree)),
        Ok(_) => Err("its work tree belongs to another repository"),
        // It is not checked out.
        Err(error) if error.is_absent() => Ok(Some(tree)),
        Err(_) => Err("its work tree is behind a link"),
    }
}

/// Whether the `.git` of a work tree leads to this git directory, or is not there.
fn leads_back(directory: &Directory, tree: &Path, git: &Path) -> bool {
    matches!(directory.entry(DOT_GIT), Ok(None)) || leads_to(directory, tree, git)
}

/// Whether the `.git` file of a work tree leads to this git directory.
pub(in super::super) fn leads_to(directory: &Directory, tree: &Path, git: &Path) -> bool {
    let Ok(Some(text)) = directory.read(DOT_GIT, MAX_LEAD) else { return false };
    led_to(&text, tree).is_some_and(|led| led == git)
}

/// Where the `.git` file of a work tree leads.
fn led_to(text: &[u8], tree: &Path) -> Option<PathBuf> {
    let lead = text.strip_prefix(b"gitdir: ")?;
    let end = lead.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    (end > 0).then(|| clean(&tree.join(OsStr::from_bytes(&lead[..end]))))
}

/// Whether git goes on where a submodule is staged. It ends where the `.git` file of one leads to a git directory
/// that was not made.
pub(in crate::import) fn may_be_staged(git: &Directory, terms: &Terms<'_>, path: &[u8]) -> bool {
    let Some(top) = &terms.top else { return true };
    let tree = top.join(OsStr::from_bytes(path));
    let Ok(directory) = Directory::open(&tree) else { return true };
    let Ok(Some(text)) = directory.read(DOT_GIT, MAX_LEAD) else { return true };
    let led = led_to(&text, &tree);
    let Some(within) = led.as_deref().and_then(|led| led.strip_prefix(&terms.git).ok()) else {
        return true;
    };
    matches!(git.below(within), Ok(Some(module)) if is_repository(within, &module))
}

/// A path without `.` and `..`.
pub(in super::super) fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = clean.pop(),
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean
}

/// The way from one directory to another, as git writes it.
pub(in super::super) fn relative(from: &Path, to: &Path) -> Vec<u8> {
    let common = from.iter().zip(to.iter()).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n(OsStr::new(".."), from.iter().count() - common);
    let path: PathBuf = up.chain(to.iter().skip(common)).collect();
    path.into_os_string().into_encoded_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::MODULES;
    use super::*;

    #[test]
    fn names_of_submodules_make_no_repository_and_lead_nowhere() {
        for name in ["lib", "a/b", "vendor/lib.js", "ä", "src/modules/x", "a b"] {
            assert!(is_plain(&Path::new(MODULES).join(name)), "{name}");
        }
        for name in [
            "",
            "../x",
            "a/../b",
            ".git",
            "a/.GIT",
            "git~1",
            "-x",
            "a.lock/b",
            "HEAD",
            "a/head",
            "objects",
            "x/refs",
            "commondir",
            "a\nb",
            "\u{1b}",
        ] {
            assert!(!is_plain(&Path::new(MODULES).join(name)), "{name}");
        }
        assert!(!is_plain(Path::new("hooks/x")));
        assert!(is_plain(Path::new("worktrees/t/modules/a/b")));
        for path in ["worktrees", "worktrees/t", "worktrees/t/modules", "worktrees/t/hooks/x"] {
            assert!(!is_plain(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn ways_are_as_git_writes_them() {
        for (from, to, way) in [
            ("/r/.git/modules/lib", "/r/lib", "../../../lib"),
            ("/r/.git/modules/a/b", "/r/a/b", "../../../../a/b"),
            ("/r/.git/modules/a/modules/b", "/r/a/b", "../../../../../a/b"),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)), way.as_bytes());
            assert_eq!(clean(&Path::new(from).join(way)), Path::new(to));
        }
    }
}
