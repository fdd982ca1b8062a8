//! Reading what a command has changed. Nothing is written before all of it has been read.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::{Snapshot, Terms, area, template};
use crate::bounds::Problem;
use crate::database::Database;
use crate::directory::{Directory, ReadError};
use crate::incoming::{Borders, Incoming};
use crate::index::{EMPTY_BLOB, IndexError};
use crate::lfs::LargeFiles;
use crate::object::{Id, Kind};
use crate::refs::{self, RefChange, RefName, RefValue};
use crate::state;
use crate::upper::{Bounds, Node, Upper};

/// How many entries of a directory are named.
const MAX_NAMED: usize = 100;
/// What is read elsewhere, and what git leaves behind that nobody misses.
const PASSED_OVER: [&str; 15] = [
    "objects",
    "refs",
    "logs",
    "index",
    "HEAD",
    "packed-refs",
    "config",
    "config.worktree",
    "MERGE_RR",
    "gc.pid",
    "gc.log",
    "lfs",
    "rr-cache",
    "worktrees",
    "modules",
];

/// Why nothing is brought back.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("{0}")]
    Unreadable(String),
    #[error("its objects were not accepted: {0}")]
    Objects(#[from] Problem),
    #[error("it cannot be read: {0}")]
    Read(#[from] ReadError),
    #[error("its index was not accepted: {0}")]
    Index(#[from] IndexError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// What a command has changed, as far as it is accepted.
pub(super) struct Received<'b> {
    pub(super) objects: Incoming<'b>,
    pub(super) large_files: LargeFiles,
    pub(super) refs: Vec<RefChange>,
    pub(super) areas: Vec<area::After>,
    pub(super) left_out: Vec<String>,
    /// References whose objects are not there.
    pub(super) incomplete: Vec<String>,
}

impl<'b> Received<'b> {
    pub(super) fn read(
        git: &Directory,
        database: &'b Database,
        snapshot: &Snapshot,
        upper: &Upper,
        terms: &Terms<'_>,
    ) -> Result<Self, Failure> {
        check_not_removed(upper)?;
        let map = snapshot.refs.as_ref().map_err(|error| Failure::Unreadable(error.to_string()))?;
        let added = upper.directory().below("objects")?;
        let borders = borders(git)?;
        let objects = match added {
            Some(added) => {
                Incoming::read(&added, database, &borders, &crate::bounds::Bounds::default())?
            }
            // A command has added no objects to a submodule.
            None => Incoming::none(database)?,
        };
        let mut left_out = named(upper)?;
        let large_files = large_files(git, upper, &mut left_out);
        let changes = refs::changes(map, upper, Bounds::default())?;
        left_out.extend(changes.left_out.iter().map(|one| printable(&one.path)));
        let (mut accepted, mut incomplete) = (Vec::new(), Vec::new());
        for change in changes.refs {
            if has_value(&objects, &change)? {
                accepted.push(change);
            } else {
                incomplete.push(change.name.to_string());
            }
        }
        left_out.extend(incomplete.iter().cloned());
        let mut reader =
            area::Reader { git, upper, objects: &objects, terms, left_out: Vec::new() };
        let areas = reader.all(&snapshot.areas)?;
        left_out.append(&mut reader.left_out);
        left_out.sort_unstable();
        left_out.dedup();
        left_out.truncate(MAX_NAMED);
        Ok(Self { objects, large_files, refs: accepted, areas, left_out, incomplete })
    }

    /// Checks that a new repository has what it refers to: nobody else has it.
    pub(super) fn check_whole(&self, git: &Directory) -> Result<(), Failure> {
        if let Some(name) = self.incomplete.first() {
            let mut reason = format!("objects of {name} are missing or damaged");
            if let Some(first) = self.objects.left_out().first() {
                reason = format!("{reason} ({}: {})", first.name.display(), first.reason);
            }
            return Err(Failure::Unreadable(reason));
        }
        for id in borders(git)?.shallow {
            if self.objects.kind(&id)? != Some(Kind::Commit) {
                return Err(Failure::Unreadable(format!(
                    "its history ends at {id}, which is missing"
                )));
            }
        }
        Ok(())
    }

    /// Whether the command has deleted a reference.
    pub(super) fn deletes(&self, name: &RefName) -> bool {
        self.refs.iter().any(|change| change.name == *name && change.after.is_none())
    }

    /// Whether an entry of the index may be staged.
    pub(super) fn accepts(
        &self,
        entry: &crate::index::Entry<'_>,
        may_be_gitlink: &dyn Fn(&[u8]) -> bool,
    ) -> bool {
        use crate::index::Mode;
        let is_there = |id: &Id| matches!(self.objects.kind(id), Ok(Some(Kind::Blob)));
        match entry.mode() {
            // It leads git into the directory of that name, which must not be a command's repository.
            Mode::Gitlink => may_be_gitlink(entry.path()),
            _ => is_there(&entry.id()) || entry.is_intent_to_add() && entry.id() == EMPTY_BLOB,
        }
    }
}

/// Checks that the command has not removed the repository. To remove files is no way to delete references.
fn check_not_removed(upper: &Upper) -> Result<(), Failure> {
    for name in ["HEAD", "refs", "refs/heads", "objects"] {
        let is_removed = match upper.entry(name)? {
            Node::Whiteout => true,
            Node::Directory { is_opaque } => is_opaque && name != "objects",
            _ => false,
        };
        if is_removed {
            return Err(Failure::Unreadable(format!("the command has removed its {name}")));
        }
    }
    Ok(())
}

/// The commits at which the history of a shallow repository ends.
fn borders(git: &Directory) -> Result<Borders, Failure> {
    let shallow = git.read("shallow", 64 << 20)?.unwrap_or_default();
    let shallow = shallow.split(|byte| *byte == b'\n').filter_map(|line| Id::from_hex(line).ok());
    let packs = git.entries("objects/pack", usize::MAX).ok().flatten().unwrap_or_default();
    let is_promisor =
        |name: &std::ffi::OsStr| Path::new(name).extension() == Some("promisor".as_ref());
    let is_partial = packs.iter().any(|entry| is_promisor(&entry.name));
    Ok(Borders { shallow: shallow.collect(), is_partial })
}

/// Whether the new value of a reference is an object that is there, and of a kind that fits.
fn has_value(objects: &Incoming<'_>, change: &RefChange) -> Result<bool, Failure> {
    let Some(RefValue::Id(id)) = &change.after else { return Ok(true) };
    let kind = objects.kind(id)?;
    Ok(if change.name.is_branch() { kind == Some(Kind::Commit) } else { kind.is_some() })
}

/// Large files. Git does without them, so what keeps them out keeps nothing else out.
fn large_files(git: &Directory, upper: &Upper, left_out: &mut Vec<String>) -> LargeFiles {
    let bounds = crate::bounds::Bounds::default();
    let files = LargeFiles::read(upper.directory(), git, &bounds).unwrap_or_else(|error| {
        left_out.push(format!("lfs/objects ({error})"));
        LargeFiles::default()
    });
    let named = files.left_out().iter();
    left_out.extend(named.map(|one| format!("{} ({})", printable(&one.name), one.reason)));
    let reached = files.reached();
    left_out.extend(reached.map(|bound| format!("lfs/objects (too much of it: {bound})")));
    files
}

/// Names that a user may miss: hooks, attributes, and whatever else git has no part in.
fn named(upper: &Upper) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for (directory, known) in
        [(".", &PASSED_OVER[..]), ("hooks", &[]), ("info", &["refs", "packs"])]
    {
        let entries = match upper.directory().entries(directory, 10_000) {
            Ok(entries) => entries.unwrap_or_default(),
            Err(ReadError::WrongKind) => continue,
            Err(error) => return Err(error.into()),
        };
        for entry in entries {
            let is_known = known.iter().any(|one| entry.name == *one);
            let name = Path::new(&entry.name);
            let is_lock =
                name.extension().is_some_and(|ending| ending == "lock" || ending == "sample");
            let is_holder = directory == "." && (entry.name == "hooks" || entry.name == "info");
            let path =
                if directory == "." { name.to_owned() } else { Path::new(directory).join(name) };
            let is_of_template = directory == "." && template::has(upper, name);
            let is_state = state::kind(&path).is_some() || state::kind(&path.join("x")).is_some();
            if !is_known
                && !is_state
                && !is_lock
                && !is_holder
                && !is_of_template
                && entry.kind != FileType::CharacterDevice
            {
                names.push(printable(&path));
            }
        }
    }
    Ok(names)
}

fn printable(path: &Path) -> String {
    PathBuf::from(path).to_string_lossy().into_owned()
}
