//! Makes the steps of a plan. A step that was made already is not made again.

#![expect(
    clippy::disallowed_methods,
    reason = "it makes files in the host's own directories, and opens them again"
)]

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat};
use rustix::io::Errno;

use super::files::{self, Location};
use super::staging::Staging;
use super::step::{Content, Identity, Number, Step};
use super::{Unfinished, failpoint};
use crate::directory::Directory;

/// The largest log that is looked through for lines.
const LOG: u64 = 256 << 20;

/// Makes every step that is not made yet. What cannot be made is named, and stops no other step.
pub(super) fn execute(
    git: &Directory,
    staging: &Staging,
    steps: &[Step],
    is_replay: bool,
) -> Vec<Unfinished> {
    let execution = Execution { git, staging, is_replay };
    let mut unfinished = Vec::new();
    for step in steps {
        if let Err(error) = execution.make(step) {
            unfinished.push(Unfinished { path: step.path().to_owned(), error });
        }
    }
    unfinished
}

struct Execution<'a> {
    git: &'a Directory,
    staging: &'a Staging,
    is_replay: bool,
}

impl Execution<'_> {
    fn make(&self, step: &Step) -> io::Result<()> {
        match step {
            Step::Replace { number, content, path } => self.replace(*number, *content, path),
            Step::Remove { number, path } => self.remove(*number, path),
            Step::Append { number, content, at, path } => self.append(*number, *content, *at, path),
            Step::Put { number, content, path } => self.put(*number, *content, path),
            Step::Discard { identity, path } => self.discard(*identity, path),
            Step::Detach { number, inode, path } => self.detach(*number, *inode, path),
        }
    }

    /// Without its lock, a file was replaced already, and can be anybody's by now.
    fn replace(&self, number: Number, content: Content, path: &Path) -> io::Result<()> {
        let Some(to) = files::locate(self.git, path)? else { return Ok(()) };
        if !self.staging.has_lock(number, &to)? {
            return Ok(());
        }
        self.check(number, content)?;
        clear(&to)?;
        files::rename(&to.parent, &to.lock(), &to)
    }

    /// The lock stays until the end: with it gone, the file was removed.
    fn remove(&self, number: Number, path: &Path) -> io::Result<()> {
        let Some(at) = files::locate(self.git, path)? else { return Ok(()) };
        if !self.staging.has_lock(number, &at)? {
            return Ok(());
        }
        match at.stat()? {
            Some(stat) if files::is_file(&stat) => files::unlink(&at.parent, &at.name),
            // An empty directory is no reference.
            Some(stat) if files::is_directory(&stat) => Ok(()),
            Some(_) => Err(Errno::LOOP.into()),
            None => Ok(()),
        }
    }

    fn put(&self, number: Number, content: Content, path: &Path) -> io::Result<()> {
        if self.staging.stat(number)?.is_none() {
            return Ok(());
        }
        self.check(number, content)?;
        let to = files::locate_or_make(self.git, path)?;
        clear(&to)?;
        files::rename(&self.staging.directory, number.to_string().as_ref(), &to)
    }

    fn discard(&self, identity: Identity, path: &Path) -> io::Result<()> {
        let Some(at) = files::locate(self.git, path)? else { return Ok(()) };
        if at.stat()?.is_some_and(|stat| Identity::from(&stat) == identity) {
            files::unlink(&at.parent, &at.name)?;
        }
        files::remove_empty_parents(self.git, path);
        Ok(())
    }

    /// What was moved goes with the staged files. Who looks meanwhile sees all of it, or nothing.
    fn detach(&self, number: Number, inode: u64, path: &Path) -> io::Result<()> {
        let Some(at) = files::locate(self.git, path)? else { return Ok(()) };
        let found = at.stat()?.filter(files::is_directory);
        if found.is_some_and(|stat| Identity::from(&stat).inode == inode) {
            let name = number.to_string().into();
            let to = Location {
                parent: self
                    .staging
                    .directory
                    .below(".")
                    .map_err(files::io_error)?
                    .ok_or(Errno::NOENT)?,
                name,
            };
            files::rename(&at.parent, &at.name, &to)?;
        }
        files::remove_empty_parents(self.git, path);
        Ok(())
    }

    fn append(&self, number: Number, content: Content, at: u64, path: &Path) -> io::Result<()> {
        let Some(lines) = self.staging.read(number, content.size)? else { return Ok(()) };
        self.check(number, content)?;
        let to = files::locate_or_make(self.git, path)?;
        if to.stat()?.is_some_and(|stat| files::is_directory(&stat)) {
            to.remove_empty()?;
        }
        failpoint::pass();
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::APPEND
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&to.parent, &to.name, flags, Mode::from(0o666))?;
        let stat = fstat(&file)?;
        if !files::is_file(&stat) {
            return Err(Errno::LOOP.into());
        }
        let file = file.into();
        let done = appended(&file, &stat, &lines, at)?;
        files::write(&file, &lines[done..])?;
        // The step is done when its file is gone: whoever adds to the log from now on is not looked at.
        self.staging.unlink(number)
    }

    /// After a crash of the machine, a staged file can be shorter than it was.
    fn check(&self, number: Number, content: Content) -> io::Result<()> {
        let is_whole = || {
            let bytes = self.staging.read(number, content.size)?;
            io::Result::Ok(bytes.is_some_and(|bytes| Content::of(&bytes) == content))
        };
        if !self.is_replay || is_whole()? { Ok(()) } else { Err(Errno::IO.into()) }
    }
}

/// Removes what is in the place of a file: directories that are empty. A link is the person's.
fn clear(to: &Location) -> io::Result<()> {
    match to.stat()?.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        None | Some(FileType::RegularFile) => Ok(()),
        Some(FileType::Directory) => to.remove_empty(),
        Some(_) => Err(Errno::LOOP.into()),
    }
}

/// How many bytes of `lines` are in a log already, which had the length `at`.
fn appended(file: &std::fs::File, stat: &Stat, lines: &[u8], at: u64) -> io::Result<usize> {
    let length = u64::try_from(stat.st_size).unwrap_or(0);
    if length == at {
        return Ok(0);
    }
    if length > at {
        let there = usize::try_from(length - at).unwrap_or(usize::MAX).min(lines.len());
        let mut found = vec![0; there];
        file.read_exact_at(&mut found, at)?;
        if found == lines[..there] {
            return Ok(there);
        }
    }
    // Somebody has written to the log without its lock.
    if length > LOG {
        return Err(Errno::FBIG.into());
    }
    let mut log = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact_at(&mut log, 0)?;
    let is_there = log.windows(lines.len().max(1)).any(|window| window == lines);
    Ok(if is_there { lines.len() } else { 0 })
}
