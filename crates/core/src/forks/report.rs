//! What forks give, as JSON for programs.

use serde_json::{Value, json};
use toolwright_fork_store::{
    Applied, Change, Changes, Collected, Conflict, Diff, Fork, ForkState, LeftOut, Listed, Side,
    Undone,
};

fn change(change: &Change) -> Value {
    let conflict = change.conflict.map(|conflict| match conflict {
        Conflict::Changed => "base-changed",
        Conflict::Created => "base-created",
        Conflict::Deleted => "base-deleted",
        Conflict::Kind => "file-or-directory",
        Conflict::Name => "name",
    });
    let path = change.path.to_string_lossy();
    let [base, fork] = [change.base, change.fork].map(|side| side.map(side_json));
    json!({
        "path": path,
        "kind": change.kind.word(),
        "type": change.entry.word(),
        "conflict": conflict,
        "isProtected": change.is_protected,
        "isMerged": change.is_merged,
        "base": base,
        "fork": fork,
    })
}

fn side_json(Side { mode, bytes }: Side) -> Value {
    json!({ "mode": mode, "bytes": bytes })
}

fn changes(all: &[Change]) -> Vec<Value> {
    all.iter().map(change).collect()
}

fn left_out(all: &[LeftOut]) -> Vec<Value> {
    let entry = |left: &LeftOut| {
        let path = left.path.to_string_lossy();
        json!({ "path": path, "reason": left.reason.name() })
    };
    all.iter().map(entry).collect()
}

pub(super) fn facts(fork: &Fork) -> String {
    json!({
        "id": fork.id(),
        "base": fork.base().to_string_lossy(),
        "label": fork.label(),
        "createdMs": fork.created_ms(),
    })
    .to_string()
}

pub(super) fn status(found: &Changes) -> String {
    json!({
        "changes": changes(&found.changes),
        "leftOut": left_out(&found.left_out),
        "bytes": found.bytes,
    })
    .to_string()
}

pub(super) fn diff(found: &Changes, diff: &Diff) -> String {
    json!({
        "changes": changes(&found.changes),
        "leftOut": left_out(&found.left_out),
        "bytes": found.bytes,
        "text": diff.text,
        "isCut": diff.is_cut,
    })
    .to_string()
}

pub(super) fn applied(applied: &Applied) -> String {
    let commits = applied.commits.as_ref();
    let commits = commits.map(|it| json!({ "commit": it.commit, "ref": it.reference }));
    json!({
        "applied": changes(&applied.applied),
        "conflicts": changes(&applied.conflicts),
        "leftOut": left_out(&applied.left_out),
        "commits": commits,
    })
    .to_string()
}

pub(super) fn undone(undone: &Undone) -> String {
    let Undone { undone, conflicts } = undone;
    json!({ "undone": changes(undone), "conflicts": changes(conflicts) }).to_string()
}

pub(super) fn list(all: &[Listed]) -> String {
    let state = |state: ForkState| match state {
        ForkState::Open => "open",
        ForkState::Kept => "kept",
        ForkState::Damaged => "damaged",
    };
    let one = |listed: &Listed| {
        json!({
            "id": listed.id,
            "base": listed.base.to_string_lossy(),
            "label": listed.label,
            "createdMs": listed.created_ms,
            "state": state(listed.state),
        })
    };
    Value::Array(all.iter().map(one).collect()).to_string()
}

pub(super) fn collected(collected: &Collected) -> String {
    json!({ "removed": collected.removed, "kept": collected.kept }).to_string()
}
