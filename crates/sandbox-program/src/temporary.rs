//! The private temporary directory where it cannot be a mount.
//!
//! It lies below `/tmp`, belongs to this user alone, and is locked while its supervisor lives. A
//! killed supervisor leaves it unlocked, and the next supervisor removes it.

use std::ffi::CString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use toolwright_fs::remove_tree;

const PARENT: &str = "/tmp";
const PREFIX: &str = "toolwright-command-";
/// How long a command waits for the removal of what others have left.
const SWEEP: Duration = Duration::from_millis(100);
/// How often it is tried, should others remove it meanwhile.
const TRIES: usize = 8;

pub(crate) struct Temporary {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl Temporary {
    pub(crate) fn make() -> io::Result<Self> {
        sweep();
        let mut error = io::ErrorKind::NotFound.into();
        for _ in 0..TRIES {
            match Self::try_make() {
                Ok(made) => return Ok(made),
                Err(failed) => error = failed,
            }
        }
        Err(error)
    }

    /// Fails also if another supervisor removed the directory before it was locked.
    fn try_make() -> io::Result<Self> {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let path = Path::new(PARENT).join(format!("{PREFIX}{}-{now:x}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&path)?;
        let lock = File::open(&path)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let (locked, there) = (lock.metadata()?, fs::symlink_metadata(&path)?);
        if (locked.dev(), locked.ino()) != (there.dev(), there.ino()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Self { path, _lock: lock })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Every process that could write there has ended, and nothing waits for this one.
        let _ = remove_tree(&self.path, None);
    }
}

fn sweep() {
    let deadline = Instant::now() + SWEEP;
    let own = rustix::process::getuid().as_raw();
    for entry in fs::read_dir(PARENT).into_iter().flatten().flatten() {
        let ours = entry.file_name().as_bytes().starts_with(PREFIX.as_bytes())
            && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own);
        if ours
            && let Ok(directory) = File::open(entry.path())
            && flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = remove_tree(&entry.path(), Some(deadline));
        }
    }
}

/// Which variables that name a temporary directory a command gets.
pub(crate) struct Variables {
    /// These and values below them are passed on.
    writable: Vec<PathBuf>,
    /// Values that are passed on as they are. Paths of the host below them do not exist for a
    /// command.
    private: &'static [&'static str],
    added: Option<CString>,
}

const NAMES: [&[u8]; 3] = [b"TMPDIR=", b"TMP=", b"TEMP="];

impl Variables {
    /// For commands whose tree of files has private directories where those of the system are.
    pub(crate) fn of_tree(writable: Vec<PathBuf>) -> Self {
        Self { writable, private: &["/tmp", "/var/tmp", "/dev/shm"], added: None }
    }

    /// For other commands, with `directory` for their temporary files.
    pub(crate) fn new(writable: Vec<PathBuf>, directory: Option<&Path>) -> Self {
        let added = directory
            .and_then(|path| CString::new([b"TMPDIR=", path.as_os_str().as_bytes()].concat()).ok());
        Self { writable, private: &[], added }
    }

    /// Whether a variable, as `NAME=value`, is passed on.
    pub(crate) fn passes(&self, variable: &[u8]) -> bool {
        let Some(value) = NAMES.iter().find_map(|name| variable.strip_prefix(*name)) else {
            return true;
        };
        let value = Path::new(std::ffi::OsStr::from_bytes(value));
        self.writable.iter().any(|path| value.starts_with(path))
            || self.private.iter().any(|path| value == Path::new(path))
    }

    pub(crate) fn added(&self) -> Option<&CString> {
        self.added.as_ref()
    }
}
