//! States of operations that a command has begun, gone on with or finished.

use std::path::Path;

use super::Note;
use super::apply::NotWritten;
use super::read::{Failure, Received};
use crate::database::Database;
use crate::directory::Directory;
use crate::incoming::Incoming;
use crate::object::content::references;
use crate::object::{Id, Kind as ObjectKind};
use crate::state::{self, Kind, Marks, State};
use crate::transaction::Transaction;
use crate::upper::{Bounds, Upper};

/// Commits and their parents are read. No larger one is.
const MAX_COMMIT: u64 = 16 << 20;

/// Writes the states that nobody else has changed meanwhile. Returns whether there are any.
pub(super) fn write(
    (git, upper, prefix): (&Directory, &Upper, &Path),
    before: &Marks,
    (received, base): (&Received<'_>, &Database),
    transaction: &mut Transaction<'_>,
    notes: &mut Vec<Note>,
) -> Result<bool, NotWritten> {
    let changes = state::changes(git, upper, Bounds::default()).map_err(Failure::from)?;
    let now = Marks::read(git).map_err(Failure::from)?;
    if let Some(first) = changes.left_out.first() {
        notes.push(Note::StateLeftOut {
            operation: prefix.join(&first.path).to_string_lossy().into_owned(),
            reason: first.reason.to_string(),
        });
    }
    let mut is_changed = false;
    for state in changes.states {
        let is_linked = !prefix.as_os_str().is_empty();
        if is_linked && matches!(state.kind, Kind::Shallow | Kind::Exclude) {
            // Git reads these for the whole repository, and not here.
            continue;
        }
        let is_wanted = match state.kind {
            Kind::Shallow => is_shallow_border(&state, git, &received.objects, base)?,
            _ => true,
        };
        let is_same = before.is_same(&now, state.kind);
        // Nobody misses what git writes again the next time.
        let is_passing =
            matches!(state.kind, Kind::CommitMessage | Kind::OriginalHead | Kind::FetchHead);
        if is_wanted && !is_same && is_passing {
            continue;
        }
        if !is_wanted || !is_same {
            let reason =
                if is_wanted { "another program has changed it" } else { "it hides history" };
            let first = state.files.keys().next().map(|path| prefix.join(path));
            let first = first.map(|path| path.to_string_lossy().into_owned());
            notes.push(Note::StateLeftOut {
                operation: first.unwrap_or_default(),
                reason: reason.to_owned(),
            });
            continue;
        }
        if state.kind == Kind::Exclude && hides_files(&state) {
            notes.push(Note::HidesFiles("info/exclude".to_owned()));
        }
        state.write_below(prefix, transaction)?;
        is_changed = true;
    }
    Ok(is_changed)
}

/// Whether a list of files has a line that names any: the one of git's template has comments alone.
fn hides_files(state: &State) -> bool {
    let lines = |text: &[u8]| {
        text.split(|byte| *byte == b'\n')
            .any(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"))
    };
    state.files.values().flatten().any(|text| lines(text))
}

/// Whether history ends only where it has to: at commits that are new, or whose parents are not there.
fn is_shallow_border(
    state: &State,
    git: &Directory,
    objects: &Incoming<'_>,
    base: &Database,
) -> Result<bool, NotWritten> {
    let read = |text: &[u8]| -> Vec<Id> {
        text.split(|byte| *byte == b'\n').filter_map(|line| Id::from_hex(line).ok()).collect()
    };
    let before = git.read("shallow", MAX_COMMIT).map_err(Failure::from)?.unwrap_or_default();
    let before = read(&before);
    let after: Vec<Id> = state.files.values().flatten().flat_map(|text| read(text)).collect();
    for id in after.iter().filter(|id| !before.contains(id)) {
        if base.contains(id)? {
            return Ok(false);
        }
    }
    for id in before.iter().filter(|id| !after.contains(id)) {
        let Some((kind, content)) = objects.object(id, MAX_COMMIT)? else { return Ok(false) };
        for (parent, _) in references(kind, &content).unwrap_or_default() {
            if objects.kind(&parent)?.is_none() {
                return Ok(false);
            }
        }
        if kind != ObjectKind::Commit {
            return Ok(false);
        }
    }
    Ok(true)
}
