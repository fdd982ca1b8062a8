//! A file or directory that is opened first and decided about then.
//!
//! What is decided about is the real path of what was opened, and what is used is what was opened: no
//! name can come to mean something else in between.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use toolwright_fs::{FsError, FsErrorKind, LastLink, OpenTarget, Range, Roots, TargetKind};
use toolwright_ledger::Shown;
use toolwright_policy::Access;

use super::policy::Policy;
use crate::failure::{Failure, Unfinished, access, files};
use crate::seen::SeenFiles;
use crate::voice;

/// What a target is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Reading a file.
    Read,
    /// Making a file or replacing it as a whole.
    Write,
    /// Changing a part of an existing file.
    Edit,
    /// Deleting a file or a link, or moving it away.
    Remove,
    /// Giving its name to a file or a link that is moved.
    Place,
    /// Searching a directory or a file.
    Search,
    /// Running a command in a directory.
    Workdir,
}

impl FromStr for Purpose {
    type Err = Failure;

    fn from_str(word: &str) -> Result<Self, Failure> {
        Ok(match word {
            "read" => Self::Read,
            "write" => Self::Write,
            "edit" => Self::Edit,
            "remove" => Self::Remove,
            "place" => Self::Place,
            "search" => Self::Search,
            "workdir" => Self::Workdir,
            _ => return Err(access::unknown_purpose(word)),
        })
    }
}

impl Purpose {
    /// Whether it is about a link itself, where the path names one.
    fn last_link(self) -> LastLink {
        match self {
            Self::Remove | Self::Place => LastLink::Itself,
            _ => LastLink::Followed,
        }
    }

    /// What it does to the file in the end.
    fn access(self) -> Access {
        match self {
            Self::Read | Self::Search | Self::Workdir => Access::Read,
            Self::Write | Self::Edit | Self::Remove | Self::Place => Access::Write,
        }
    }

    /// The capabilities that it takes, as a refusal names them.
    fn capabilities(self) -> &'static str {
        match self {
            Self::Read | Self::Search | Self::Workdir => "fs.read",
            Self::Write | Self::Place => "fs.write",
            Self::Edit | Self::Remove => "fs.read and fs.write",
        }
    }

    /// Whether the capabilities of a session let it have what lies at a real path.
    #[must_use]
    pub fn is_allowed(self, policy: &Policy, real_path: &Path, is_directory: bool) -> bool {
        let reads = || policy.allows(Access::Read, real_path);
        let is_around_readable = || is_directory && policy.allows_below(real_path);
        match self {
            Self::Read => reads(),
            Self::Write | Self::Place => policy.allows(Access::Write, real_path),
            Self::Edit | Self::Remove => reads() && policy.allows(Access::Write, real_path),
            Self::Search => reads() || is_around_readable(),
            Self::Workdir => {
                // The directory that a command runs in shows nothing of what is there.
                let is_root = policy.workspace().iter().any(|root| root == real_path);
                reads() || is_around_readable() || is_root
            }
        }
    }
}

/// A place that is open and allowed.
#[derive(Debug)]
pub struct Target {
    /// What was opened.
    pub file: OpenTarget,
    /// What the session may do.
    pub policy: Arc<Policy>,
    /// It lies in one of the session's own directories and needs no rule.
    pub is_implicit: bool,
}

impl Target {
    fn new(policy: &Arc<Policy>, file: OpenTarget, purpose: Purpose) -> Self {
        let is_implicit = policy.is_implicit(purpose.access(), file.real_path());
        Self { file, policy: Arc::clone(policy), is_implicit }
    }

    /// Reads a range of bytes of the file. Bytes that are not UTF-8 become U+FFFD.
    pub fn read_range(
        &self,
        offset: u64,
        limit_bytes: u64,
        cancel: &AtomicBool,
    ) -> Result<Range, Unfinished> {
        let in_session = |error: FsError| Unfinished::from(error).for_session();
        let mut range = self.file.read_range(offset, limit_bytes, cancel).map_err(in_session)?;
        if range.is_binary {
            let path = self.file.display_path();
            return Err(files::binary_file(path, range.file_bytes, &[]).into());
        }
        if range.is_lossy {
            range.bytes = String::from_utf8_lossy(&range.bytes).into_owned().into_bytes();
        }
        Ok(range)
    }

    /// Reads the bytes of the file, at most `limit_bytes` of them.
    pub fn read_whole(&self, limit_bytes: u64, cancel: &AtomicBool) -> Result<Vec<u8>, Unfinished> {
        let in_session = |error: FsError| Unfinished::from(error).for_session();
        let most = usize::try_from(limit_bytes).unwrap_or(usize::MAX).saturating_add(1);
        let bytes = self.file.read_beginning(most, cancel).map_err(in_session)?;
        let (read, limit) = (bytes.len() as u64, limit_bytes);
        if read > limit {
            let bytes = self.file.kind().bytes().unwrap_or(read).max(read);
            let error = FsErrorKind::TooLarge { bytes, limit, result: false };
            return Err(in_session(error.at(self.file.display_path())));
        }
        Ok(bytes)
    }
}

impl Target {
    /// As [`Self::read_range`], for a model that is shown it.
    pub fn read_range_seen(
        &self,
        seen: &SeenFiles,
        offset: u64,
        limit_bytes: u64,
        cancel: &AtomicBool,
    ) -> Result<Range, Unfinished> {
        let since = seen.now();
        let range = self.read_range(offset, limit_bytes, cancel)?;
        // Replaced bytes are not those of the file.
        if !range.is_lossy {
            let is_end = range.next_offset.is_none();
            let shown = Shown::Bytes { from: range.offset, text: &range.bytes, is_end };
            seen.shown(Some(self.file.real_path()), since, shown);
        }
        Ok(range)
    }

    /// All of the file, if it is text and needs no waiting, for a model that is shown it.
    #[must_use]
    pub fn try_read_cached_seen(&self, seen: &SeenFiles, limit_bytes: u64) -> Option<Vec<u8>> {
        let since = seen.now();
        let bytes = self.file.try_read_cached(limit_bytes)?;
        seen.shown(Some(self.file.real_path()), since, Shown::Whole(&bytes));
        Some(bytes)
    }
}

/// Opens what `path` names and asks the policy about the real path of what was opened.
pub fn open(
    policy: &Arc<Policy>,
    path: &str,
    purpose: Purpose,
    cancel: &AtomicBool,
) -> Result<Target, Unfinished> {
    if cancel.load(Ordering::Relaxed) {
        return Err(Unfinished::Cancelled);
    }
    let refused = |error: FsError| unfinished(&error, purpose);
    let denied = || access::path_denied(purpose.capabilities(), path);
    let roots = policy.open_roots(Path::new(path)).map_err(refused)?;
    if purpose.access() == Access::Write {
        roots.settle(&policy.deny_write(), policy.git());
    }
    let mut file = roots.open_named(path, purpose.last_link()).map_err(|error| {
        let is_absolute = Path::new(path).is_absolute();
        match error {
            // No capability speaks of the place.
            FsError { kind: FsErrorKind::Escape { via_link: false }, .. }
                if is_absolute || policy.workspace().is_empty() =>
            {
                denied().into()
            }
            error => refused(error),
        }
    })?;
    // This check comes before any error that reveals what is there.
    if !purpose.is_allowed(policy, file.real_path(), file.kind() == TargetKind::Directory) {
        return Err(denied().into());
    }
    if purpose == Purpose::Search && policy.is_around_fork(file.real_path()) {
        return Err(access::around_fork(path).into());
    }
    check(&mut file, &roots, policy, purpose).map_err(|error| {
        // Rules decide about an existing file that cannot be used, too.
        let real_path = file.real_path().to_string_lossy();
        refused(error).map(|failure| failure.with("realPath", real_path))
    })?;
    Ok(Target::new(policy, file, purpose))
}

/// As [`open`] for [`Purpose::Read`], when nothing has to be waited for. `None` says nothing about the
/// file.
#[must_use]
pub fn try_open_cached(policy: &Arc<Policy>, path: &str) -> Option<Target> {
    // With more roots the others may have to be looked at.
    let file = OpenTarget::try_open_cached(policy.workspace_root()?, path)?;
    let is_allowed = Purpose::Read.is_allowed(policy, file.real_path(), false);
    is_allowed.then(|| Target::new(policy, file, Purpose::Read))
}

/// Refuses what exists and is allowed, but is of no use for the purpose.
fn check(
    file: &mut OpenTarget,
    roots: &Roots,
    policy: &Policy,
    purpose: Purpose,
) -> Result<(), FsError> {
    let is_directory = file.kind() == TargetKind::Directory;
    match purpose {
        Purpose::Search | Purpose::Workdir if is_directory => Ok(()),
        Purpose::Read | Purpose::Search => file.check_readable(),
        Purpose::Write | Purpose::Place => {
            file.check_writable()?;
            roots.check_protected(file, &policy.deny_write(), policy.git())
        }
        Purpose::Edit => {
            roots.check_protected(file, &policy.deny_write(), policy.git())?;
            file.check_readable()
        }
        Purpose::Remove => {
            roots.check_protected(file, &policy.deny_write(), policy.git())?;
            file.check_removable()
        }
        Purpose::Workdir => {
            file.check_readable()?;
            Err(FsErrorKind::NotADirectory.at(file.display_path()))
        }
    }
}

fn unfinished(error: &FsError, purpose: Purpose) -> Unfinished {
    if purpose != Purpose::Workdir {
        return Unfinished::from(error).for_session();
    }
    let unfinished = match error.kind {
        FsErrorKind::NotADirectory => {
            Unfinished::from(error).map(|failure| failure.with_hint(voice::access::WORKDIR))
        }
        _ => files::working_directory(error, voice::access::WORKDIR),
    };
    unfinished.for_session()
}
