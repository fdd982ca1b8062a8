//! Brings back what a command did, with the modules of this crate. Objects and the index, which others bring
//! back, are copied.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "each test uses a part of it"
)]

use toolwright_git::log;
use toolwright_git::refs::{self, Head, Outcome, RefMap};
use toolwright_git::state;
use toolwright_git::transaction::Transaction;
use toolwright_git::upper::{Bounds, Upper};

use crate::overlay::Repository;

/// The repository before a command.
pub struct Before {
    pub refs: RefMap,
    pub head: Head,
}

pub fn before(repository: &Repository) -> Before {
    let git = repository.directory();
    let refs = RefMap::read(&git, Bounds::default()).expect("references");
    Before { refs, head: refs::read_head(&git).expect("HEAD") }
}

/// What was left out, and what was not written, a line each.
pub fn import(repository: &Repository, before: &Before, upper: &Upper) -> Vec<String> {
    let mut said = Vec::new();
    repository.sh(
        "u=../$(ls .. | grep upper | sort -V | tail -1)
         if [ -d $u/objects ]; then (cd $u/objects; find . -type f) | while read f; do
             mkdir -p .git/objects/$(dirname $f); [ -e .git/objects/$f ] || cp $u/objects/$f .git/objects/$f
         done; fi
         if [ -f $u/index ]; then cp $u/index .git/index; fi",
    );
    let git = repository.directory();
    let bounds = Bounds::default();
    let found = refs::changes(&before.refs, upper, bounds).expect("references");
    let head = refs::head_change(&before.head, upper).expect("HEAD");
    let logs = log::changes(&git, upper, bounds).expect("logs");
    let states = state::changes(&git, upper, bounds).expect("states");
    let left_out = found.left_out.iter().chain(&logs.left_out).chain(&states.left_out);
    said.extend(left_out.map(|left| format!("{}: {}", left.path.display(), left.reason)));
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    let outcomes = refs::update(&mut transaction, &git, &found.refs).expect("packed-refs");
    for (change, outcome) in found.refs.iter().zip(outcomes) {
        if !matches!(outcome, Outcome::Written | Outcome::Done) {
            said.push(format!("{}: {outcome:?}", change.name));
        }
    }
    let outcome = refs::update_head(
        &mut transaction,
        &git,
        &before.head,
        head.as_ref().unwrap_or(&before.head),
    );
    if !matches!(outcome, Outcome::Written | Outcome::Done) {
        said.push(format!("HEAD: {outcome:?}"));
    }
    // Deletions make room.
    for is_deletion in [true, false] {
        for log in &logs.logs {
            let path = log.name.path();
            let join = |lines: &[log::Line]| -> Vec<u8> {
                lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
            };
            match &log.change {
                log::Change::Deleted if is_deletion => transaction.discard(&path).expect("a log"),
                log::Change::Appended(lines) if !is_deletion => {
                    transaction.append(&path, &join(lines)).expect("a log");
                }
                log::Change::Rewritten { whole, .. }
                    if !is_deletion && path.ends_with("refs/stash") =>
                {
                    transaction.put(&path, &join(whole), 0o666).expect("a log");
                }
                _ => {}
            }
        }
    }
    for state in &states.states {
        state.write(&mut transaction).expect("a state");
    }
    let unfinished = transaction.commit().expect("a commit");
    said.extend(unfinished.iter().map(|step| format!("{}: {}", step.path.display(), step.error)));
    said
}
