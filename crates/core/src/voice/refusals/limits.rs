//! Limits that a command has met.

use super::sentence;
use crate::denials::{Denial, Ended, Layer};
use crate::voice::Door;
use crate::voice::remedy::Remedy;

fn is_met(denials: &[Denial], limit: &str) -> bool {
    denials.iter().any(|one| one.layer == Layer::Limits && one.subject == limit)
}

/// The kernel has killed processes of it for want of memory, or has refused them memory.
pub(super) fn memory(ended: &Ended<'_>, denials: &[Denial]) -> Option<String> {
    if !is_met(denials, "memory") {
        return None;
    }
    let limit = size(ended.plan.limits.memory_bytes?);
    let or = or_raise(ended.door, "memoryBytes");
    if ended.facts.memory_kills.is_some_and(|count| count > 0) {
        return Some(format!(
            "It used more memory than the host allows ({limit}), and the kernel killed it for that. Do it with less, for instance in parts{or}."
        ));
    }
    Some(format!(
        "This may be the sandbox: each process has at most {limit} of memory, reserved memory included. Do it with less, for instance in parts{or}."
    ))
}

/// The fork that it ran in has become too large.
pub(crate) fn fork_is_full(limit: u64) -> String {
    let limit = size(limit);
    format!(
        "It was stopped, because the fork that it ran in has more than {limit}, which is its limit. Tell the user: they can apply or discard the fork, or open it again with a larger maxBytes."
    )
}

pub(super) fn note(ended: &Ended<'_>, denials: &[Denial]) -> Option<String> {
    let limits = &ended.plan.limits;
    if is_met(denials, "processes") {
        let what = "the number of processes is limited; start fewer,";
        return Some(sentence(what, Remedy::PROCESSES, ended.door));
    }
    if is_met(denials, "processor time") {
        let seconds = limits.cpu_seconds?;
        let or = or_raise(ended.door, "cpuSeconds");
        return Some(format!(
            "It used more processor time than the host allows a process ({seconds} s). Do less at once{or}."
        ));
    }
    if is_met(denials, "file size") {
        let limit = size(limits.file_size_bytes?);
        let or = or_raise(ended.door, "fileSizeBytes");
        return Some(format!("A file may have {limit} at most. Write several smaller ones{or}."));
    }
    None
}

/// A session has no options for these.
fn or_raise(door: Door, option: &str) -> String {
    match door {
        Door::Tools => format!(", or have the host raise sandbox.limits.{option}"),
        Door::Session => String::new(),
    }
}

fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    UNITS
        .iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit))
        .map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}
