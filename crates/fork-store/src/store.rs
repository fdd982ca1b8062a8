//! The directory of all forks.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

use crate::error::{ForkError, Result};
use crate::record::Record;
use crate::tree;

/// The record, in the directory of a fork.
pub(crate) const RECORD: &str = "fork.json";
/// What the base was.
pub(crate) const MANIFEST: &str = "manifest";
/// Held while the fork is open.
pub(crate) const LOCK: &str = "lock";
/// The changes.
pub(crate) const UPPER: &str = "upper";
/// What the kernel needs beside them.
pub(crate) const WORK: &str = "work";
/// Whether all changes have reached the disk, or the boot in which they may not have.
pub(crate) const STATE: &str = "state";

/// The texts that the base had.
pub(crate) const ANCESTORS: &str = "was";
/// What was applied, and can be taken back. No fork has a name with a point.
pub(crate) const APPLIED: &str = ".applied";

/// Commits on their way to the base.
pub(crate) const COMMITS: &str = "commits";

/// The end of the name of a fork that is being made.
pub(crate) const NEW: &str = ".new";
/// The end of the name of one that is being removed.
pub(crate) const GONE: &str = ".gone";

const MAX_RECORD: u64 = 64 << 10;
/// How long to wait for a lock.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// The directory of all forks.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) protected: Arc<[PathBuf]>,
}

/// What is known of a fork without comparing anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkState {
    /// A process has it open.
    Open,
    /// It can be opened, applied or discarded.
    Kept,
    /// The machine went down while it was open and changes may be missing, or it was only half made.
    Damaged,
}

/// A fork of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub id: String,
    /// The base.
    pub base: PathBuf,
    /// Its maker's name for it.
    pub label: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// What is known of it.
    pub state: ForkState,
}

impl Store {
    /// The store in a directory, which is made for this user alone if there is none. Changes at the `protected` paths
    /// and below them, relative to a base, are applied only if they are named.
    pub fn open(path: &Path, protected: Vec<PathBuf>) -> Result<Self> {
        let failed = ForkError::io(path, "making the store of forks");
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(&failed)?;
        let path = path.canonicalize().map_err(&failed)?;
        Ok(Self { path, protected: protected.into() })
    }

    /// Its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The forks, the newest first, and only those of `base` if there is one.
    pub fn list(&self, base: Option<&Path>) -> Result<Vec<Listed>> {
        let mut listed = Vec::new();
        for id in self.names()? {
            if id.contains('.') {
                continue;
            }
            let Some(record) = self.record(&id) else { continue };
            if base.is_some_and(|base| record.base != base) {
                continue;
            }
            let state = match self.try_lock(&id) {
                Err(_) => ForkState::Open,
                Ok(_) if self.is_damaged(&id) => ForkState::Damaged,
                Ok(_) => ForkState::Kept,
            };
            let Record { base, created_ms, label, .. } = record;
            listed.push(Listed { id, base, label, created_ms, state });
        }
        listed.sort_by(|one, other| {
            other.created_ms.cmp(&one.created_ms).then_with(|| one.id.cmp(&other.id))
        });
        Ok(listed)
    }

    /// The names in the store.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        let failed = ForkError::io(&self.path, "listing the store of forks");
        let directory = tree::open(&self.path).map_err(|errno| failed(errno.into()))?;
        let names = tree::names(directory).map_err(|errno| failed(errno.into()))?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    /// The directory of a fork.
    pub(crate) fn directory(&self, id: &str) -> Result<PathBuf> {
        let is_id = !id.is_empty()
            && id.len() <= 64
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let path = self.path.join(id);
        if is_id && path.is_dir() {
            Ok(path)
        } else {
            Err(ForkError::NotFound { id: id.to_owned() })
        }
    }

    pub(crate) fn record(&self, id: &str) -> Option<Record> {
        let directory = tree::open(&self.directory(id).ok()?).ok()?;
        Record::read(&tree::read(directory, RECORD.as_ref(), MAX_RECORD).ok()?)
    }

    /// Locks a fork. What a killed process had started in it may end a moment later than that process.
    pub(crate) fn lock(&self, id: &str) -> Result<File> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.try_lock(id) {
                Err(ForkError::Busy { .. }) if Instant::now() < deadline => thread::sleep(PAUSE),
                locked => return locked,
            }
        }
    }

    /// Locks a fork that is free.
    pub(crate) fn try_lock(&self, id: &str) -> Result<File> {
        let path = self.directory(id)?.join(LOCK);
        let missing = || ForkError::NotFound { id: id.to_owned() };
        let file = lock_file(&path).map_err(|_| missing())?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(ForkError::Busy { id: id.to_owned() });
        }
        // Somebody may have removed the fork before it was locked.
        let is_there = fs::symlink_metadata(&path).ok().zip(file.metadata().ok());
        match is_there {
            Some((named, open)) if (named.dev(), named.ino()) == (open.dev(), open.ino()) => {
                Ok(file)
            }
            _ => Err(missing()),
        }
    }

    /// Whether the process of a fork was killed in the moment after it had made it, before it was noted what the base was.
    pub(crate) fn is_half_made(&self, id: &str) -> bool {
        fs::symlink_metadata(self.path.join(id).join(MANIFEST)).is_err()
    }

    /// Whether changes of a fork that no process has open may be missing, or cannot be compared with what the base was.
    pub(crate) fn is_damaged(&self, id: &str) -> bool {
        if self.is_half_made(id) {
            return true;
        }
        let state = fs::symlink_metadata(self.path.join(id).join(STATE));
        // Without the file, everything has reached the disk.
        state.is_ok() && self.state(id).as_deref() != Some(boot().as_str())
    }

    fn state(&self, id: &str) -> Option<String> {
        let directory = tree::open(&self.path.join(id)).ok()?;
        String::from_utf8(tree::read(directory, STATE.as_ref(), MAX_RECORD).ok()?).ok()
    }
}

#[expect(clippy::disallowed_methods, reason = "in a directory of this user alone")]
pub(crate) fn lock_file(path: &Path) -> std::io::Result<File> {
    File::options().read(true).write(true).open(path)
}

/// Makes a file that must not be there.
#[expect(clippy::disallowed_methods, reason = "in a directory of this user alone")]
pub(crate) fn new_file(path: &Path) -> std::io::Result<File> {
    File::options().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// What tells this run of the machine from others.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
pub(crate) fn boot() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot.trim().to_owned()
}

/// A name that no other fork has: the time, and what nobody can guess.
pub(crate) fn new_id(now_ms: u64) -> String {
    let mut random = RandomState::new().build_hasher();
    random.write_u64(now_ms);
    format!("{now_ms:x}-{:08x}", random.finish() & 0xffff_ffff)
}

pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or_default()
}
