//! A fork that is open in this process.

use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use toolwright_exec::root_fork::{Holder, NoFork, RootFork};
use toolwright_fs::{DirectoryGrant, FileIdentity, is_on_local, remove_tree};
use toolwright_sandbox::wire::ForkOrder;

use crate::base_state::{BaseState, look};
use crate::error::{ForkError, Result, Unavailable};
use crate::fork::{Fork, remove};
use crate::record::{MAX_BYTES, Record};
use crate::scanner::Scanner;
use crate::store::{LOCK, NEW, RECORD, STATE, Store, UPPER, WORK, boot, new_file, new_id, now_ms};
use crate::timestamp::Timestamp;
use crate::{mounts, tree};

/// A fork that tools and commands work in.
#[derive(Debug)]
pub struct OpenFork {
    fork: Arc<Fork>,
    mount: Arc<RootFork>,
    scanner: Scanner,
}

impl Store {
    /// Makes a fork of a directory, and opens it.
    pub fn fork(&self, base: &Path, label: Option<&str>) -> Result<OpenFork> {
        self.fork_of_size(base, label, MAX_BYTES)
    }

    /// As [`fork`](Self::fork), with a bound on the bytes of its changes.
    pub fn fork_of_size(
        &self,
        base: &Path,
        label: Option<&str>,
        max_bytes: u64,
    ) -> Result<OpenFork> {
        let (base, fd, identity) = self.find_base(base)?;
        // It takes as long to start as all the rest.
        let holder = Holder::start().map_err(|error| unavailable(&base, error))?;
        let created_ms = now_ms();
        let id = new_id(created_ms);
        let making = self.path.join(format!("{id}{NEW}"));
        let directory = self.path.join(&id);
        let made =
            make(&making, (&base, identity), (created_ms, label, max_bytes)).and_then(|files| {
                fs::rename(&making, &directory).map_err(ForkError::io(&directory, "naming"))?;
                Ok(files)
            });
        let files = made.inspect_err(|_| drop(remove_tree(&making, None)))?;
        let opened = self.open_new(&id, files, (&base, fd, identity), holder);
        opened.inspect_err(|_| drop(remove(&directory)))
    }

    /// Opens a fork that was just made. A thread looks at the base meanwhile, and afterwards.
    fn open_new(
        &self,
        id: &str,
        Files { lock, record, state }: Files,
        (path, base, identity): (&Path, OwnedFd, FileIdentity),
        holder: Holder,
    ) -> Result<OpenFork> {
        let timestamp = Timestamp::now();
        let directory = self.directory(id)?;
        // The clock of another machine says nothing of what was first: everything is looked at before anything can
        // change the fork.
        let is_local = is_on_local(path);
        let base_state = if is_local {
            let fd = base.try_clone().map_err(ForkError::io(path, "opening the base"))?;
            let looking = thread::Builder::new()
                .name("toolwright-fork".to_owned())
                .spawn(move || look(&directory, &fd, timestamp))
                .map_err(ForkError::io(path, "starting a thread"))?;
            BaseState::Looking(Some(looking))
        } else {
            BaseState::Manifest(look(&directory, &base, Timestamp::END)?)
        };
        let fork = Fork::at(self, id, Some(lock), base_state)?;
        let mount = mount(&fork, identity, holder)?;
        if is_local {
            timestamp.pass([&record, &state], &base);
        }
        Ok(OpenFork::of(fork, mount))
    }

    /// Opens a fork that was made before, for tools and commands.
    pub fn reopen(&self, id: &str) -> Result<OpenFork> {
        self.reopen_with(id, None)
    }

    /// As [`reopen`](Self::reopen), with another bound on the bytes of its changes if one is given.
    pub fn reopen_with(&self, id: &str, max_bytes: Option<u64>) -> Result<OpenFork> {
        let mut fork = self.take(id)?;
        fork.max_bytes = max_bytes.unwrap_or(fork.max_bytes);
        let (_, _, identity) = self.find_base(&fork.base)?;
        let holder = Holder::start().map_err(|error| unavailable(&fork.base, error))?;
        renew(&fork)?;
        let mount = mount(&fork, identity, holder)?;
        Ok(OpenFork::of(fork, mount))
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

/// Files of a fork that is being made.
struct Files {
    lock: File,
    record: File,
    state: File,
}

/// Makes the directory of a fork under a name that nobody takes for one.
fn make(
    directory: &Path,
    (base, identity): (&Path, FileIdentity),
    (created_ms, label, max_bytes): (u64, Option<&str>, u64),
) -> Result<Files> {
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
    let (base, label) = (base.to_owned(), label.map(str::to_owned));
    let record = Record { base, identity, created_ms, label, max_bytes };
    let write = |name: &str, text: String| -> Result<File> {
        let path = directory.join(name);
        let mut file = new_file(&path).map_err(failed(&path))?;
        file.write_all(text.as_bytes()).map_err(failed(&path))?;
        Ok(file)
    };
    Ok(Files { lock, record: write(RECORD, record.write())?, state: write(STATE, boot())? })
}

/// Prepares a fork that was open before for being mounted again.
fn renew(fork: &Fork) -> Result<()> {
    let failed = |path: &Path| ForkError::io(path, "opening a fork");
    let work = fork.directory.join(WORK);
    // The kernel wants a fresh one. It also says there that the changes may not be on the disk, as `STATE` does.
    remove_tree(&work, None).map_err(failed(&work))?;
    DirBuilder::new().mode(0o700).create(&work).map_err(failed(&work))?;
    let state = fork.directory.join(STATE);
    fs::write(&state, boot()).map_err(failed(&state))
}

/// Mounts a fork.
fn mount(fork: &Fork, identity: FileIdentity, holder: Holder) -> Result<Arc<RootFork>> {
    let order = ForkOrder {
        base: fork.base.clone(),
        identity,
        changes: fork.directory.join(UPPER),
        work: fork.directory.join(WORK),
    };
    let busy = || ForkError::Busy { id: fork.id().to_owned() };
    let lock = fork.lock.as_ref().ok_or_else(busy)?.try_clone();
    let lock = lock.map_err(ForkError::io(&fork.directory, "opening a fork"))?;
    let made = RootFork::make(holder, &order, lock.into());
    let mount = made.map_err(|error| unavailable(&fork.base, error))?;
    let _ = fork.mounted.set(mount.granted().open);
    Ok(mount)
}

fn unavailable(base: &Path, error: NoFork) -> ForkError {
    ForkError::Unavailable { path: base.to_owned(), reason: error.into() }
}

impl OpenFork {
    fn of(fork: Fork, mount: Arc<RootFork>) -> Self {
        let fork = Arc::new(fork);
        let scanner = Scanner::start(&fork, &mount);
        Self { fork, mount, scanner }
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
        let Self { fork, mount, scanner } = self;
        // What the base has now is what it had for whoever merges later.
        let _ = fork.changes();
        drop(scanner);
        let closed = mount.close();
        drop(mount);
        let id = fork.id().to_owned();
        let mut fork = Arc::into_inner(fork).ok_or(ForkError::Busy { id })?;
        fork.mounted.take();
        fork.settle()?;
        if closed {
            rustix::fs::syncfs(&fork.upper)
                .map_err(|errno| ForkError::io(&fork.directory, "syncing")(errno.into()))?;
            let state = fork.directory.join(STATE);
            fs::remove_file(&state).map_err(ForkError::io(&state, "closing a fork"))?;
            return Ok(fork);
        }
        Err(ForkError::Busy { id: fork.id().to_owned() })
    }

    /// Closes it and throws it away.
    pub fn discard(self) -> Result<()> {
        let Self { fork, mount, scanner } = self;
        drop(scanner);
        // What still runs there is of no use to anybody, and its lock goes with it.
        mount.close();
        let id = fork.id().to_owned();
        Arc::into_inner(fork).ok_or(ForkError::Busy { id })?.discard()
    }
}
