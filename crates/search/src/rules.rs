//! The rules of one directory, read from its ignore files.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Mode, OFlags};

use crate::kept::Kept;

/// No ignore file is this large, but a hostile one could be; it is then no ignore file.
const IGNORE_FILE_LIMIT: u64 = 512 << 10;

/// Files of rules are kept up to this size in all: building their automata takes much longer than
/// reading them again.
const KEPT_SIZE: usize = 64 << 10;
/// A rule counts as so many bytes at least, and a file as so many.
const KEPT_RULE: usize = 32;
const KEPT_FILE: usize = 2 << 10;

static FILES: Kept<(PathBuf, Vec<u8>), Arc<Gitignore>> = Kept::new(KEPT_SIZE);

/// What a directory holds that decides about the names in and below it: a set of the names below.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Present(u8);

impl Present {
    pub(crate) const RGIGNORE: Self = Self(1);
    pub(crate) const IGNORE: Self = Self(2);
    pub(crate) const GITIGNORE: Self = Self(4);
    pub(crate) const GIT: Self = Self(8);
    pub(crate) const JJ: Self = Self(16);

    pub(crate) fn note(&mut self, name: &[u8]) {
        if name.first() == Some(&b'.') {
            self.0 |= match name {
                b".rgignore" => Self::RGIGNORE.0,
                b".ignore" => Self::IGNORE.0,
                b".gitignore" => Self::GITIGNORE.0,
                b".git" => Self::GIT.0,
                b".jj" => Self::JJ.0,
                _ => 0,
            };
        }
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether one of `names` is there.
    pub(crate) fn has(self, names: Self) -> bool {
        self.0 & names.0 != 0
    }

    /// Whether this is the top of a repository.
    pub(crate) fn is_repository(self) -> bool {
        self.has(Self::GIT.with(Self::JJ))
    }
}

/// What the ignore files of one directory say.
#[derive(Default)]
pub(crate) struct Rules {
    pub(crate) rgignore: Option<Arc<Gitignore>>,
    pub(crate) ignore: Option<Arc<Gitignore>>,
    pub(crate) gitignore: Option<Arc<Gitignore>>,
    pub(crate) exclude: Option<Arc<Gitignore>>,
}

impl Rules {
    /// Reads what is `present` in the directory at `place`, up to `room` rules. `dir` is what the
    /// paths asked about begin with there; `read` gets absolute paths.
    pub(crate) fn load(
        dir: &Path,
        place: &Path,
        present: Present,
        mut room: usize,
        read: &dyn Fn(&Path) -> Option<Vec<u8>>,
    ) -> Self {
        let mut rules = |names: Present, content: &dyn Fn() -> Option<Vec<u8>>| {
            let found = if present.has(names) { built(dir, content()?, room) } else { None };
            room -= found.as_deref().map_or(0, Gitignore::len);
            found
        };
        Self {
            rgignore: rules(Present::RGIGNORE, &|| read(&place.join(".rgignore"))),
            ignore: rules(Present::IGNORE, &|| read(&place.join(".ignore"))),
            gitignore: rules(Present::GITIGNORE, &|| read(&place.join(".gitignore"))),
            exclude: rules(Present::GIT, &|| exclude(&place.join(".git"), read)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        let files = [&self.rgignore, &self.ignore, &self.gitignore, &self.exclude];
        files.into_iter().flatten().map(|rules| rules.len()).sum()
    }
}

/// Opens what lies above the root, without waiting for the other end of a FIFO.
pub(crate) fn open_plainly(path: &Path) -> io::Result<File> {
    if toolwright_reserved::is_any() && path.metadata().is_ok_and(|found| is_reserved(&found)) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

fn is_reserved(found: &Metadata) -> bool {
    toolwright_reserved::holds(found.dev(), found.ino())
}

/// A regular file of reasonable size.
pub(crate) fn content(file: File) -> Option<Vec<u8>> {
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(IGNORE_FILE_LIMIT + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= IGNORE_FILE_LIMIT).then_some(bytes)
}

/// The `info/exclude` of a repository. In a worktree, `.git` is a file that names a directory, in
/// which another file names the repository.
fn exclude(git: &Path, read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    if let Some(found) = read(&git.join("info/exclude")) {
        return Some(found);
    }
    let pointer = read(git)?;
    let worktree = as_path(first_line(&pointer).strip_prefix(b"gitdir: ")?);
    if !worktree.is_absolute() {
        return None;
    }
    let common = read(&worktree.join("commondir"))?;
    read(&worktree.join(as_path(first_line(&common))).join("info/exclude"))
}

fn first_line(content: &[u8]) -> &[u8] {
    let line = content.split(|&byte| byte == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// The rules of a file with this content, kept for as long as it has it.
fn built(dir: &Path, content: Vec<u8>, room: usize) -> Option<Arc<Gitignore>> {
    let lines = content.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count();
    if lines <= room
        && let Some(kept) = FILES.find(|(of, known)| *known == content && of == dir)
    {
        return Some(kept);
    }
    let rules = Arc::new(parse(dir, &content, room)?);
    let takes = content.len().max(lines * KEPT_RULE).max(KEPT_FILE);
    FILES.keep((dir.to_owned(), content), Arc::clone(&rules), takes);
    Some(rules)
}

/// One rule per line; a line that is no rule is passed over, and a line that is not UTF-8 ends the
/// file, as in ripgrep.
fn parse(dir: &Path, content: &[u8], room: usize) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(dir);
    let mut lines = 0;
    for (number, line) in content.split(|&byte| byte == b'\n').enumerate() {
        let Ok(line) = std::str::from_utf8(line) else { break };
        let line = if number == 0 { line.trim_start_matches('\u{feff}') } else { line };
        let line = line.strip_suffix('\r').unwrap_or(line);
        // A line that is no rule is passed over.
        let _ = builder.add_line(None::<PathBuf>, line);
        lines += usize::from(!line.is_empty());
        if lines > room {
            return None;
        }
    }
    let rules = builder.build().ok()?;
    (!rules.is_empty()).then_some(rules)
}
