//! The private temporary directory where it cannot be a mount.
//!
//! It is made below `/tmp`, for this user alone, and locked while its supervisor lives. What a
//! supervisor that was killed has left is unlocked, and the next one removes it.

use std::{
    ffi::CString,
    fs::{self, DirBuilder, File},
    io,
    os::{
        fd::{AsFd, AsRawFd},
        unix::{
            ffi::OsStrExt,
            fs::{DirBuilderExt, MetadataExt},
        },
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Dir, FlockOperation, Mode, OFlags, chmod, flock, openat},
    path::Arg,
};

const PARENT: &str = "/tmp";
const PREFIX: &str = "toolwright-command-";
/// Each level takes descriptors.
const DEEPEST: usize = 100;
/// How often it is tried, should others remove it meanwhile.
const TRIES: usize = 8;

/// Removed when dropped.
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

    /// Fails too when another supervisor took it for one that was left, before it was locked.
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
        remove(&self.path);
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
            remove(&entry.path());
        }
    }
}

/// Removes a directory that nobody uses any more. Errors are of no use.
fn remove(directory: &Path) {
    if fs::remove_dir_all(directory).is_err() {
        // Commands can take away permissions, also that to look into a directory.
        open_up(CWD, directory, DEEPEST);
        let _ = fs::remove_dir_all(directory);
    }
}

/// Gives back to the user all directories from this one on. Of each only what was opened is changed: a
/// command that was not found to be killed may put a link in its place at any moment.
fn open_up(parent: impl AsFd, name: impl Arg, depth: usize) {
    let place = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(found) = openat(parent, name, place | OFlags::PATH, Mode::empty()) else { return };
    // What is open like this has no other name for it that every kernel knows.
    let _ = chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), Mode::RWXU);
    let Ok(entries) = openat(&found, c".", place, Mode::empty()).and_then(Dir::new) else { return };
    for entry in entries.flatten() {
        let is_within = !matches!(entry.file_name().to_bytes(), b"." | b"..");
        if is_within && depth > 0 {
            open_up(&found, entry.file_name(), depth - 1);
        }
    }
}

/// Which variables that name a temporary directory a command gets.
pub(crate) struct Variables {
    /// These and values below them are passed on.
    writable: Vec<PathBuf>,
    /// These are passed on; what the host has below them is not there for a command.
    private: &'static [&'static str],
    /// What is added.
    added: Option<CString>,
}

const NAMES: [&[u8]; 3] = [b"TMPDIR=", b"TMP=", b"TEMP="];

impl Variables {
    /// For commands that can write below `writable`, and whose temporary directories are those of the
    /// system, which are their own.
    pub(crate) fn of_tree(writable: Vec<PathBuf>) -> Self {
        Self { writable, private: &["/tmp", "/var/tmp", "/dev/shm"], added: None }
    }

    /// For commands that can write below `writable`, and have `directory` for their temporary files if
    /// that is not where everybody looks.
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).expect("attributes").permissions().mode() & 0o777
    }

    #[test]
    fn what_is_locked_is_opened_up_and_no_link_is_followed() {
        let base = tempfile::tempdir().expect("dir");
        let (own, others) = (base.path().join("own"), base.path().join("others"));
        fs::create_dir_all(own.join("a/b")).expect("dirs");
        fs::create_dir(&others).expect("dir");
        fs::set_permissions(&others, fs::Permissions::from_mode(0o750)).expect("mode");
        symlink(&others, own.join("a/link")).expect("link");
        for locked in ["a/b", "a"] {
            fs::set_permissions(own.join(locked), fs::Permissions::from_mode(0o000)).expect("mode");
        }
        open_up(CWD, &own, DEEPEST);
        assert_eq!(["a", "a/b"].map(|one| mode_of(&own.join(one))), [0o700; 2]);
        open_up(CWD, own.join("a/link"), DEEPEST);
        assert_eq!(mode_of(&others), 0o750);
        remove(&own);
        assert!(!own.exists() && others.exists());
    }
}
