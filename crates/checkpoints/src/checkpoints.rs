//! A store and the directory that it keeps.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ignore::gitignore::Gitignore;
use rusqlite::OptionalExtension;
use rustix::fs::{CWD, Mode, OFlags};
use toolwright_fs::Root;
use toolwright_sqlite::{
    Access, BusyTimeout, Database, Location, SqliteErrorKind, Synchronous, sync::lock,
};

use crate::error::{Result, Tx, abort};
use crate::head::Head;
use crate::options::own_rules;
use crate::schema::Tables;
use crate::{CheckpointError, Options};

/// The file of a store in its directory.
const FILE: &str = "checkpoints.db";

/// A store and the directory that it keeps. Used by any number of threads and processes at once.
pub struct Checkpoints {
    pub(crate) root: PathBuf,
    pub(crate) directory: OwnedFd,
    /// The same directory, for the ignore files in it.
    pub(crate) confined: Root,
    pub(crate) database: Database,
    pub(crate) options: Options,
    pub(crate) own_rules: Gitignore,
    pub(crate) head: Mutex<Head>,
    /// When the calls of this process that run have begun, by their names.
    pub(crate) began: Mutex<HashMap<String, i64>>,
    /// Of the store: random, so that no name of a file is that of another store.
    pub(crate) id: String,
}

impl Debug for Checkpoints {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoints")
            .field("root", &self.root)
            .field("store", &self.database.path())
            .finish_non_exhaustive()
    }
}

impl Checkpoints {
    /// Opens the store in the directory `store` for the files below `root`. Both are created where they
    /// are missing, except the root.
    ///
    /// # Errors
    ///
    /// [`CheckpointError::StoreInside`], [`CheckpointError::OtherRoot`], [`CheckpointError::Root`],
    /// [`CheckpointError::Pattern`], and those of the store.
    #[expect(clippy::disallowed_methods, reason = "the root is a directory of the host")]
    pub fn open(root: &Path, store: &Path, mut options: Options) -> Result<Self> {
        let unreadable = |path: &Path| {
            let path = path.to_path_buf();
            move |source: std::io::Error| CheckpointError::Root { path, source }
        };
        // Before anything is made: they may be wrong.
        own_rules(&options)?;
        let root = root.canonicalize().map_err(unreadable(root))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, &root, flags, Mode::empty())
            .map_err(|errno| unreadable(&root)(errno.into()))?;
        let confined =
            Root::open(&root).map_err(|error| unreadable(&root)(std::io::Error::other(error)))?;
        // Before it is made: nothing may be left in the root.
        let store = resolved(store);
        if store.starts_with(&root) {
            return Err(CheckpointError::StoreInside { store, root });
        }
        // It holds what the files hold.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&store)
            .map_err(|error| SqliteErrorKind::CannotOpen.because(&store, error))?;
        let store = store
            .canonicalize()
            .map_err(|error| SqliteErrorKind::CannotOpen.because(&store, error))?;
        if store.starts_with(&root) {
            return Err(CheckpointError::StoreInside { store, root });
        }
        let database_options = toolwright_sqlite::Options {
            access: Access::ReadWrite,
            synchronous: Synchronous::Normal,
            busy_timeout: BusyTimeout(options.busy_timeout),
        };
        let location = Location::File(store.join(FILE));
        let (database, _) = Database::open::<Tables>(&location, database_options)?;
        let id = prepare(&database, &root)?;
        options.share(&database)?;
        let own_rules = own_rules(&options)?;
        Ok(Self {
            root,
            directory,
            confined,
            database,
            options,
            own_rules,
            head: Mutex::default(),
            began: Mutex::default(),
            id,
        })
    }

    /// The directory, without links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file of the store.
    #[must_use]
    pub fn store(&self) -> &Path {
        self.database.path()
    }

    /// Closes the store. Nothing that is certain depends on it.
    pub fn close(&self) -> Result<()> {
        lock(&self.head).rows.clear();
        lock(&self.head).generation = None;
        Ok(self.database.close()?)
    }
}

/// A path without links as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path
}

/// Notes what the store keeps if it is new, and gives its name.
fn prepare(database: &Database, root: &Path) -> Result<String> {
    use std::os::unix::ffi::OsStrExt;
    // Pages can be given back only if this was said before the first of them was filled.
    let is_new = database.read("opening a store", |connection| -> Tx<bool> {
        let mode: i64 = connection.query_row("PRAGMA auto_vacuum", [], |row| row.get(0))?;
        Ok(mode == 0)
    })?;
    if is_new {
        database.writer()?.execute("preparing a store", |connection| {
            connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
        })?;
    }
    database.transaction("opening a store", |connection| {
        let get = |key: &str| -> Tx<Option<Vec<u8>>> {
            let sql = "SELECT CAST(value AS BLOB) FROM checkpoint_store WHERE key = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row([key], |row| row.get(0)).optional()?)
        };
        let put = "INSERT INTO checkpoint_store VALUES (?1, ?2)";
        match get("root")? {
            None => {
                connection.execute(put, ("root", root.as_os_str().as_bytes()))?;
                connection.execute(put, ("generation", 0))?;
                connection.execute(
                    "INSERT INTO checkpoint_store VALUES ('id', lower(hex(randomblob(6))))",
                    [],
                )?;
            }
            Some(kept) if kept != root.as_os_str().as_bytes() => {
                return abort(CheckpointError::OtherRoot {
                    store: database.path().to_path_buf(),
                    kept: crate::diff::path_of(&kept),
                    root: root.to_path_buf(),
                });
            }
            Some(_) => {}
        }
        let id = get("id")?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&id).into_owned())
    })
}
