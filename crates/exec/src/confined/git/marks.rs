//! What the next host needs to know if this one is killed while commands run.
//!
//! A command may have made something of plain files that git or other programs obey, and whoever looks at it for
//! the first time would take it for a person's. So a mark says on disk what is a person's before a command
//! begins. There is one for each directory that commands write and each process, and the process holds a lock of it.
//! One byte says whether commands run. A mark without its process that says so has the next host
//! [judge](super::look) what it does not name.
//!
//! A mark is written when it has to say something else, in a new file that takes the place of the old one. A
//! kill leaves one of them, whole. After a loss of power it may be damaged, and nothing is judged by it.
//!
//! Commands cannot write a mark: it lies outside of what they write, or is closed to them.

mod content;

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, renameat, unlinkat,
};
use rustix::process::geteuid;
use toolwright_git::directory::{Directory, ReadError};
use toolwright_sandbox::plan::Plan;

pub(super) use content::{Content, TopId};

use super::is_writable;
use super::set_aside::unique;

/// How many marks are looked at.
const MAX_MARKS: usize = 10_000;
/// Before the name of one that is not whole.
const NEW: &str = "new-";
/// Older marks are removed: their directories no longer exist.
const MAX_AGE: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Running {
    /// No command.
    Nothing = b'-' as isize,
    /// Commands that can make a `.git` directory which the host sees.
    Commands = b'c' as isize,
    /// Commands that can make none.
    Hidden = b'h' as isize,
}

/// The marks of one directory that commands write.
#[derive(Debug, Default)]
pub(super) struct Marks {
    directory: Option<Directory>,
    own: Option<Mark>,
    /// When the directory of marks had changed, if there was none of another process then.
    seen: Option<(i64, u64)>,
}

/// The mark of this process.
#[derive(Debug)]
struct Mark {
    file: File,
    name: String,
    content: Content,
    running: Running,
}

/// The mark of a host that was killed while its commands ran. Its lock is held.
#[derive(Debug)]
pub(super) struct Left {
    name: String,
    /// What that host knew before, and what ran. `None`: it cannot be read.
    pub(super) said: Option<(Content, Running)>,
    _lock: File,
}

/// Why a host can keep no marks for a plan.
pub(crate) fn obstacle(plan: &Plan) -> Option<String> {
    if plan.looks_below.is_none() && plan.set_aside.is_empty() {
        return None;
    }
    open(plan).err()
}

/// Opens the directory of marks, and makes it if there is none.
fn open(plan: &Plan) -> Result<Directory, String> {
    let path = plan.marks.as_deref().ok_or("there is no home directory")?;
    let said = |reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
    if is_writable(plan, path) && !plan.closes(path) {
        return Err(said(&"commands can write there"));
    }
    let directory = match Directory::open(path) {
        Err(error) if error.is_absent() => {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|error| said(&error))?;
            Directory::open(path)
        }
        opened => opened,
    };
    let directory = directory.map_err(|error| said(&error))?;
    let found = fstat(&directory).map_err(|error| said(&error))?;
    if is_own(&found) { Ok(directory) } else { Err(said(&"others can write there")) }
}

/// Whether nobody else could have written it.
fn is_own(found: &Stat) -> bool {
    found.st_uid == geteuid().as_raw() && found.st_mode & 0o022 == 0
}

impl Marks {
    fn directory(&mut self, plan: &Plan) -> Option<&Directory> {
        let is_there = |directory: &Directory| fstat(directory).is_ok_and(|it| it.st_nlink > 0);
        if !self.directory.as_ref().is_some_and(is_there) {
            self.directory = open(plan).ok();
            self.own = None;
            self.seen = None;
        }
        self.directory.as_ref()
    }

    /// Takes what hosts have left that were killed while their commands ran in a directory.
    pub(super) fn take_left(&mut self, plan: &Plan, top: &Path) -> Vec<Left> {
        let seen = self.seen;
        let own = self.own.as_ref().map(|own| own.name.clone());
        let Some(directory) = self.directory(plan) else { return Vec::new() };
        let changed = fstat(directory).ok().map(|found| (found.st_mtime, found.st_mtime_nsec));
        if changed.is_some() && changed == seen {
            return Vec::new();
        }
        let Some(id) = Directory::open(top).ok().and_then(|opened| TopId::of(&opened, top)) else {
            return Vec::new();
        };
        let entries = directory.entries(".", MAX_MARKS).ok().flatten().unwrap_or_default();
        let begin = prefix(&id);
        let mut left = Vec::new();
        let mut has_others = false;
        for entry in entries {
            let Some(name) = entry.name.to_str().filter(|_| entry.kind == FileType::RegularFile)
            else {
                continue;
            };
            if Some(name) == own.as_deref() {
                continue;
            }
            if !name.starts_with(&begin) {
                if seen.is_none() {
                    sweep(directory, name);
                }
                continue;
            }
            match take(directory, name, &id) {
                Taken::Lives => has_others = true,
                Taken::Nothing => {}
                Taken::Left(one) => left.push(one),
            }
        }
        self.seen = changed.filter(|_| !has_others && !is_recent(changed));
        left
    }

    /// Removes the mark of a host when it was judged by.
    pub(super) fn remove(&self, left: &Left) {
        if let Some(directory) = &self.directory {
            let _ = unlinkat(directory, &*left.name, AtFlags::empty());
        }
    }

    /// Says that commands run, and what is a person's now.
    pub(super) fn begin(&mut self, plan: &Plan, content: Option<Content>, running: Running) {
        if let (Some(own), Some(content)) = (&mut self.own, &content)
            && own.content == *content
        {
            return own.say(running);
        }
        let name = self.own.as_ref().map(|own| own.name.clone());
        let directory = self.directory(plan);
        let new = directory
            .zip(content)
            .and_then(|(directory, content)| Mark::write(directory, name, content, running).ok());
        if let (None, Some(mut old)) = (&new, self.own.take()) {
            // An old one would have the next host take for a command's what a person has made since.
            old.say(Running::Nothing);
        }
        self.own = new;
    }

    /// Says what runs now.
    pub(super) fn say(&mut self, running: Running) {
        if let Some(own) = &mut self.own {
            own.say(running);
        }
    }

    pub(super) fn has_one(&self) -> bool {
        self.own.is_some()
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        if let (Some(directory), Some(own)) = (&self.directory, &self.own)
            && own.running == Running::Nothing
        {
            let _ = unlinkat(directory, &*own.name, AtFlags::empty());
        }
    }
}

impl Mark {
    #[expect(clippy::disallowed_methods, reason = "it opens nothing that is there")]
    fn write(
        directory: &Directory,
        name: Option<String>,
        content: Content,
        running: Running,
    ) -> io::Result<Self> {
        let unfinished = format!("{NEW}{}", unique());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let opened = openat(directory, &*unfinished, flags, Mode::RUSR | Mode::WUSR)?;
        let name = name.unwrap_or_else(|| format!("{}{}", prefix(&content.top), unique()));
        let mut file = File::from(opened);
        let written = flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(&[&[running as u8], &content.bytes()[..]].concat()))
            .and_then(|()| Ok(renameat(directory, &*unfinished, directory, &*name)?));
        if let Err(error) = written {
            let _ = unlinkat(directory, &*unfinished, AtFlags::empty());
            return Err(error);
        }
        Ok(Self { file, name, content, running })
    }

    fn say(&mut self, running: Running) {
        if self.running != running && self.file.write_all_at(&[running as u8], 0).is_ok() {
            self.running = running;
        }
    }
}

/// How the names of marks of a directory begin.
fn prefix(top: &TopId) -> String {
    format!("{:016x}-", top.inode())
}

enum Taken {
    /// Its process lives, or it is about another directory.
    Lives,
    Nothing,
    Left(Left),
}

/// Takes a mark whose process has ended.
fn take(directory: &Directory, name: &str, top: &TopId) -> Taken {
    let Ok(Some((mut file, stat))) = directory.file(name) else { return Taken::Nothing };
    if !is_own(&stat) || stat.st_nlink != 1 {
        return Taken::Nothing;
    }
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Taken::Lives;
    }
    // The process may have put another one in its place meanwhile.
    if fstat(&file).map_or(true, |now| now.st_nlink != 1) {
        return Taken::Lives;
    }
    let read = bytes(&mut file, &stat).ok();
    let read = read.as_deref().and_then(<[u8]>::split_first);
    let content = read.and_then(|(_, body)| Content::read(body));
    let running = match read.map(|(first, _)| *first) {
        Some(b'c') => Some(Running::Commands),
        Some(b'h') => Some(Running::Hidden),
        Some(b'-') => Some(Running::Nothing),
        _ => None,
    };
    // Another directory may have the number.
    if content.as_ref().is_some_and(|content| !content.top.is(top)) {
        return Taken::Lives;
    }
    if running == Some(Running::Nothing) {
        let _ = unlinkat(directory, name, AtFlags::empty());
        return Taken::Nothing;
    }
    Taken::Left(Left { name: name.to_owned(), said: content.zip(running), _lock: file })
}

fn bytes(file: &mut File, stat: &Stat) -> Result<Vec<u8>, ReadError> {
    if u64::try_from(stat.st_size).is_ok_and(|size| size > content::MAX_BYTES) {
        return Err(ReadError::TooLarge(content::MAX_BYTES));
    }
    let mut bytes = Vec::new();
    file.take(content::MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Removes what nobody asks for any more.
fn sweep(directory: &Directory, name: &str) {
    let Ok(Some((file, stat))) = directory.file(name) else { return };
    let age = age_of((stat.st_mtime, stat.st_mtime_nsec)).unwrap_or_default();
    let limit = if name.starts_with(NEW) { Duration::from_secs(60 * 60) } else { MAX_AGE };
    if age > limit && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        let _ = unlinkat(directory, name, AtFlags::empty());
    }
}

/// Whether a directory may change again without another time.
fn is_recent(changed: Option<(i64, u64)>) -> bool {
    changed.and_then(age_of).is_none_or(|age| age < Duration::from_millis(50))
}

fn age_of((seconds, nanoseconds): (i64, u64)) -> Option<Duration> {
    let since = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?);
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.checked_sub(since)
}
