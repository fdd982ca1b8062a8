//! The steps of a transaction, and their text in the file `plan`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// A number that names a staged file.
pub(super) type Number = u32;

/// What is done when nothing can be taken back any more. Each step can be done again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The lock becomes the file.
    Replace { number: Number, content: Content, path: PathBuf },
    /// The file goes, while its lock is held.
    Remove { number: Number, path: PathBuf },
    /// The staged content is added to a file that had the length `at`.
    Append { number: Number, content: Content, at: u64, path: PathBuf },
    /// A staged file is moved to its path.
    Put { number: Number, content: Content, path: PathBuf },
    /// A file goes, if it is still the same.
    Discard { identity: Identity, path: PathBuf },
    /// The directory of a linked work tree is moved among the staged files, if it is still the same.
    Detach { number: Number, inode: u64, path: PathBuf },
}

/// What a staged file must contain: after a crash of the machine it could be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) size: u64,
    pub(super) sum: u64,
}

/// A file and its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) inode: u64,
    pub(super) changed: i64,
    pub(super) nanoseconds: u64,
}

impl Content {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { size: bytes.len() as u64, sum: sum(bytes) }
    }
}

impl From<&rustix::fs::Stat> for Identity {
    #[expect(
        clippy::unnecessary_cast,
        reason = "the fields have other types on other architectures"
    )]
    fn from(stat: &rustix::fs::Stat) -> Self {
        Self {
            inode: stat.st_ino as u64,
            changed: stat.st_ctime as i64,
            nanoseconds: stat.st_ctime_nsec as u64,
        }
    }
}

impl Step {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Replace { path, .. }
            | Self::Remove { path, .. }
            | Self::Append { path, .. }
            | Self::Put { path, .. }
            | Self::Discard { path, .. }
            | Self::Detach { path, .. } => path,
        }
    }

    /// The place of the step in the order of all. Git writes a log before the reference, and a packed
    /// reference is gone before its file: a reader between two steps finds no value that never was.
    fn order(&self) -> u8 {
        let in_tree = below_worktree(self.path());
        let is_log = in_tree.starts_with("logs");
        let is_ref = in_tree.starts_with("refs");
        match self {
            Self::Detach { .. } => 10,
            Self::Discard { .. } if is_log => 0,
            Self::Append { .. } => 1,
            Self::Put { .. } if is_log => 1,
            Self::Put { .. } => 8,
            Self::Discard { .. } => 9,
            Self::Replace { .. } | Self::Remove { .. } if in_tree == Path::new("shallow") => 2,
            Self::Replace { .. } | Self::Remove { .. } if in_tree == Path::new("packed-refs") => 3,
            Self::Remove { .. } if is_ref => 4,
            Self::Replace { .. } if is_ref => 5,
            Self::Replace { .. } | Self::Remove { .. } if in_tree == Path::new("HEAD") => 6,
            Self::Replace { .. } | Self::Remove { .. } => 7,
        }
    }

    fn encode(&self, text: &mut Vec<u8>) {
        let line = match self {
            Self::Replace { number, content, .. } => {
                format!("replace {number} {} {} ", content.size, content.sum)
            }
            Self::Remove { number, .. } => format!("remove {number} "),
            Self::Append { number, content, at, .. } => {
                format!("append {number} {} {} {at} ", content.size, content.sum)
            }
            Self::Put { number, content, .. } => {
                format!("put {number} {} {} ", content.size, content.sum)
            }
            Self::Discard { identity, .. } => {
                format!("discard {} {} {} ", identity.inode, identity.changed, identity.nanoseconds)
            }
            Self::Detach { number, inode, .. } => format!("detach {number} {inode} "),
        };
        text.extend_from_slice(line.as_bytes());
        text.extend_from_slice(self.path().as_os_str().as_bytes());
        text.push(b'\n');
    }

    fn decode(line: &[u8]) -> Option<Self> {
        let mut words = line.splitn(2, |byte| *byte == b' ');
        let (kind, rest) = (words.next()?, words.next()?);
        let count = match kind {
            b"replace" | b"put" | b"discard" => 3,
            b"remove" => 1,
            b"detach" => 2,
            b"append" => 4,
            _ => return None,
        };
        let mut words = rest.splitn(count + 1, |byte| *byte == b' ');
        let mut numbers = [0_i128; 4];
        for number in numbers.iter_mut().take(count) {
            *number = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        }
        let path = target(Path::new(OsStr::from_bytes(words.next()?)))?;
        let natural = |index: usize| u64::try_from(numbers[index]).ok();
        if kind == b"discard" {
            let changed = i64::try_from(numbers[1]).ok()?;
            let identity = Identity { inode: natural(0)?, changed, nanoseconds: natural(2)? };
            return Some(Self::Discard { identity, path });
        }
        let number = Number::try_from(numbers[0]).ok()?;
        if kind == b"detach" {
            return Some(Self::Detach { number, inode: natural(1)?, path });
        }
        let content = Content { size: natural(1)?, sum: natural(2)? };
        Some(match kind {
            b"replace" => Self::Replace { number, content, path },
            b"put" => Self::Put { number, content, path },
            b"append" => Self::Append { number, content, at: natural(3)?, path },
            _ => Self::Remove { number, path },
        })
    }
}

/// Sorts the steps.
pub(super) fn sort(steps: &mut [Step]) {
    steps.sort_by_key(Step::order);
}

/// The content of the file `plan`.
pub(super) fn encode(steps: &[Step]) -> Vec<u8> {
    let mut text = Vec::new();
    for step in steps {
        step.encode(&mut text);
    }
    let end = format!("end {}\n", sum(&text));
    text.extend_from_slice(end.as_bytes());
    text
}

/// The steps of a file `plan`. `None`: it is not whole.
pub(super) fn decode(text: &[u8]) -> Option<Vec<Step>> {
    let lines = text.strip_suffix(b"\n")?;
    let at = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (steps, end) = text.split_at(at);
    if end != format!("end {}\n", sum(steps)).as_bytes() {
        return None;
    }
    let steps = steps.split_inclusive(|byte| *byte == b'\n');
    steps.map(|line| Step::decode(&line[..line.len() - 1])).collect()
}

/// Checks a path that a transaction may write: below the git directory, and neither an object, a hook, a
/// lock nor a file of a transaction.
pub(super) fn target(path: &Path) -> Option<PathBuf> {
    let bytes = path.as_os_str().as_bytes();
    let is_plain = path.components().all(|component| match component {
        Component::Normal(part) => !part.as_bytes().ends_with(b".lock"),
        _ => false,
    });
    let is_reserved = ["objects", "hooks", "toolwright"].iter().any(|part| path.starts_with(part));
    let is_exact = path.components().collect::<PathBuf>().as_os_str() == path.as_os_str();
    let is_target = !bytes.is_empty()
        && bytes.len() < 4000
        && !bytes.iter().any(u8::is_ascii_control)
        && is_plain
        && is_exact
        && !is_reserved;
    is_target.then(|| path.to_owned())
}

/// A path below the directory of its own work tree: `HEAD` for `worktrees/x/HEAD`.
pub(super) fn below_worktree(path: &Path) -> &Path {
    let mut components = path.components();
    if components.next() == Some(Component::Normal(OsStr::new("worktrees"))) {
        components.next();
        return components.as_path();
    }
    path
}

/// The path whose lock protects a log: `refs/heads/main` for `logs/refs/heads/main`.
pub(super) fn owner_of_log(path: &Path) -> Option<PathBuf> {
    let own = below_worktree(path);
    let named = own.strip_prefix("logs").ok()?;
    let tree = path.as_os_str().as_bytes();
    let tree = &tree[..tree.len() - own.as_os_str().as_bytes().len()];
    Some(Path::new(OsStr::from_bytes(tree)).join(named))
}

/// A sum that finds a file that was not written to its end. It is no protection against intent.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let mut chunks = bytes.chunks_exact(8);
    let mut sum = chunks.by_ref().fold(bytes.len() as u64, |sum, chunk| {
        mix(sum, chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    });
    for byte in chunks.remainder() {
        sum = mix(sum, u64::from(*byte));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let content = Content::of(b"content");
        let path = PathBuf::from("refs/heads/a b");
        let steps = vec![
            Step::Replace { number: 1, content, path: path.clone() },
            Step::Remove { number: 2, path: path.clone() },
            Step::Append { number: 3, content, at: 7, path: "logs/HEAD".into() },
            Step::Put { number: u32::MAX, content, path: "rebase-merge/done".into() },
            Step::Discard {
                identity: Identity { inode: u64::MAX, changed: -1, nanoseconds: 5 },
                path: "MERGE_HEAD".into(),
            },
            Step::Detach { number: 4, inode: 6, path: "worktrees/w".into() },
        ];
        let text = encode(&steps);
        assert_eq!(decode(&text), Some(steps));
        for end in 0..text.len() {
            assert_eq!(decode(&text[..end]), None, "{end}");
        }
        assert_eq!(decode(&encode(&[])), Some(vec![]));
    }

    #[test]
    fn a_plan_leads_nowhere_else() {
        for path in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "a/",
            "./a",
            "hooks/x",
            "objects/aa/b",
            "toolwright/x",
            "index.lock",
            "a.lock/b",
            "a\nb",
        ] {
            assert_eq!(target(Path::new(path)), None, "{path:?}");
        }
        for path in ["HEAD", "refs/heads/a/b", "worktrees/x/HEAD", "rebase-merge/done"] {
            assert_eq!(target(Path::new(path)), Some(path.into()));
        }
    }

    #[test]
    fn the_log_of_a_reference_is_protected_by_its_lock() {
        for (log, owner) in [
            ("logs/HEAD", Some("HEAD")),
            ("logs/refs/heads/logs/x", Some("refs/heads/logs/x")),
            ("worktrees/logs/logs/HEAD", Some("worktrees/logs/HEAD")),
            ("worktrees/w/HEAD", None),
            ("refs/heads/logs/x", None),
            ("MERGE_HEAD", None),
        ] {
            assert_eq!(owner_of_log(Path::new(log)), owner.map(PathBuf::from), "{log}");
        }
    }
}
