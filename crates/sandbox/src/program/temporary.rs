//! The private temporary directory where it cannot be a mount.
//!
//! It is made below `/tmp`, for this user alone, and locked while its supervisor lives. What a
//! supervisor that was killed has left is unlocked, and the next one removes it.

use std::{
    ffi::CString,
    fs::{self, DirBuilder, File},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

const PARENT: &str = "/tmp";
const PREFIX: &str = "toolwright-command-";

/// Removed when dropped.
pub(crate) struct Temporary {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl Temporary {
    pub(crate) fn make() -> io::Result<Self> {
        sweep();
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let path = Path::new(PARENT).join(format!("{PREFIX}{}-{now:x}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&path)?;
        let lock = File::open(&path)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, _lock: lock })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn sweep() {
    let own = rustix::process::getuid().as_raw();
    for entry in fs::read_dir(PARENT).into_iter().flatten().flatten() {
        let ours = entry.file_name().as_bytes().starts_with(PREFIX.as_bytes())
            && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own);
        if ours
            && let Ok(directory) = File::open(entry.path())
            && flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Which variables that name a temporary directory a command gets.
pub(crate) struct Variables {
    /// Values below these are passed on.
    reachable: Vec<PathBuf>,
    /// What is added.
    added: Option<CString>,
}

const NAMES: [&[u8]; 3] = [b"TMPDIR=", b"TMP=", b"TEMP="];

impl Variables {
    /// For commands that can write to `reachable`, and have `private` for their temporary files if
    /// that is not where everybody looks.
    pub(crate) fn new(reachable: Vec<PathBuf>, private: Option<&Path>) -> Self {
        let added = private
            .and_then(|path| CString::new([b"TMPDIR=", path.as_os_str().as_bytes()].concat()).ok());
        Self { reachable, added }
    }

    /// Whether a variable, as `NAME=value`, is passed on.
    pub(crate) fn passes(&self, variable: &[u8]) -> bool {
        let Some(value) = NAMES.iter().find_map(|name| variable.strip_prefix(*name)) else {
            return true;
        };
        let value = Path::new(std::ffi::OsStr::from_bytes(value));
        self.reachable.iter().any(|path| value.starts_with(path))
    }

    pub(crate) fn added(&self) -> Option<&CString> {
        self.added.as_ref()
    }
}
