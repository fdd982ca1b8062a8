//! Whether a `.git` is that of a repository, and which excludes the repository has.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, statat};

use crate::file_content::{ReadFile, content, open_by_path};

/// Whether `git`, the path of a `.git`, makes a repository of its directory.
///
/// A directory needs what git itself asks for: `HEAD`, with `objects` and `refs` or with a `commondir`. An
/// empty one is the place where a sandbox holds a name, or a repository that is just being made. A file
/// has to name a directory.
pub(crate) fn is_repository(git: &Path, open: &dyn Fn(&Path) -> io::Result<File>) -> bool {
    match open(git) {
        Ok(file) => match file.metadata() {
            Ok(metadata) if metadata.is_dir() => has_parts(&file),
            Ok(_) => content(file).is_ok_and(|content| pointer(&content).is_some()),
            Err(_) => false,
        },
        // A link that leads out of the root is refused, and is a repository of somebody's.
        Err(error) => !matches!(
            error.kind(),
            io::ErrorKind::NotFound
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::PermissionDenied
        ),
    }
}

fn has_parts(git: &File) -> bool {
    let has = |name: &str| statat(git, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

/// The `info/exclude` of the repository whose `.git` is at the absolute path `git`. `read` reads a file,
/// as far as the caller may read it.
///
/// In a worktree, `.git` is a file that names a directory, and a file in that directory names the repository.
/// Elsewhere than `read` reaches, only a repository that names this worktree in turn is believed: any
/// file of the tree may be a `.git` that names a directory.
pub(crate) fn exclude(git: &Path, read: &ReadFile<'_>) -> Option<Vec<u8>> {
    match read(&git.join("info/exclude")) {
        Ok(content) => return Some(content),
        // It is a directory.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(_) => {}
    }
    let own = lexical(&git.parent()?.join(pointer(&read(git).ok()?)?));
    let read_elsewhere = |path: &Path| content(open_by_path(path)?);
    let is_acknowledged = || {
        let back = read_elsewhere(&own.join("gitdir"));
        back.is_ok_and(|back| lexical(&own.join(as_path(first_line(&back)))) == git)
    };
    let (common, read): (_, &ReadFile<'_>) = match read(&own.join("commondir")) {
        Ok(common) => (common, read),
        Err(_) if is_acknowledged() => {
            (read_elsewhere(&own.join("commondir")).ok()?, &read_elsewhere)
        }
        // A submodule's directory is a whole repository.
        Err(_) => (b".".to_vec(), read),
    };
    read(&lexical(&own.join(as_path(first_line(&common)))).join("info/exclude")).ok()
}

/// The directory that a `.git` file names.
fn pointer(content: &[u8]) -> Option<&Path> {
    let path = first_line(content).strip_prefix(b"gitdir: ")?;
    (!path.is_empty()).then(|| as_path(path))
}

fn first_line(content: &[u8]) -> &[u8] {
    let line = content.split(|&byte| byte == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// The same path without `.` and `..`.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_file_names_a_directory() {
        let of = |text: &str| pointer(text.as_bytes()).map(Path::to_owned);
        assert_eq!(of("gitdir: /a/b\r\n"), Some("/a/b".into()));
        assert_eq!(of("gitdir: ../.git/modules/x\n"), Some("../.git/modules/x".into()));
        for text in ["", "\n", "gitdir:", "gitdir: \n", "ref: refs/heads/main\n"] {
            assert_eq!(of(text), None, "{text:?}");
        }
    }

    #[test]
    fn paths_are_made_plain() {
        assert_eq!(lexical(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(lexical(Path::new("/../a")), Path::new("/a"));
    }
}
