//! System calls that no command may make, as the worker counted them.
//!
//! A command that ended soon after one failed of it, whatever it printed. One that went on counts if it has printed the
//! error of the call: programs also try a call and do without.

use toolwright_exec::process::{CallKind, RefusedCall};
use toolwright_fs::{HostRight, host_has};

use super::is_confined;
use super::privileges::{DEVICES, MEASURE, MOUNT, NAMESPACES, ROOT, SET_ID, SYSTEM, this_is};
use crate::denials::Ended;

/// How programs say that they lack a right, or that there is no such call.
const PERMISSION: [&str; 9] = [
    "not permitted",
    "permission denied",
    "eperm",
    "eacces",
    "errno 1]",
    "errno 13]",
    "os error 1)",
    "os error 13)",
    "privilege",
];
const ABSENCE: [&str; 8] = [
    "not implemented",
    "enosys",
    "errno 38]",
    "os error 38)",
    "address family not supported",
    "eafnosupport",
    "errno 97]",
    "os error 97)",
];

/// A call that the command was refused at its end.
pub(super) fn recent(ended: &Ended<'_>) -> Option<String> {
    let call = ended.facts.refused_call.filter(|call| call.is_recent && !is_tried(call.kind))?;
    note(ended, call)
}

/// A call that it was refused before, and whose error it printed.
pub(super) fn said(ended: &Ended<'_>) -> Option<String> {
    let call = ended.facts.refused_call?;
    let says = |words: &[&str]| {
        ended.ends().any(|text| {
            let text = text.to_lowercase();
            words.iter().any(|one| text.contains(one))
        })
    };
    let is_said = match call.kind {
        CallKind::Keys | CallKind::OtherSocket => says(&ABSENCE),
        CallKind::RawSocket => says(&PERMISSION) || says(&ABSENCE),
        CallKind::Priority => call.is_recent && says(&PERMISSION) && host_has(HostRight::Priority),
        _ => says(&PERMISSION),
    };
    is_said.then(|| note(ended, call))?
}

/// Whether libraries try it and do without.
fn is_tried(kind: CallKind) -> bool {
    use CallKind::{Datagram, Keys, Memory, OtherSocket, Priority};
    matches!(kind, Keys | Memory | Datagram | OtherSocket | Priority)
}

fn note(ended: &Ended<'_>, call: RefusedCall) -> Option<String> {
    is_confined(ended).then(|| this_is(what(call.kind)))
}

fn what(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Mount => MOUNT,
        CallKind::Namespace => NAMESPACES,
        CallKind::Root => ROOT,
        CallKind::Device => DEVICES,
        CallKind::SetId => SET_ID,
        CallKind::Measure => MEASURE,
        CallKind::System => SYSTEM,
        CallKind::Keys => "commands have no keyrings of the kernel; keep the key in the program",
        CallKind::Memory => {
            "commands cannot place memory or handle faults by system calls (`userfaultfd`, `move_pages`); do without it"
        }
        CallKind::Handle => {
            "commands cannot open files by handles or watch whole mounts (`fanotify`); use paths, and inotify"
        }
        CallKind::RawSocket => "commands have no raw sockets; use TCP or UDP",
        CallKind::Datagram => {
            "unix sockets of commands are streams (SOCK_STREAM, SOCK_SEQPACKET); make one of them"
        }
        CallKind::OtherSocket => {
            "commands have sockets of the internet and unix sockets alone; use one of these"
        }
        CallKind::Priority => {
            "commands cannot run before others (a niceness below 0, real-time classes); run the program without it"
        }
    }
}
