//! One fork.

use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use rustix::io::fcntl_dupfd_cloexec;
use toolwright_exec::root_fork::RootFork;
use toolwright_fs::{DirectoryGrant, FileIdentity, is_on_local, remove_tree};
use toolwright_git::directory::Directory;
use toolwright_sandbox::wire::ForkOrder;

use crate::changes::Changes;
use crate::commits::{self, Commits};
use crate::diff::Diff;
use crate::error::{ForkError, Result, Unavailable};
use crate::known::{Known, look, note};
use crate::manifest::{Manifest, Moment};
use crate::record::Record;
use crate::store::{
    COMMITS, GONE, LOCK, NEW, RECORD, STATE, Store, UPPER, WORK, boot, new_file, new_id, now_ms,
};
use crate::{mounts, tree};

/// A fork that can be compared, applied and discarded.
#[derive(Debug)]
pub struct Fork {
    id: String,
    directory: PathBuf,
    pub(crate) base: PathBuf,
    /// The base itself, which is never written through this.
    pub(crate) base_fd: OwnedFd,
    pub(crate) upper: OwnedFd,
    manifest: Mutex<Known>,
    /// What is applied only if it is named, relative to the base.
    pub(crate) protected: Arc<[PathBuf]>,
    label: Option<String>,
    created_ms: u64,
    /// `None` while another process has it open. It can be compared then, and no more.
    lock: Option<File>,
}

/// A fork that tools and commands work in.
#[derive(Debug)]
pub struct OpenFork {
    fork: Fork,
    mount: Arc<RootFork>,
}

impl Store {
    /// Makes a fork of a directory, and opens it.
    pub fn fork(&self, base: &Path, label: Option<&str>) -> Result<OpenFork> {
        let (base, fd, identity) = self.find_base(base)?;
        let created_ms = now_ms();
        let id = new_id(created_ms);
        let making = self.path.join(format!("{id}{NEW}"));
        let directory = self.path.join(&id);
        let made = make(&making, (&base, identity), (created_ms, label)).and_then(|lock| {
            fs::rename(&making, &directory).map_err(ForkError::io(&directory, "naming"))?;
            Ok(lock)
        });
        let lock = made.inspect_err(|_| drop(remove_tree(&making, None)))?;
        let opened = self.open_new(&id, lock, (fd, identity));
        opened.inspect_err(|_| drop(remove_tree(&directory, None)))
    }

    /// Opens a fork that was just made. A thread looks at the base meanwhile, and afterwards.
    fn open_new(
        &self,
        id: &str,
        lock: File,
        (base, identity): (OwnedFd, FileIdentity),
    ) -> Result<OpenFork> {
        let moment = Moment::now();
        let directory = self.directory(id)?;
        let failed = ForkError::io(&directory, "starting a thread");
        // The clock of another machine says nothing of what was first.
        let is_local = is_on_local(&self.record(id).map(|it| it.base).unwrap_or_default());
        let (tell, told) = mpsc::channel();
        let looking = thread::Builder::new()
            .name("toolwright-fork".to_owned())
            .spawn(move || look(&directory, &base, &told))
            .map_err(failed)?;
        let fork = Fork::at(self, id, Some(lock), Known::Looking(Some(looking)))?;
        if !is_local {
            // Everything is looked at before anything can change the fork.
            let _ = tell.send(Moment::END);
            fork.settle()?;
        }
        let opened = OpenFork::of(fork, identity)?;
        moment.wait();
        let _ = tell.send(moment);
        Ok(opened)
    }

    /// A fork that no process has open, to compare, apply or discard it. One that is damaged can be discarded alone.
    pub fn take(&self, id: &str) -> Result<Fork> {
        let lock = self.lock(id)?;
        if self.is_damaged(id) {
            return Err(ForkError::Damaged { id: id.to_owned() });
        }
        Fork::at(self, id, Some(lock), Known::noted(&self.directory(id)?, id)?)
    }

    /// A fork to compare, whether a process has it open or not.
    pub fn look(&self, id: &str) -> Result<Fork> {
        match self.try_lock(id) {
            Err(ForkError::Busy { .. }) => {
                let known = Known::noted(&self.directory(id)?, id)?;
                Fork::at(self, id, None, known)
            }
            Ok(lock) if !self.is_damaged(id) => {
                let known = Known::noted(&self.directory(id)?, id)?;
                Fork::at(self, id, Some(lock), known)
            }
            Ok(_) => Err(ForkError::Damaged { id: id.to_owned() }),
            Err(error) => Err(error),
        }
    }

    /// Opens a fork that was made before, for tools and commands.
    pub fn reopen(&self, id: &str) -> Result<OpenFork> {
        let fork = self.take(id)?;
        let (_, _, identity) = self.find_base(&fork.base)?;
        OpenFork::of(fork, identity)
    }

    /// Throws a fork away that no process has open.
    pub fn discard(&self, id: &str) -> Result<()> {
        let lock = self.lock(id)?;
        remove(&self.directory(id)?, lock)
    }

    /// The real path of a base, after it was checked that it can be forked.
    fn find_base(&self, base: &Path) -> Result<(PathBuf, OwnedFd, FileIdentity)> {
        let failed = |source| ForkError::Base { path: base.to_owned(), source };
        let real = base.canonicalize().map_err(failed)?;
        let fd = tree::open(&real).map_err(|errno| failed(errno.into()))?;
        let identity = FileIdentity::of(&fd).map_err(failed)?;
        let reason = if mounts::is_of_system(&real) {
            Some(Unavailable::System)
        } else if real.to_str().is_none() {
            Some(Unavailable::Name)
        } else if self.path.starts_with(&real) {
            Some(Unavailable::StoreInside(self.path.clone()))
        } else {
            mounts::mounted_in(&real).map(Unavailable::MountInside)
        };
        match reason {
            Some(reason) => Err(ForkError::Unavailable { path: real, reason }),
            None => Ok((real, fd, identity)),
        }
    }
}

/// Makes the directory of a fork under a name that nobody takes for one.
fn make(
    directory: &Path,
    (base, identity): (&Path, FileIdentity),
    (created_ms, label): (u64, Option<&str>),
) -> Result<File> {
    let failed = |path: &Path| ForkError::io(path, "making a fork");
    let private = |path: &Path| DirBuilder::new().mode(0o700).create(path).map_err(failed(path));
    private(directory)?;
    let path = directory.join(LOCK);
    let lock = new_file(&path).map_err(failed(&path))?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive)
        .map_err(|errno| failed(&path)(errno.into()))?;
    for name in [UPPER, WORK] {
        private(&directory.join(name))?;
    }
    // The fork has the permissions of the base.
    let permissions = fs::metadata(base).map_err(failed(base))?.permissions();
    let upper = directory.join(UPPER);
    fs::set_permissions(&upper, permissions).map_err(failed(&upper))?;
    let record =
        Record { base: base.to_owned(), identity, created_ms, label: label.map(str::to_owned) };
    for (name, bytes) in [(RECORD, record.write().into_bytes()), (STATE, boot().into_bytes())] {
        let path = directory.join(name);
        new_file(&path).and_then(|mut file| file.write_all(&bytes)).map_err(failed(&path))?;
    }
    Ok(lock)
}

impl Fork {
    fn at(store: &Store, id: &str, lock: Option<File>, known: Known) -> Result<Self> {
        let directory = store.directory(id)?;
        let failed = |name: &str| ForkError::io(&directory.join(name), "reading");
        let damaged = || ForkError::Damaged { id: id.to_owned() };
        let record = store.record(id).ok_or_else(damaged)?;
        let Record { base, identity, created_ms, label } = record;
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
            directory,
            base,
            base_fd,
            upper,
            manifest: Mutex::new(known),
            protected: Arc::clone(&store.protected),
            label,
            created_ms,
            lock,
        })
    }

    /// Does something with what the base was. Waits until that is known.
    pub(crate) fn with_manifest<T>(&self, use_it: impl FnOnce(&mut Manifest) -> T) -> Result<T> {
        let mut known = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        known.manifest(&self.id).map(use_it)
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

    /// What differs from the base.
    pub fn changes(&self) -> Result<Changes> {
        let found = self.with_manifest(|manifest| {
            let known = (&*manifest, &*self.protected);
            Changes::find(self.upper.as_fd(), self.base_fd.as_fd(), known)
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

    /// Brings the commits that were made in the fork to the base.
    pub(crate) fn bring_commits(&self) -> Option<Commits> {
        let base = Directory::from(self.base_copy().ok()?);
        let upper = Directory::from(fcntl_dupfd_cloexec(&self.upper, 0).ok()?);
        commits::bring(&self.id, &self.directory.join(COMMITS), &upper, (&base, &self.base))
    }

    /// Takes what is at some paths of the base for what was there when the fork was made.
    pub(crate) fn note_applied(&self, paths: impl Iterator<Item = PathBuf>) -> Result<()> {
        let bytes = self.with_manifest(|manifest| {
            manifest.update(self.base_fd.as_fd(), paths);
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
        remove(&directory, lock.ok_or(ForkError::Busy { id })?)
    }
}

impl OpenFork {
    /// Mounts a fork.
    fn of(fork: Fork, identity: FileIdentity) -> Result<Self> {
        let failed = |path: &Path| ForkError::io(path, "opening a fork");
        let work = fork.directory.join(WORK);
        // The kernel wants a fresh one. It also says there that the changes may not be on the disk, as `STATE` does.
        remove_tree(&work, None).map_err(failed(&work))?;
        DirBuilder::new().mode(0o700).create(&work).map_err(failed(&work))?;
        let state = fork.directory.join(STATE);
        fs::write(&state, boot()).map_err(failed(&state))?;
        let order = ForkOrder {
            base: fork.base.clone(),
            identity,
            changes: fork.directory.join(UPPER),
            work,
        };
        let busy = || ForkError::Busy { id: fork.id.clone() };
        let lock = fork.lock.as_ref().ok_or_else(busy)?.try_clone();
        let lock = lock.map_err(failed(&fork.directory))?;
        let mount = RootFork::make(&order, lock.into()).map_err(|error| {
            ForkError::Unavailable { path: fork.base.clone(), reason: error.into() }
        })?;
        Ok(Self { fork, mount })
    }

    /// The fork itself.
    #[must_use]
    pub fn fork(&self) -> &Fork {
        &self.fork
    }

    /// What tools get in place of the base. `name` is the name of the option.
    #[must_use]
    pub fn granted(&self, name: &str) -> DirectoryGrant {
        DirectoryGrant::of_fork(name, &self.fork.base, self.mount.granted())
    }

    /// Closes it. It stays in the store, with all its changes on the disk.
    pub fn close(self) -> Result<Fork> {
        let Self { fork, mount } = self;
        fork.settle()?;
        if mount.close() {
            rustix::fs::syncfs(&fork.upper)
                .map_err(|errno| ForkError::io(&fork.directory, "syncing")(errno.into()))?;
            let state = fork.directory.join(STATE);
            fs::remove_file(&state).map_err(ForkError::io(&state, "closing a fork"))?;
            return Ok(fork);
        }
        Err(ForkError::Busy { id: fork.id.clone() })
    }

    /// Closes it and throws it away.
    pub fn discard(self) -> Result<()> {
        let Self { fork, mount } = self;
        // What still runs there is of no use to anybody, and its lock goes with it.
        mount.close();
        fork.discard()
    }
}

/// Removes the directory of a fork. From its first step on it is none.
fn remove(directory: &Path, lock: File) -> Result<()> {
    let mut gone = directory.as_os_str().to_owned();
    gone.push(GONE);
    let gone = PathBuf::from(gone);
    fs::rename(directory, &gone).map_err(ForkError::io(directory, "discarding a fork"))?;
    let removed = remove_tree(&gone, None).map_err(ForkError::io(&gone, "removing a fork"));
    drop(lock);
    removed
}
