//! The files of a change set: found, and read in their turn.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use toolwright_reserved::FileId;

use super::step::StepKind;
use super::{Change, ChangeSet, Place, failed, marks, plan};
use crate::cancel::checkpoint;
use crate::file_queue::Key;
use crate::location::{name_of, unnamed};
use crate::open::identity;
use crate::protection::Protection;
use crate::write::check_new_name;
use crate::{
    FileKind, FsError, FsErrorKind, LastLink, OpenTarget, Root, TargetKind, WriteOptions,
    open_target, reserved,
};

/// A name that the set gives or takes.
#[derive(Debug)]
pub(super) struct Located {
    /// The index of its change.
    pub(super) change: usize,
    pub(super) kind: StepKind,
    pub(super) display: String,
    /// Its real path below the root.
    pub(super) place: PathBuf,
    /// The deepest directory that exists.
    pub(super) directory: Arc<OwnedFd>,
    pub(super) identity: FileId,
    /// A link, which is not followed.
    pub(super) is_link: bool,
    /// It is where the file of its change goes.
    pub(super) is_place: bool,
    /// The directories to be made in it.
    pub(super) missing: Vec<OsString>,
    pub(super) name: OsString,
}

impl Located {
    pub(super) fn key(&self) -> Key {
        let name = self.missing.iter().chain([&self.name]).collect::<PathBuf>().into_os_string();
        Key { directory: self.identity, name }
    }

    /// A link that a file takes the name of.
    pub(super) fn is_replaced_link(&self) -> bool {
        self.is_link && self.kind == StepKind::Update
    }

    /// The names that it may give or take.
    pub(super) fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.missing.iter().chain([&self.name]).map(|name| &**name)
    }

    /// How many components of the place exist already.
    pub(super) fn depth(&self) -> usize {
        self.place.components().count() - self.missing.len() - 1
    }
}

/// Finds every file, and refuses those that may not be changed.
pub(super) fn locate(
    set: &ChangeSet<'_>,
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<Vec<Located>, FsError> {
    let root_path = set.root.path().to_string_lossy();
    let real_root = name_of(set.root.as_fd()).map_err(|errno| unnamed(&root_path, errno))?;
    let mut search = Search {
        root: set.root,
        real_root,
        protection: Protection::of(set.root, options),
        directories: HashMap::new(),
        located: Vec::new(),
    };
    for path in set.emptied {
        let display = path.to_string_lossy();
        if !plan::is_below(path) {
            return Err(FsErrorKind::Escape { via_link: false }.at(display));
        }
        search.protection.check_file(&display, path)?;
    }
    for (index, change) in set.changes.iter().enumerate() {
        checkpoint(cancel)?;
        let named = match change.change {
            Change::Update => LastLink::Followed,
            _ => LastLink::Itself,
        };
        let kind = match change.change {
            Change::Create { .. } | Change::CreateLink => StepKind::Create,
            Change::Update | Change::Replace { .. } => StepKind::Update,
            Change::Move { .. } | Change::MoveOnto { .. } | Change::Delete => StepKind::Delete,
        };
        search.add(index, Role::Is(kind), change.place, named)?;
        match change.change {
            Change::Move { to } => {
                search.add(index, Role::Takes { replaces: false }, to, LastLink::Itself)?;
            }
            Change::MoveOnto { to } => {
                search.add(index, Role::Takes { replaces: true }, to, LastLink::Itself)?;
            }
            _ => {}
        }
    }
    marks::check(&search.located, options.git)?;
    Ok(search.located)
}

/// What a name is for its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The file.
    Is(StepKind),
    /// Where the file goes.
    Takes {
        /// What is there is replaced.
        replaces: bool,
    },
}

struct Search<'a> {
    root: &'a Root,
    real_root: PathBuf,
    protection: Protection<'a>,
    /// Open directories, each only once.
    directories: HashMap<FileId, Arc<OwnedFd>>,
    located: Vec<Located>,
}

impl Search<'_> {
    fn add(
        &mut self,
        change: usize,
        role: Role,
        place: Place<'_>,
        named: LastLink,
    ) -> Result<(), FsError> {
        match place {
            Place::Path(path) => {
                let mut target = open_target::open_below(self.root, path, named)?;
                // Protected files come first: what is there is not revealed.
                self.check_protected(&target)?;
                if target.kind() == TargetKind::Missing {
                    target.check_writable()?;
                }
                self.take(change, role, &target)
            }
            Place::Opened(target) => {
                self.check_protected(target)?;
                self.take(change, role, target)
            }
        }
    }

    fn check_protected(&self, target: &OpenTarget) -> Result<(), FsError> {
        let path = target.display_path();
        let place = target.real_path().strip_prefix(&self.real_root);
        let place = place.map_err(|_| FsErrorKind::Escape { via_link: true }.at(path))?;
        self.protection.check_file(path, place)?;
        self.protection.check_around(path, target.directory().as_fd())
    }

    fn take(&mut self, change: usize, role: Role, target: &OpenTarget) -> Result<(), FsError> {
        let display = target.display_path();
        let place = target.real_path().strip_prefix(&self.real_root);
        let place = place.map_err(|_| FsErrorKind::Escape { via_link: false }.at(display))?;
        let is_there = matches!(target.kind(), TargetKind::File { .. } | TargetKind::Link);
        let kind = match role {
            Role::Is(kind) => kind,
            Role::Takes { replaces: true } if is_there => StepKind::Update,
            Role::Takes { .. } => StepKind::Create,
        };
        match (target.kind(), kind) {
            (TargetKind::Directory, _) => {
                return Err(FsErrorKind::NotAFile { kind: FileKind::Directory }.at(display));
            }
            // A program that moves a file to such a name moves it into the directory.
            (TargetKind::Link, _)
                if role == (Role::Takes { replaces: true }) && self.leads_to_directory(target) =>
            {
                return Err(FsErrorKind::NotAFile { kind: FileKind::Directory }.at(display));
            }
            (TargetKind::File { .. } | TargetKind::Link, StepKind::Create) => {
                return Err(FsErrorKind::Exists.at(display));
            }
            (TargetKind::Missing, StepKind::Update | StepKind::Delete) => {
                return Err(FsErrorKind::NotFound.at(display));
            }
            (TargetKind::Missing, _) => check_new_name(display)?,
            _ => {}
        }
        let (directory, missing) = target.unmoved_directory()?;
        let stat =
            rustix::fs::fstat(directory).map_err(failed(display, "looking at its directory"))?;
        reserved::check(display, &stat)?;
        let identity = identity(&stat);
        let directory = if let Some(open) = self.directories.get(&identity) {
            Arc::clone(open)
        } else {
            let open = rustix::io::fcntl_dupfd_cloexec(directory, 0)
                .map_err(failed(display, "opening its directory"))?;
            let open = Arc::new(open);
            self.directories.insert(identity, Arc::clone(&open));
            open
        };
        self.located.push(Located {
            change,
            kind,
            display: display.to_owned(),
            place: place.to_owned(),
            directory,
            identity,
            is_link: target.kind() == TargetKind::Link,
            is_place: matches!(role, Role::Takes { .. }),
            missing: missing.to_vec(),
            name: target.name().as_os_str().to_owned(),
        });
        Ok(())
    }

    fn leads_to_directory(&self, link: &OpenTarget) -> bool {
        let followed = open_target::open_below(self.root, link.display_path(), LastLink::Followed);
        followed.is_ok_and(|one| one.kind() == TargetKind::Directory)
    }
}
