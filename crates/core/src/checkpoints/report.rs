//! What checkpoints give, as JSON for programs.

use std::path::Path;

use serde_json::{Value, json};
use toolwright_checkpoints::{
    Change, Checkpoints, Collected, Diff, EntryKind, Listed, ListedRestore, Progress, Restored,
    RunningCall, Taken,
};

use crate::failure::Unfinished;
use crate::failure::checkpoints::conflict_json;

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn change(change: &Change) -> Value {
    json!({ "path": path(&change.path), "kind": change.kind.word(), "type": change.entry.word() })
}

fn changes(all: &[Change]) -> Vec<Value> {
    all.iter().map(change).collect()
}

/// A checkpoint that was taken.
#[must_use]
pub fn taken(taken: &Taken) -> String {
    let skipped = taken.skipped.iter();
    let skipped: Vec<_> = skipped
        .map(|(skipped, reason)| json!({ "path": path(skipped), "reason": reason.as_str() }))
        .collect();
    let Taken { id, changed, entries, .. } = taken;
    json!({ "id": id, "changed": changes(changed), "entries": entries, "skipped": skipped })
        .to_string()
}

/// A difference.
#[must_use]
pub fn diff(diff: &Diff) -> String {
    let Diff { changes: all, text, is_cut } = diff;
    json!({ "changes": changes(all), "text": text, "isCut": is_cut }).to_string()
}

/// A restoration.
#[must_use]
pub fn restored(restored: &Restored) -> String {
    let left = restored.left.iter();
    let left: Vec<_> =
        left.map(|(left, reason)| json!({ "path": path(left), "reason": reason })).collect();
    let conflicts: Vec<_> = restored.conflicts.iter().map(conflict_json).collect();
    json!({
        "before": restored.before,
        "after": restored.after,
        "changes": changes(&restored.changes),
        "conflicts": conflicts,
        "left": left,
    })
    .to_string()
}

/// What a collection removed.
#[must_use]
pub fn collected(collected: &Collected) -> String {
    let Collected { removed, left, bytes_before, bytes } = collected;
    json!({ "removed": removed, "left": left, "bytesBefore": bytes_before, "bytes": bytes })
        .to_string()
}

/// Ends a call, and gives what it changed.
pub fn end_call(
    checkpoints: &Checkpoints,
    running: &RunningCall,
    progress: &Progress,
) -> Result<String, Unfinished> {
    // It has ended, and what it changed is recorded even if its caller wants nothing more.
    let never = std::sync::atomic::AtomicBool::new(false);
    let (taken, diff) = checkpoints.end_call(running, None, &never, progress)?;
    // A directory says nothing beside what is in it.
    let is_told = |one: &&Change| {
        one.entry != EntryKind::Directory
            || !diff.changes.iter().any(|other| {
                other.entry != EntryKind::Directory && other.path.starts_with(&one.path)
            })
    };
    let told: Vec<_> = diff.changes.iter().filter(is_told).map(change).collect();
    Ok(json!({ "id": taken.id, "changed": told }).to_string())
}

/// The newest checkpoints and the newest restorations.
pub fn list(
    checkpoints: &Checkpoints,
    limit: u64,
    before: Option<i64>,
) -> Result<String, Unfinished> {
    let listed: Vec<_> = checkpoints.list(limit, before)?.iter().map(checkpoint).collect();
    let restores: Vec<_> = checkpoints.restores(limit)?.iter().map(restore).collect();
    let bytes = checkpoints.bytes()?;
    Ok(json!({ "checkpoints": listed, "restores": restores, "bytes": bytes }).to_string())
}

fn checkpoint(listed: &Listed) -> Value {
    let Listed { id, at_ms, by_others, label, changes, calls, turns } = listed;
    json!({
        "id": id,
        "atMs": at_ms,
        "byOthers": by_others,
        "label": label,
        "changes": changes,
        "calls": calls,
        "turns": turns,
    })
}

fn restore(listed: &ListedRestore) -> Value {
    let ListedRestore { target, before, after, at_ms, state, files } = listed;
    let files: Vec<_> = files
        .iter()
        .map(|(file, outcome)| json!({ "path": path(file), "outcome": outcome }))
        .collect();
    json!({
        "target": target,
        "before": before,
        "after": after,
        "atMs": at_ms,
        "state": state,
        "files": files,
    })
}
