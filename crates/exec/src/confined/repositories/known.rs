//! How a repository was when it was last looked at.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};
use toolwright_git::directory::Directory;

use super::Grounds;
use super::disarm::Repository;
use super::found::{self, Found};
use crate::git_reports::GitReport;

/// The configurations in the directory of a repository.
pub(super) const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];
/// Where git looked for addresses before it had a configuration, and where it looks for the rest of a
/// repository.
pub(super) const LEADS: [&str; 3] = ["commondir", "branches", "remotes"];

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

    pub(super) fn is_empty_directory(stat: &Stat, directory: &Directory, name: &str) -> bool {
        FileType::from_raw_mode(stat.st_mode).is_dir()
            && directory
                .entries(name, 1)
                .is_ok_and(|entries| entries.is_some_and(|all| all.is_empty()))
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
        if let Ok(directory) = Directory::open(&found.directory) {
            self.read(&found, &directory, grounds);
        }
        true
    }

    fn read(&mut self, found: &Found, directory: &Directory, grounds: &Grounds) {
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
        let hooks = directory.below("hooks").ok().flatten();
        self.active = match &hooks {
            Some(hooks) if now == self.hooks => {
                let now = |name: OsString| Stamp::at(hooks, &*name).map(|stamp| (name, stamp));
                std::mem::take(&mut self.active).into_keys().filter_map(now).collect()
            }
            Some(_) => active_hooks(directory),
            None => BTreeMap::new(),
        };
        self.hooks = if hooks.is_some() { now.map(Stamp::settled) } else { now };
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
        let Ok(directory) = Directory::open(&found.directory) else { return };
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
    identity(&Directory::open(&found.directory).ok()?)
}

fn identity(directory: &Directory) -> Option<(u64, u64)> {
    fstat(directory).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

fn may_become_one(place: &Path) -> bool {
    [".git", "HEAD"].iter().any(|name| place.join(name).symlink_metadata().is_ok())
}

/// The hooks that git would run, by their names.
pub(super) fn active_hooks(directory: &Directory) -> BTreeMap<OsString, Stamp> {
    let Ok(Some(hooks)) = directory.below("hooks") else { return BTreeMap::new() };
    let entries = hooks.entries(".", MAX_HOOKS).ok().flatten().unwrap_or_default();
    // Git runs no hook whose name has a dot in it.
    let names = entries.into_iter().map(|entry| entry.name);
    let names = names.filter(|name| !name.as_bytes().contains(&b'.'));
    names
        .filter_map(|name| Some((Stamp::at(&hooks, &*name)?, name)))
        .map(|(one, name)| (name, one))
        .collect()
}
