//! One fork.

use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::io::fcntl_dupfd_cloexec;
use toolwright_fs::{FileIdentity, Root, remove_tree};
use toolwright_git::directory::Directory;

use crate::ancestors::{Ancestor, Ancestors};
use crate::base_state::{BaseState, note};
use crate::changes::Changes;
use crate::commits::{self, Commits};
use crate::diff::Diff;
use crate::error::{ForkError, Result};
use crate::manifest::Manifest;
use crate::record::Record;
use crate::store::{COMMITS, GONE, Store, UPPER};
use crate::tree;
use crate::usage::usage;

/// A fork that can be compared, applied and discarded.
#[derive(Debug)]
pub struct Fork {
    id: String,
    /// The directory of all forks.
    pub(crate) store: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) base: PathBuf,
    /// The base itself, which is never written through this.
    pub(crate) base_fd: OwnedFd,
    pub(crate) upper: OwnedFd,
    manifest: Mutex<BaseState>,
    ancestors: Mutex<Ancestors>,
    /// The root of the fork where this process has it open.
    pub(crate) mounted: OnceLock<Arc<OwnedFd>>,
    /// What is applied only if it is named, relative to the base.
    pub(crate) protected: Arc<[PathBuf]>,
    label: Option<String>,
    pub(crate) max_bytes: u64,
    created_ms: u64,
    /// `None` while another process has it open. It can be compared then, and no more.
    pub(crate) lock: Option<File>,
}

impl Store {
    /// A fork that no process has open, to compare, apply or discard it. One that is damaged can be discarded alone.
    pub fn take(&self, id: &str) -> Result<Fork> {
        let lock = self.lock(id)?;
        if self.is_damaged(id) {
            return Err(ForkError::Damaged { id: id.to_owned() });
        }
        Fork::at(self, id, Some(lock), BaseState::noted(&self.directory(id)?, id)?)
    }

    /// A fork to compare, whether a process has it open or not.
    pub fn look(&self, id: &str) -> Result<Fork> {
        match self.try_lock(id) {
            Err(ForkError::Busy { .. }) => {
                let state = BaseState::noted(&self.directory(id)?, id)?;
                Fork::at(self, id, None, state)
            }
            Ok(lock) if !self.is_damaged(id) => {
                let state = BaseState::noted(&self.directory(id)?, id)?;
                Fork::at(self, id, Some(lock), state)
            }
            Ok(_) => Err(ForkError::Damaged { id: id.to_owned() }),
            Err(error) => Err(error),
        }
    }

    /// Throws a fork away that no process has open.
    pub fn discard(&self, id: &str) -> Result<()> {
        // Held until it is gone.
        let _lock = self.lock(id)?;
        remove(&self.directory(id)?)
    }
}

impl Fork {
    pub(crate) fn at(
        store: &Store,
        id: &str,
        lock: Option<File>,
        state: BaseState,
    ) -> Result<Self> {
        let directory = store.directory(id)?;
        let failed = |name: &str| ForkError::io(&directory.join(name), "reading");
        let damaged = || ForkError::Damaged { id: id.to_owned() };
        let record = store.record(id).ok_or_else(damaged)?;
        let Record { base, identity, created_ms, label, max_bytes } = record;
        let own = tree::open(&directory).map_err(|errno| failed("")(errno.into()))?;
        let upper = tree::directory(&own, UPPER.as_ref());
        let upper = upper.map_err(|errno| failed(UPPER)(errno.into()))?;
        let base_fd = tree::open(&base)
            .map_err(|errno| ForkError::Base { path: base.clone(), source: errno.into() })?;
        let found = FileIdentity::of(&base_fd)
            .map_err(|source| ForkError::Base { path: base.clone(), source })?;
        if !found.is(&identity) {
            return Err(ForkError::Replaced { path: base });
        }
        Ok(Self {
            id: id.to_owned(),
            store: store.path.clone(),
            ancestors: Mutex::new(Ancestors::of(&directory)),
            mounted: OnceLock::new(),
            directory,
            base,
            base_fd,
            upper,
            manifest: Mutex::new(state),
            protected: Arc::clone(&store.protected),
            label,
            max_bytes,
            created_ms,
            lock,
        })
    }

    /// Does something with what the base was. Waits until that is known.
    pub(crate) fn with_manifest<T>(&self, use_it: impl FnOnce(&mut Manifest) -> T) -> Result<T> {
        let mut base_state = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        base_state.manifest(&self.id).map(use_it)
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The base.
    #[must_use]
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Its maker's name for it.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// When it was made, in milliseconds since 1970.
    #[must_use]
    pub fn created_ms(&self) -> u64 {
        self.created_ms
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// How many bytes its changes may have.
    #[must_use]
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// How many bytes its changes may have, if they have more.
    pub(crate) fn exceeded(&self) -> Option<u64> {
        (usage(self.upper.as_fd()) > self.max_bytes).then_some(self.max_bytes)
    }

    /// What differs from the base.
    pub fn changes(&self) -> Result<Changes> {
        let found = self.with_manifest(|manifest| {
            let known = (&*manifest, &*self.protected);
            let found = Changes::find(self.upper.as_fd(), self.base_fd.as_fd(), known);
            if let (Ok(found), true) = (&found, self.is_locked()) {
                let mut ancestors = self.ancestors.lock().unwrap_or_else(PoisonError::into_inner);
                ancestors.keep(&found.changes, self.base_fd.as_fd(), manifest);
            }
            found
        })?;
        found.map_err(|(path, errno)| {
            let path = self.base.join(path);
            ForkError::Io { path, operation: "comparing", source: errno.into() }
        })
    }

    /// The same as a unified diff of at most `max_bytes`.
    pub fn diff(&self, max_bytes: usize) -> Result<(Changes, Diff)> {
        let changes = self.changes()?;
        let diff = Diff::of(&changes.changes, self.upper.as_fd(), self.base_fd.as_fd(), max_bytes);
        Ok((changes, diff))
    }

    /// The base, as it was opened.
    pub(crate) fn base_copy(&self) -> Result<OwnedFd> {
        fcntl_dupfd_cloexec(&self.base_fd, 0)
            .map_err(|errno| ForkError::Base { path: self.base.clone(), source: errno.into() })
    }

    /// The fork, to write to it as its tools do. Where no process has it mounted, its changes are written themselves.
    pub(crate) fn own_root(&self) -> Result<Root> {
        let own = self.mounted.get().map_or(self.upper.as_fd(), |mounted| mounted.as_fd());
        let own = fcntl_dupfd_cloexec(own, 0)
            .map_err(|errno| ForkError::io(&self.directory, "opening")(errno.into()))?;
        Ok(Root::of_open(own, self.base.clone()))
    }

    /// The text that the base had at a path, if that is known.
    pub(crate) fn ancestor(&self, path: &Path) -> Result<Option<Ancestor>> {
        self.with_manifest(|manifest| {
            let ancestors = self.ancestors.lock().unwrap_or_else(PoisonError::into_inner);
            ancestors.get(path, manifest)
        })
    }

    /// Brings the commits that were made in the fork to the base.
    pub(crate) fn bring_commits(&self) -> Option<Commits> {
        let base = Directory::from(self.base_copy().ok()?);
        let upper = Directory::from(fcntl_dupfd_cloexec(&self.upper, 0).ok()?);
        commits::bring(&self.id, &self.directory.join(COMMITS), &upper, (&base, &self.base))
    }

    /// Takes what is at some paths of the base for what was there when the fork was made.
    pub(crate) fn note_applied(&self, paths: impl Iterator<Item = PathBuf>) -> Result<()> {
        let paths: Vec<PathBuf> = paths.collect();
        let bytes = self.with_manifest(|manifest| {
            let mut ancestors = self.ancestors.lock().unwrap_or_else(PoisonError::into_inner);
            ancestors.forget(paths.iter());
            manifest.update(self.base_fd.as_fd(), paths.into_iter());
            manifest.write()
        })?;
        note(&self.directory, &bytes)
    }

    /// Waits until all is on the disk that another process needs to know of it.
    pub fn settle(&self) -> Result<()> {
        self.with_manifest(|_| ())
    }

    /// Throws it away.
    pub fn discard(self) -> Result<()> {
        let Self { directory, lock, id, .. } = self;
        // Held until it is gone.
        let _lock = lock.ok_or(ForkError::Busy { id })?;
        remove(&directory)
    }
}

/// Removes the directory of a fork. From its first step on it is none, and nothing is written there by its path.
pub(crate) fn remove(directory: &Path) -> Result<()> {
    let mut gone = directory.as_os_str().to_owned();
    gone.push(GONE);
    let gone = PathBuf::from(gone);
    fs::rename(directory, &gone).map_err(ForkError::io(directory, "discarding a fork"))?;
    remove_tree(&gone, None).map_err(ForkError::io(&gone, "removing a fork"))
}
