//! Explains refusals by the sandbox, and a tool called as a program.
//!
//! A note is made from facts. What the kernel has counted, a limit that was met, a path that the plan closes and
//! the host could have opened: each of them is known, and a command that has failed is told. What it printed
//! names candidates alone, because a program prints an error number in words of its own, and many programs
//! print such words of something else.

mod calls;
mod home;
mod limits;
mod loopback;
mod network;
mod outside_processes;
mod privileges;
mod refused_calls;
mod repositories;
mod sockets;

pub(super) use calls::of as calls_of;

use std::path::Path;

use toolwright_exec::Exit;
use toolwright_names::printable_path;
use toolwright_sandbox::plan::Files;

pub(crate) use self::limits::fork_is_full;
use crate::command::end::End;
use crate::denials::{Denial, Ended, Layer};
use crate::voice::Door;
use crate::voice::remedy::Remedy;

/// How shells say that a tool is no program.
const NO_PROGRAM: [&str; 3] =
    ["apply_patch: command not found", "apply_patch: not found", "command not found: apply_patch"];

/// The next move after a patch that was sent to a shell. Not every reader has a tool of this name.
pub(crate) const APPLY_PATCH: &str = "There is no program `apply_patch`: call the tool of that name with the patch if you have it, and the edit tool once for each file if not.";

const ONLY_WRITABLE: &str =
    "only the root directory and the temporary directory can be written; work there, or";

/// Explains to a model why a command failed, as far as the sandbox is the cause. `denials` are the refusals that
/// are known.
#[must_use]
pub(crate) fn explain(ended: &Ended<'_>, denials: &[Denial]) -> Option<String> {
    if *ended.end == End::Exited(Exit::Code(0)) {
        return None;
    }
    if ended.ends().any(|text| NO_PROGRAM.iter().any(|words| text.contains(words))) {
        return Some(APPLY_PATCH.to_owned());
    }
    let calls = calls::of(ended);
    let full = ended.facts.fork_full.map(fork_is_full);
    full.or_else(|| limits::memory(ended, denials))
        .or_else(|| network::note(ended, &calls))
        .or_else(|| loopback::note(ended))
        .or_else(|| refused_calls::recent(ended))
        .or_else(|| repositories::unreachable(ended))
        .or_else(|| sockets::note(ended))
        .or_else(|| {
            denials.iter().rfind(|one| one.layer == Layer::Files).map(|one| file(ended, one))
        })
        .or_else(|| limits::note(ended, denials))
        .or_else(|| refused_calls::said(ended))
        .or_else(|| privileges::note(ended, &calls))
        .or_else(|| outside_processes::note(ended))
}

/// A path that was refused.
fn file(ended: &Ended<'_>, denial: &Denial) -> String {
    let path = Path::new(&denial.subject);
    let is_reserved = toolwright_reserved::paths().iter().any(|reserved| path == reserved);
    if is_reserved && ended.plan.closed.iter().any(|closed| closed == path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        return format!(
            "This is the sandbox: `{name}` belongs to an open journal or thread store, and is closed to commands; do without it."
        );
    }
    match denial.option {
        Some("sandbox.denyWrite") => {
            let below = path.strip_prefix(&ended.plan.root).unwrap_or(path);
            let what = format!("`{}` is protected; leave it as it is, or", printable_path(below));
            sentence(&what, Remedy::PROTECTED, ended.door)
        }
        Some("sandbox.readable" | "fs.read") => {
            let what = format!("`{}` is closed; do without it, or", printable_path(path));
            sentence(&what, Remedy::READABLE, ended.door)
        }
        _ => repositories::read_only(ended, path)
            .or_else(|| home::note(ended, path))
            .unwrap_or_else(|| sentence(ONLY_WRITABLE, Remedy::WRITABLE, ended.door)),
    }
}

/// Joins what may have been refused with what the host can do about it.
fn sentence(what: &str, move_of_host: Remedy, door: Door) -> String {
    format!("This may be the sandbox: {what} {}.", move_of_host.words(door))
}

/// Whether something confines the files of the command.
fn is_confined(ended: &Ended<'_>) -> bool {
    ended.plan.files == Files::Confined
}

#[cfg(test)]
pub(crate) mod tests;
