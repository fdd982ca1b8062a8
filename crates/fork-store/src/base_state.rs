//! What the base of a fork was: a manifest, or a thread that makes one.

use std::fs;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread::JoinHandle;

use rustix::io::Errno;

use crate::error::{ForkError, Result};
use crate::manifest::Manifest;
use crate::store::{MANIFEST, NEW, new_file};
use crate::timestamp::Timestamp;
use crate::tree;

const MAX_MANIFEST: u64 = 4 << 30;

/// What the base was.
#[derive(Debug)]
pub(crate) enum BaseState {
    Manifest(Manifest),
    /// A thread looks at it. Nothing, if that has failed.
    Looking(Option<JoinHandle<Result<Manifest>>>),
}

impl BaseState {
    /// As it was noted. Without that the process was killed in the moment after it had made the fork.
    pub(crate) fn noted(directory: &Path, id: &str) -> Result<Self> {
        let read = tree::open(directory)
            .map_err(std::io::Error::from)
            .and_then(|own| tree::read(own, MANIFEST.as_ref(), MAX_MANIFEST));
        let manifest = read.ok().and_then(|bytes| Manifest::read(&bytes));
        manifest.map(Self::Manifest).ok_or_else(|| ForkError::Damaged { id: id.to_owned() })
    }

    /// The manifest. Waits for the thread.
    pub(crate) fn manifest(&mut self, id: &str) -> Result<&mut Manifest> {
        let damaged = || ForkError::Damaged { id: id.to_owned() };
        if let Self::Looking(looking) = self {
            let looking = looking.take().ok_or_else(damaged)?;
            *self = Self::Manifest(looking.join().map_err(|_| damaged())??);
        }
        match self {
            Self::Manifest(manifest) => Ok(manifest),
            Self::Looking(_) => Err(damaged()),
        }
    }
}

/// Looks at the base, and notes what it was at a moment.
pub(crate) fn look(directory: &Path, base: &OwnedFd, timestamp: Timestamp) -> Result<Manifest> {
    let unread =
        |errno: Errno| ForkError::Base { path: directory.to_owned(), source: errno.into() };
    let mut manifest = Manifest::look(base.as_fd()).map_err(unread)?;
    manifest.settle(timestamp);
    note(directory, &manifest.write())?;
    Ok(manifest)
}

/// Writes a manifest in one step.
pub(crate) fn note(directory: &Path, bytes: &[u8]) -> Result<()> {
    let path = directory.join(MANIFEST);
    let new = directory.join(format!("{MANIFEST}{NEW}"));
    let _ = fs::remove_file(&new);
    new_file(&new)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&new, &path))
        .map_err(ForkError::io(&path, "noting what the base was"))
}
