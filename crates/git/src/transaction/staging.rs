//! The directory of a transaction: `toolwright/PID-N` in the git directory.
//!
//! It has the file `owner`, which the owner of the transaction locks for as long as it lives; `targets`, which
//! says for each lock which staged file it is; the staged files, which have numbers; and `plan`, from when on
//! the transaction is only finished.
//!
//! A lock in git's name is a hard link to a staged file. What is no link to it is somebody else's.

#![expect(
    clippy::disallowed_methods,
    reason = "it makes files in the host's own directories, and opens them again"
)]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat};
use rustix::io::Errno;

use super::failpoint;
use super::files::{self, Location};
use super::step::{self, Number, Step};
use crate::directory::Directory;

/// Where the directories of transactions are.
pub(super) const ALL: &str = "toolwright";
/// The most bytes of `targets` and `plan`.
const TEXT: u64 = 64 << 20;
/// The most files of a transaction.
const FILES: usize = 1_000_000;

static COUNTER: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
pub(super) struct Staging {
    /// `toolwright` in the git directory.
    all: Directory,
    name: OsString,
    pub(super) directory: Directory,
    /// Locked for as long as it is open.
    owner: File,
    targets: Option<File>,
}

/// Who has a staging directory.
#[derive(Debug)]
pub(super) enum Claim {
    /// Nobody any more: it is ours now.
    Ours(Staging),
    /// Its owner lives.
    Owned,
    /// It is gone, or is being made.
    Gone,
}

impl Staging {
    pub(super) fn create(git: &Directory) -> io::Result<Self> {
        loop {
            failpoint::pass();
            match rustix::fs::mkdirat(git, ALL, Mode::from(0o700)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let Some(all) = git.below(ALL).map_err(files::io_error)? else { continue };
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!("{}-{number}", std::process::id()));
            failpoint::pass();
            match rustix::fs::mkdirat(&all, &name, Mode::from(0o700)) {
                Ok(()) => {}
                // A process of another container had the same number, or the last one removed `toolwright`.
                Err(Errno::EXIST | Errno::NOENT) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let Some(directory) = all.below(&name).map_err(files::io_error)? else { continue };
            let owner = match files::create(&directory, "owner", 0o600) {
                Ok(owner) => owner,
                // A recovery has taken the empty directory for an abandoned one.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            failpoint::pass();
            if !lock(&owner)? || !is_current(&directory, &owner)? {
                continue;
            }
            let targets = Some(files::create(&directory, "targets", 0o600)?);
            return Ok(Self { all, name, directory, owner, targets });
        }
    }

    /// Takes over a directory whose owner is dead. The lock of a dead process is gone, whatever its number
    /// means in the namespace of this one.
    pub(super) fn claim(all: Directory, name: OsString) -> io::Result<Claim> {
        let Some(directory) = all.below(&name).map_err(files::io_error)? else {
            return Ok(Claim::Gone);
        };
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let owner: File = match rustix::fs::openat(&directory, "owner", flags, Mode::empty()) {
            Ok(owner) => owner.into(),
            Err(Errno::NOENT) => {
                // Nothing was locked before this file was there, nor is after it is gone.
                failpoint::pass();
                let _ = rustix::fs::unlinkat(&all, &name, AtFlags::REMOVEDIR);
                return Ok(Claim::Gone);
            }
            Err(errno) => return Err(errno.into()),
        };
        if !lock(&owner)? {
            return Ok(Claim::Owned);
        }
        if !is_current(&directory, &owner)? {
            return Ok(Claim::Gone);
        }
        Ok(Claim::Ours(Self { all, name, directory, owner, targets: None }))
    }

    /// Makes a staged file.
    pub(super) fn stage(&self, number: Number, content: &[u8], mode: u32) -> io::Result<File> {
        let file = files::create(&self.directory, number.to_string(), mode)?;
        files::write(&file, content)?;
        Ok(file)
    }

    /// Opens a staged file, to be written.
    pub(super) fn open(&self, number: Number) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.directory, number.to_string(), flags, Mode::empty())?;
        Ok(file.into())
    }

    /// Notes which staged file becomes the lock of a path, before it does.
    pub(super) fn note(&self, number: Number, path: &Path) -> io::Result<()> {
        let mut line = format!("{number} ").into_bytes();
        line.extend_from_slice(path.as_os_str().as_bytes());
        line.push(b'\n');
        let targets = self.targets.as_ref().ok_or_else(|| io::Error::from(Errno::BADF))?;
        files::write(targets, &line)
    }

    /// Takes a lock. `false`: somebody has it.
    pub(super) fn link(&self, number: Number, to: &Location) -> io::Result<bool> {
        failpoint::pass();
        let from = number.to_string();
        match rustix::fs::linkat(&self.directory, &*from, &to.parent, to.lock(), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether the lock of a path is this staged file.
    pub(super) fn has_lock(&self, number: Number, location: &Location) -> io::Result<bool> {
        let lock = files::stat(&location.parent, &location.lock())?;
        let staged = self.stat(number)?;
        Ok(lock.zip(staged).is_some_and(|(lock, staged)| files::is_same(&lock, &staged)))
    }

    /// Releases the lock of a path, if it is this staged file.
    pub(super) fn release(&self, git: &Directory, number: Number, path: &Path) -> io::Result<()> {
        let location = match files::locate(git, path) {
            Ok(Some(location)) => location,
            // A file is in the place of its directory: the lock was not taken.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOTDIR) => return Ok(()),
            Ok(None) => return Ok(()),
            Err(error) => return Err(error),
        };
        if self.has_lock(number, &location)? {
            files::unlink(&location.parent, location.lock())?;
        }
        files::remove_empty_parents(git, path);
        Ok(())
    }

    pub(super) fn stat(&self, number: Number) -> io::Result<Option<rustix::fs::Stat>> {
        files::stat(&self.directory, OsStr::new(&number.to_string()))
    }

    pub(super) fn unlink(&self, number: Number) -> io::Result<()> {
        files::unlink(&self.directory, number.to_string())
    }

    pub(super) fn read(&self, number: Number, size: u64) -> io::Result<Option<Vec<u8>>> {
        self.directory.read(number.to_string(), size).map_err(files::io_error)
    }

    /// The point of no return.
    pub(super) fn decide(&self, steps: &[Step]) -> io::Result<()> {
        let file = files::create(&self.directory, "plan.new", 0o600)?;
        files::write(&file, &step::encode(steps))?;
        failpoint::pass();
        Ok(rustix::fs::renameat(&self.directory, "plan.new", &self.directory, "plan")?)
    }

    /// The steps that were decided, if any were.
    pub(super) fn plan(&self) -> io::Result<Option<Vec<Step>>> {
        let text = self.directory.read("plan", TEXT).map_err(files::io_error)?;
        Ok(text.and_then(|text| step::decode(&text)))
    }

    /// The locks that were noted.
    pub(super) fn targets(&self) -> io::Result<Vec<(Number, PathBuf)>> {
        let text =
            self.directory.read("targets", TEXT).map_err(files::io_error)?.unwrap_or_default();
        // Without its line feed, a line was not written to its end, and nothing was linked.
        let lines =
            text.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
        let target = |line: &[u8]| {
            let at = line.iter().position(|byte| *byte == b' ')?;
            let number = std::str::from_utf8(&line[..at]).ok()?.parse().ok()?;
            Some((number, step::target(Path::new(OsStr::from_bytes(&line[at + 1..])))?))
        };
        Ok(lines.filter_map(target).collect())
    }

    /// Releases every lock that is ours, and removes the directory.
    pub(super) fn remove(&self, git: &Directory) -> io::Result<()> {
        for (number, path) in self.targets()? {
            self.release(git, number, &path)?;
        }
        let entries =
            self.directory.entries(".", FILES).map_err(files::io_error)?.unwrap_or_default();
        let mut entries: Vec<_> = entries
            .into_iter()
            .filter(|entry| matches!(entry.kind, FileType::RegularFile | FileType::Directory))
            .collect();
        // Numbers first: without a staged file its step is done. A directory that was moved here goes when
        // nothing is replayed any more: until then no other one has its inode.
        entries.sort_by_key(|entry| match entry.name.as_bytes() {
            b"owner" => 4,
            _ if entry.kind == FileType::Directory => 3,
            b"plan" => 2,
            b"targets" => 1,
            _ => 0,
        });
        for entry in entries {
            if entry.kind == FileType::Directory {
                files::remove_all(&self.directory, &entry.name)?;
            } else {
                files::unlink(&self.directory, entry.name)?;
            }
        }
        failpoint::pass();
        match rustix::fs::unlinkat(&self.all, &self.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        failpoint::pass();
        let _ = rustix::fs::unlinkat(git, ALL, AtFlags::REMOVEDIR);
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // A process that another thread has just forked has the descriptor too, until it starts its program.
        let _ = flock(&self.owner, FlockOperation::Unlock);
    }
}

/// Locks the file `owner`. `false`: another process has it.
fn lock(owner: &File) -> io::Result<bool> {
    match flock(owner, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether an open file is still the one with the name `owner`.
fn is_current(directory: &Directory, owner: &File) -> io::Result<bool> {
    let named = files::stat(directory, OsStr::new("owner"))?;
    let open = fstat(owner)?;
    Ok(named.is_some_and(|named| files::is_same(&named, &open)))
}
