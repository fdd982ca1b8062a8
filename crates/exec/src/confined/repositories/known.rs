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

/// More entries of a directory of hooks are not looked at.
const MAX_HOOKS: usize = 1024;

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
                |entries| {
                    entries.take(MAX_HOOKS).all(|entry| {
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
    /// How many bytes are remembered.
    pub(super) fn length(&self) -> u64 {
        self.configurations.iter().flatten().map(|(_, text)| text.len() as u64).sum()
    }

    /// Which repository it is, unless a file leads to it.
    pub(super) fn own_identity(&self) -> Option<(u64, u64)> {
        self.identity.filter(|_| self.lead.is_none())
    }

    /// `false`: nothing is in its place that could become a repository.
    pub(super) fn forget(&mut self, place: &Path) -> bool {
        *self = Self::default();
        may_become_one(place)
    }

    /// Whether it was known in another place before.
    pub(super) fn is_at(&self, other: Option<(u64, u64)>) -> bool {
        other.is_some() && self.lead.is_none() && self.identity == other
    }

    /// Takes what is there for a person's. `false`: nothing is there that could become a repository.
    pub(super) fn remember(&mut self, place: &Path, grounds: &Grounds) -> bool {
        let Some(found) = found::find(place, grounds) else { return self.forget(place) };
        if let Ok(directory) = open(&found.directory) {
            self.read(&found, &directory, grounds);
        }
        true
    }

    fn read(&mut self, found: &Found, directory: &OwnedFd, grounds: &Grounds) {
        self.directory = Some(found.directory.clone());
        self.identity = identity(directory);
        self.lead.clone_from(&found.lead);
        for (name, known) in CONFIGURATIONS.iter().zip(&mut self.configurations) {
            let now = Stamp::at(directory, *name);
            if now != known.as_ref().map(|(stamp, _)| *stamp) {
                *known = now.map(|now| match grounds.read(directory, name) {
                    Ok(text) => (now.settled(), text.unwrap_or_default()),
                    Err(_) => (now, Vec::new()),
                });
            }
        }
        for (name, known) in LEADS.iter().zip(&mut self.leads) {
            *known = Stamp::at(directory, *name);
        }
        let now = Stamp::at(directory, "hooks");
        let hooks = openat(directory, "hooks", DIRECTORY, Mode::empty());
        self.active = match &hooks {
            Ok(hooks) if now == self.hooks => {
                let now = |name: OsString| Stamp::at(hooks, &*name).map(|stamp| (name, stamp));
                std::mem::take(&mut self.active).into_keys().filter_map(now).collect()
            }
            Ok(_) => active_hooks(directory),
            Err(_) => BTreeMap::new(),
        };
        self.hooks = if hooks.is_ok() { now.map(Stamp::settled) } else { now };
    }

    /// Reports what is new, and remembers it.
    pub(super) fn look(
        &mut self,
        found: &Found,
        place: &Place<'_>,
        grounds: &Grounds,
        known: &[PathBuf],
        reports: &mut Vec<GitReport>,
    ) {
        // What commands cannot write, they have not made. Of what they cannot read, nothing is said.
        if grounds.is_writable(&found.directory) && !grounds.plan.closes(&found.directory) {
            self.look_at(found, place, false, grounds, known, reports);
        }
    }

    /// As [`look`](Self::look). With `disarms`, nothing that git obeys is left there: it lies in a directory
    /// that the host made for commands, where nothing else can be.
    pub(super) fn look_at(
        &mut self,
        found: &Found,
        place: &Place<'_>,
        disarms: bool,
        grounds: &Grounds,
        known: &[PathBuf],
        reports: &mut Vec<GitReport>,
    ) {
        let Ok(directory) = open(&found.directory) else { return };
        // It may have been moved with all that was in it.
        if self.lead != found.lead || self.identity != identity(&directory) {
            *self = Self::default();
        }
        let look = Repository { found, directory: &directory, place, disarms, grounds, known };
        look.configurations(self, reports);
        look.hooks(self, reports);
        look.leads(self, reports);
        self.read(found, &directory, grounds);
    }
}

/// What matters of the place in which a repository was found.
#[derive(Debug)]
pub(super) struct Place<'p> {
    /// The path under which commands know the repository, if that is another one.
    pub(super) seen: Option<&'p Path>,
    /// Where relative addresses begin.
    pub(super) top: Option<&'p Path>,
}

impl<'p> Place<'p> {
    pub(super) fn new(at: &'p Path) -> Self {
        let top = at.join(".git").symlink_metadata().is_ok().then_some(at);
        Self { seen: None, top }
    }
}

/// The identity of the repository in a place.
pub(super) fn identity_at(place: &Path, grounds: &Grounds) -> Option<(u64, u64)> {
    identity_of(&found::find(place, grounds).filter(|found| found.lead.is_none())?)
}

pub(super) fn identity_of(found: &Found) -> Option<(u64, u64)> {
    identity(&open(&found.directory).ok()?)
}

fn identity(directory: &OwnedFd) -> Option<(u64, u64)> {
    fstat(directory).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

fn may_become_one(place: &Path) -> bool {
    [".git", "HEAD"].iter().any(|name| place.join(name).symlink_metadata().is_ok())
}

pub(super) fn open(directory: &Path) -> Result<OwnedFd, Errno> {
    openat2(CWD, directory, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// The hooks that git would run, by their names.
pub(super) fn active_hooks(directory: &OwnedFd) -> BTreeMap<OsString, Stamp> {
    let mut active = BTreeMap::new();
    let Ok(hooks) = openat(directory, "hooks", DIRECTORY, Mode::empty()) else { return active };
    let Ok(entries) = Dir::read_from(&hooks) else { return active };
    for entry in entries.take(MAX_HOOKS).flatten() {
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

/// What a regular file of at most `limit` bytes says; `None` where there is none. Nothing is waited for.
pub(super) fn read_file(
    directory: &OwnedFd,
    name: &str,
    limit: u64,
) -> io::Result<Option<Vec<u8>>> {
    let file = match openat(directory, name, FILE, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    if !FileType::from_raw_mode(fstat(&file)?.st_mode).is_file() {
        return Err(Errno::INVAL.into());
    }
    let mut text = Vec::new();
    File::from(file).take(limit + 1).read_to_end(&mut text)?;
    if text.len() as u64 > limit {
        return Err(Errno::FBIG.into());
    }
    Ok(Some(text))
}
