//! Which names a walk passes over: the rules of ripgrep, read through the confined opener.
//!
//! Per directory there are `.rgignore`, `.ignore`, `.gitignore` and `.git/info/exclude`, in this
//! order of strength; a deeper directory wins within each kind, and git's rules hold only inside a
//! repository, up to its top. Git's global excludes come last. Hidden names are passed over unless
//! a rule says `!name`.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use rustix::fs::{Mode, OFlags};

use crate::grep::OpenFile;

/// No ignore file is this large, but a hostile one could be; it is then no ignore file.
const IGNORE_FILE_LIMIT: u64 = 512 << 10;
/// So many rules can be in force at once. Each costs some kilobytes of automaton, and a tree may
/// nest hundreds of ignore files; a file that would exceed this is no ignore file.
const RULES_LIMIT: usize = 20_000;

/// What a directory holds that decides about the names in and below it: a set of the names below.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Present(u8);

impl Present {
    const RGIGNORE: u8 = 1;
    const IGNORE: u8 = 2;
    const GITIGNORE: u8 = 4;
    const GIT: u8 = 8;
    const JJ: u8 = 16;

    pub(crate) fn note(&mut self, name: &OsStr) {
        self.0 |= match name.as_bytes() {
            b".rgignore" => Self::RGIGNORE,
            b".ignore" => Self::IGNORE,
            b".gitignore" => Self::GITIGNORE,
            b".git" => Self::GIT,
            b".jj" => Self::JJ,
            _ => 0,
        };
    }

    /// For a directory that is not listed: every ignore file is tried.
    fn untold(dir: &Path) -> Self {
        let mut present = Self(Self::RGIGNORE | Self::IGNORE | Self::GITIGNORE);
        for name in [".git", ".jj"] {
            if dir.join(name).exists() {
                present.note(OsStr::new(name));
            }
        }
        present
    }

    fn has(self, names: u8) -> bool {
        self.0 & names != 0
    }
}

/// The rules of one directory.
#[derive(Default)]
struct Rules {
    rgignore: Option<Gitignore>,
    ignore: Option<Gitignore>,
    gitignore: Option<Gitignore>,
    exclude: Option<Gitignore>,
    /// The top of a repository, where git's rules from further up end.
    repository: bool,
}

impl Rules {
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        let files = [&self.rgignore, &self.ignore, &self.gitignore, &self.exclude];
        files.into_iter().flatten().map(Gitignore::len).sum()
    }

    /// `read` gets paths relative to the directory.
    /// No more than `room` rules are taken.
    fn load(
        dir: &Path,
        present: Present,
        mut room: usize,
        read: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Self {
        let mut rules = |names: u8, name: &str| {
            let found = if present.has(names) { parse(dir, &read(name)?, room) } else { None };
            room -= found.as_ref().map_or(0, Gitignore::len);
            found
        };
        Self {
            rgignore: rules(Present::RGIGNORE, ".rgignore"),
            ignore: rules(Present::IGNORE, ".ignore"),
            gitignore: rules(Present::GITIGNORE, ".gitignore"),
            exclude: rules(Present::GIT, ".git/info/exclude"),
            repository: present.has(Present::GIT | Present::JJ),
        }
    }
}

/// The rules of the directory at hand and of all above it.
pub(crate) struct Ignores<'a> {
    root: &'a Path,
    open: &'a OpenFile<'a>,
    /// From the top of the file system to the directory at hand.
    stack: Vec<Rules>,
    global: Option<Gitignore>,
}

impl<'a> Ignores<'a> {
    /// The rules that hold in `start` before its own are pushed.
    pub(crate) fn new(root: &'a Path, start: &Path, open: &'a OpenFile<'a>) -> Self {
        let (global, _) = GitignoreBuilder::new(root).build_global();
        let mut ignores =
            Self { root, open, stack: Vec::new(), global: (!global.is_empty()).then_some(global) };
        let mut above: Vec<&Path> = root.ancestors().skip(1).collect();
        above.reverse();
        for dir in above {
            // As ripgrep does: a package inside a repository is searched by the repository's rules.
            // Nothing of these files is ever shown, and only regular ones are read.
            let rules = Rules::load(dir, Present::untold(dir), ignores.room(), &|name| {
                content(open_plainly(&dir.join(name)).ok()?)
            });
            ignores.stack.push(rules);
        }
        let mut inside: Vec<&Path> = start.ancestors().skip(1).collect();
        inside.reverse();
        for dir in inside {
            ignores.push(dir, Present::untold(&root.join(dir)));
        }
        ignores
    }

    /// Enters a directory below the root.
    pub(crate) fn push(&mut self, dir: &Path, present: Present) {
        let rules = Rules::load(&self.root.join(dir), present, self.room(), &|name| {
            content((self.open)(&dir.join(name)).ok()?)
        });
        self.stack.push(rules);
    }

    fn room(&self) -> usize {
        RULES_LIMIT.saturating_sub(self.stack.iter().map(Rules::len).sum())
    }

    /// Leaves the directory entered last.
    pub(crate) fn pop(&mut self) {
        self.stack.pop();
    }

    /// Whether the walk passes over `path`, an entry of the directory at hand.
    pub(crate) fn skips(&self, path: &Path, is_dir: bool) -> bool {
        match self.decision(path, is_dir) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => {
                path.file_name().is_some_and(|name| name.as_bytes().first() == Some(&b'.'))
            }
        }
    }

    fn decision(&self, path: &Path, is_dir: bool) -> Match<()> {
        if self.global.is_none() && self.stack.iter().all(Rules::is_empty) {
            return Match::None;
        }
        let path = self.root.join(path);
        let in_repository = self.stack.iter().any(|rules| rules.repository);
        let mut git_holds = in_repository;
        let (mut rgignore, mut ignore, mut gitignore, mut exclude) =
            (Match::None, Match::None, Match::None, Match::None);
        // The first answer from below stands.
        let ask = |found: &mut Match<()>, rules: &Option<Gitignore>| {
            if let (true, Some(rules)) = (found.is_none(), rules) {
                *found = rules.matched(&path, is_dir).map(|_| ());
            }
        };
        for rules in self.stack.iter().rev() {
            ask(&mut rgignore, &rules.rgignore);
            ask(&mut ignore, &rules.ignore);
            if git_holds {
                ask(&mut gitignore, &rules.gitignore);
                ask(&mut exclude, &rules.exclude);
            }
            git_holds &= !rules.repository;
        }
        let mut global = Match::None;
        if in_repository {
            ask(&mut global, &self.global);
        }
        rgignore.or(ignore).or(gitignore).or(exclude).or(global)
    }
}

/// Opens what lies above the root, without waiting for the other end of a FIFO.
fn open_plainly(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

fn content(file: File) -> Option<Vec<u8>> {
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(IGNORE_FILE_LIMIT + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= IGNORE_FILE_LIMIT).then_some(bytes)
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
