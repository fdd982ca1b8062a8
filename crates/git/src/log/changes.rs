//! What a command has added to logs.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::line::{self, Line};
use crate::directory::{Directory, ReadError};
use crate::refs::{LeftOut, RefName, Refusal};
use crate::upper::{Bounds, Kind, Touched, Upper};

/// Whose log it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogName {
    /// The log of `HEAD`.
    Head,
    /// The log of a reference.
    Ref(RefName),
}

/// What a command did to a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Appended {
    /// It added these lines, or none, to what is there.
    Lines(Vec<Line>),
    /// It took lines out: `git reflog expire`, `git stash drop`.
    Rewritten {
        /// The lines that it added.
        lines: Vec<Line>,
        /// The whole log.
        whole: Vec<Line>,
    },
    /// A line is none.
    Malformed,
}

/// A log that a command has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogChange {
    /// Whose log it is.
    pub name: LogName,
    /// What became of it.
    pub change: Change,
}

/// What became of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Lines were added.
    Appended(Vec<Line>),
    /// Lines were taken out: `git reflog expire`, `git stash drop`. The list of stashes is such a log, and
    /// only for it the whole log counts.
    Rewritten {
        /// The lines that were added.
        lines: Vec<Line>,
        /// The whole log.
        whole: Vec<Line>,
    },
    /// It was deleted.
    Deleted,
}

/// What a command has changed of the logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The logs that it changed, by name.
    pub logs: Vec<LogChange>,
    /// What stays out.
    pub left_out: Vec<LeftOut>,
}

impl LogName {
    /// The log at a path in a git directory.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        match path.strip_prefix("logs").ok()?.as_os_str().as_bytes() {
            b"HEAD" => Some(Self::Head),
            name => RefName::parse(name).ok().map(Self::Ref),
        }
    }

    /// Its path in a git directory.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Head => "logs/HEAD".into(),
            Self::Ref(name) => Path::new("logs").join(name.path()),
        }
    }
}

/// Compares a log as it is now with the command's.
///
/// The command's own lines are those after the last line that both have. This holds as well if the person
/// has added lines since the command began, or if the command has taken out old ones.
#[must_use]
pub fn appended(now: &[u8], command: &[u8]) -> Appended {
    if let Some(new) = command.strip_prefix(now).filter(|_| now.is_empty() || now.ends_with(b"\n"))
    {
        return line::parse(new).map_or(Appended::Malformed, Appended::Lines);
    }
    let split = |log: &[u8]| -> Vec<Vec<u8>> {
        log.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    let (ours, theirs) = (split(now), split(command));
    let ours_set: HashSet<&Vec<u8>> = ours.iter().collect();
    let common = theirs.iter().rposition(|line| ours_set.contains(line)).map_or(0, |at| at + 1);
    let Ok(lines) = line::parse(&theirs[common..].concat()) else { return Appended::Malformed };
    // With lines of its own, a log that begins like the present one has lost none.
    if theirs[..common] == ours[..common.min(ours.len())]
        && (common > 0 || ours.is_empty())
        && !lines.is_empty()
    {
        return Appended::Lines(lines);
    }
    match line::parse(command) {
        Ok(whole) => Appended::Rewritten { lines, whole },
        Err(_) => Appended::Malformed,
    }
}

/// Compares the command's logs with those of a repository as they are now. `Err`: there are more than the
/// bound.
///
/// A log that a command has deleted goes with its reference: without that, the deletion is for the caller to
/// ignore.
pub fn changes(git: &Directory, upper: &Upper, bounds: Bounds) -> Result<Changes, ReadError> {
    let touched = upper.walk("logs", bounds)?;
    let mut logs = BTreeMap::new();
    let mut left_out = Vec::new();
    let mut left = bounds.bytes;
    for Touched { path, kind } in &touched {
        let is_lock = path.extension().is_some_and(|extension| extension == "lock");
        let name = LogName::at(path);
        let change = match (kind, &name) {
            (Kind::Whiteout | Kind::Directory { .. }, _) => Ok(None),
            (Kind::File, None) if is_lock => continue,
            (Kind::Odd, _) => Err(Refusal::NotAFile),
            (Kind::File, None) => Err(Refusal::Name),
            (Kind::File, Some(_)) => compare(git, upper, path, &mut left),
        };
        match (change, name) {
            (Ok(change), name) => {
                // What has the place of a log, or hides a directory of logs, has deleted them.
                let below = !matches!(kind, Kind::Directory { is_opaque: false });
                for hidden in hidden(git, path, *kind != Kind::File, below, bounds)? {
                    logs.entry(hidden).or_insert(Change::Deleted);
                }
                if let (Some(change), Some(name)) = (change, name) {
                    logs.insert(name, change);
                }
            }
            (Err(reason), _) => left_out.push(LeftOut { path: path.clone(), reason }),
        }
    }
    // A file of the command in an opaque directory was not deleted.
    for Touched { path, .. } in touched.iter().filter(|touched| touched.kind == Kind::File) {
        if let Some(name) = LogName::at(path)
            && logs.get(&name) == Some(&Change::Deleted)
        {
            logs.remove(&name);
        }
    }
    let logs = logs.into_iter().map(|(name, change)| LogChange { name, change });
    Ok(Changes { logs: logs.collect(), left_out })
}

/// The logs of the repository at a path, and below it.
fn hidden(
    git: &Directory,
    path: &Path,
    at: bool,
    below: bool,
    bounds: Bounds,
) -> Result<Vec<LogName>, ReadError> {
    let mut found = Vec::new();
    if at && matches!(git.file(path), Ok(Some(_))) {
        found.extend(LogName::at(path));
    }
    let mut directories = if below { vec![path.to_owned()] } else { Vec::new() };
    let mut seen = 0;
    while let Some(path) = directories.pop() {
        let Ok(Some(directory)) = git.below(&path) else { continue };
        for entry in directory.entries(".", bounds.entries - seen)?.unwrap_or_default() {
            seen += 1;
            let below = path.join(&entry.name);
            match entry.kind {
                FileType::Directory => directories.push(below),
                FileType::RegularFile => found.extend(LogName::at(&below)),
                _ => {}
            }
        }
    }
    Ok(found)
}

fn compare(
    git: &Directory,
    upper: &Upper,
    path: &Path,
    left: &mut u64,
) -> Result<Option<Change>, Refusal> {
    let refusal = |error| match error {
        ReadError::TooLarge(_) => Refusal::TooLarge,
        ReadError::WrongKind | ReadError::Io(_) => Refusal::NotAFile,
    };
    let command = upper.read(path, *left).map_err(refusal)?.ok_or(Refusal::NotAFile)?;
    *left -= command.len() as u64;
    let now = match git.read(path, (command.len() as u64).max(64 << 20)) {
        Ok(now) => now.unwrap_or_default(),
        // The command has a log where the person has a directory, or below a file: a renamed branch.
        Err(ReadError::WrongKind) => Vec::new(),
        Err(error) => return Err(refusal(error)),
    };
    match appended(&now, &command) {
        Appended::Lines(lines) if lines.is_empty() => Ok(None),
        Appended::Lines(lines) => Ok(Some(Change::Appended(lines))),
        Appended::Rewritten { lines, whole } => Ok(Some(Change::Rewritten { lines, whole })),
        Appended::Malformed => Err(Refusal::Value),
    }
}
