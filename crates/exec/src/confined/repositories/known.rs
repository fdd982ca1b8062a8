//! How a repository was when it was last looked at.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat,
};
use rustix::io::Errno;
use toolwright_sandbox::plan::MAX_VIEW_BYTES;

use super::Grounds;
use super::disarm::Repository;
use super::found::{self, Found};
use crate::git_reports::GitReport;

/// The configurations in the directory of a repository.
pub(super) const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];
/// Where git looked for addresses before it had a configuration, and where it looks for the rest of a
/// repository.
pub(super) const LEADS: [&str; 3] = ["commondir", "branches", "remotes"];

const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
pub(super) const DIRECTORY: OFlags = FILE.union(OFlags::DIRECTORY);

/// No clock of a file system is coarser.
const UNSETTLED: Duration = Duration::from_millis(20);

/// Which version of a file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp([i128; 6]);

impl Stamp {
    pub(super) fn at(directory: impl AsFd, name: impl rustix::path::Arg) -> Option<Self> {
        let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Self::of(&stat))
    }

    /// As it is to be remembered: clocks of file systems are coarse, and what was changed just now may change
    /// again and look the same. Nothing equals that.
    pub(super) fn settled(self) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let [.., changed] = self.0;
        let changed = (changed >> 64) * 1_000_000_000 + (changed & i128::from(u64::MAX));
        let is_recent = now.as_nanos().cast_signed() - changed < UNSETTLED.as_nanos().cast_signed();
        if is_recent { Self([-1; 6]) } else { self }
    }

    pub(super) fn of(stat: &Stat) -> Self {
        Self([
            i128::from(stat.st_dev),
            i128::from(stat.st_ino),
            i128::from(stat.st_size),
            i128::from(stat.st_mode),
            i128::from(stat.st_mtime) << 64 | i128::from(stat.st_mtime_nsec),
            i128::from(stat.st_ctime) << 64 | i128::from(stat.st_ctime_nsec),
        ])
    }

    pub(super) fn is_empty_directory(stat: &Stat, directory: impl AsFd, name: &str) -> bool {
        FileType::from_raw_mode(stat.st_mode).is_dir()
            && openat(directory, name, DIRECTORY, Mode::empty()).and_then(Dir::new).is_ok_and(
                |mut entries| {
                    entries.all(|entry| {
                        entry.is_ok_and(|one| matches!(one.file_name().to_bytes(), b"." | b".."))
                    })
                },
            )
    }
}

/// How a repository was when it was last looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) directory: Option<PathBuf>,
    identity: Option<(u64, u64)>,
    lead: Option<Vec<u8>>,
    pub(super) configurations: [Option<(Stamp, Vec<u8>)>; 2],
    pub(super) hooks: Option<Stamp>,
    /// Those that git would run.
    pub(super) active: BTreeMap<OsString, Stamp>,
    pub(super) leads: [Option<Stamp>; 3],
}

impl Known {
    /// Whether it was known in another place before.
    pub(super) fn is_at(&self, other: Option<(u64, u64)>) -> bool {
        other.is_some() && self.lead.is_none() && self.identity == other
    }

    /// Takes what is there for a person's. `false`: nothing is there that could become a repository.
    pub(super) fn remember(&mut self, place: &Path, grounds: &Grounds) -> bool {
        let Some(found) = found::find(place, &grounds.root) else {
            *self = Self::default();
            return may_become_one(place);
        };
        if let Ok(directory) = open(&found.directory) {
            self.read(&found, &directory);
        }
        true
    }

    fn read(&mut self, found: &Found, directory: &OwnedFd) {
        self.directory = Some(found.directory.clone());
        self.identity = identity(directory);
        self.lead.clone_from(&found.lead);
        for (name, known) in CONFIGURATIONS.iter().zip(&mut self.configurations) {
            let now = Stamp::at(directory, *name);
            if now != known.as_ref().map(|(stamp, _)| *stamp) {
                let text = read_file(directory, name).ok().flatten();
                *known = now.map(Stamp::settled).zip(text);
            }
        }
        for (name, known) in LEADS.iter().zip(&mut self.leads) {
            *known = Stamp::at(directory, *name);
        }
        let hooks = Stamp::at(directory, "hooks");
        if hooks != self.hooks {
            self.active = active_hooks(directory);
        } else if let Ok(hooks) = openat(directory, "hooks", DIRECTORY, Mode::empty()) {
            for (name, stamp) in &mut self.active {
                if let Some(now) = Stamp::at(&hooks, &**name) {
                    *stamp = now;
                }
            }
        }
        self.hooks = hooks.map(Stamp::settled);
    }

    /// Sets aside what is new, and remembers the rest. `false`, as for [`remember`](Self::remember).
    pub(super) fn look(
        &mut self,
        place: &Place<'_>,
        grounds: &Grounds,
        known: &[PathBuf],
        reports: &mut Vec<GitReport>,
    ) -> bool {
        let Some(found) = found::find(place.at, &grounds.root) else {
            *self = Self::default();
            return may_become_one(place.at);
        };
        // What commands cannot write, they have not made.
        if !grounds.is_writable(&found.directory) {
            return true;
        }
        self.look_at(&found, place, grounds, known, reports);
        true
    }

    /// As [`look`](Self::look), for a directory that is a repository or becomes one.
    pub(super) fn look_at(
        &mut self,
        found: &Found,
        place: &Place<'_>,
        grounds: &Grounds,
        known: &[PathBuf],
        reports: &mut Vec<GitReport>,
    ) {
        let Ok(directory) = open(&found.directory) else { return };
        // It may have been moved with all that was in it.
        if self.lead != found.lead || self.identity != identity(&directory) {
            *self = Self::default();
        }
        let look = Repository { found, directory: &directory, place, grounds, known };
        look.configurations(self, reports);
        look.hooks(self, reports);
        look.leads(self, reports);
        self.read(found, &directory);
    }
}

/// A place in which a repository was found.
#[derive(Debug)]
pub(super) struct Place<'p> {
    pub(super) at: &'p Path,
    /// The path under which commands know the repository, if that is another one.
    pub(super) seen: Option<&'p Path>,
    /// Where relative addresses begin.
    pub(super) top: Option<&'p Path>,
}

impl<'p> Place<'p> {
    pub(super) fn new(at: &'p Path) -> Self {
        let top = at.join(".git").symlink_metadata().is_ok().then_some(at);
        Self { at, seen: None, top }
    }
}

/// The identity of the repository in a place.
pub(super) fn identity_at(place: &Path, root: &Path) -> Option<(u64, u64)> {
    let found = found::find(place, root).filter(|found| found.lead.is_none())?;
    identity(&open(&found.directory).ok()?)
}

fn identity(directory: &OwnedFd) -> Option<(u64, u64)> {
    fstat(directory).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

fn may_become_one(place: &Path) -> bool {
    [".git", "HEAD"].iter().any(|name| place.join(name).symlink_metadata().is_ok())
}

fn open(directory: &Path) -> Result<OwnedFd, Errno> {
    openat2(CWD, directory, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// The hooks that git would run, by their names.
pub(super) fn active_hooks(directory: &OwnedFd) -> BTreeMap<OsString, Stamp> {
    let mut active = BTreeMap::new();
    let Ok(hooks) = openat(directory, "hooks", DIRECTORY, Mode::empty()) else { return active };
    let Ok(entries) = Dir::read_from(&hooks) else { return active };
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        // Git runs no hook whose name has a dot in it.
        if name.contains(&b'.') {
            continue;
        }
        let name = OsStr::from_bytes(name);
        if let Some(stamp) = Stamp::at(&hooks, name) {
            active.insert(name.to_owned(), stamp);
        }
    }
    active
}

/// What a configuration says; `None` where there is none.
pub(super) fn read_file(directory: &OwnedFd, name: &str) -> io::Result<Option<Vec<u8>>> {
    let file = match openat(directory, name, FILE, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    if !FileType::from_raw_mode(fstat(&file)?.st_mode).is_file() {
        return Err(Errno::INVAL.into());
    }
    let mut text = Vec::new();
    File::from(file).take(MAX_VIEW_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_VIEW_BYTES {
        return Err(Errno::FBIG.into());
    }
    Ok(Some(text))
}
