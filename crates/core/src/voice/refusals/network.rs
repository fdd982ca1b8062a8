//! The blocked network.

use toolwright_exec::Exit;
use toolwright_sandbox::plan::Network;

use super::{loopback, sentence};
use crate::command::end::End;
use crate::command::network_need::{CommandPlace, may_use_network, network_need};
use crate::denials::Ended;
use crate::voice::remedy::Remedy;

/// How libc, Node, Python, Go and common programs report a missing network. They name a candidate: the kernel
/// has counted whether something had no way to another machine.
const WORDS: [&str; 21] = [
    "network is unreachable",
    "enetunreach",
    "temporary failure in name resolution",
    "could not resolve",
    "eai_again",
    "name or service not known",
    "no address associated with hostname",
    "address family not supported by protocol",
    "eafnosupport",
    "failed to lookup address information",
    "network unreachable",
    "unable to resolve host",
    "getaddrinfo enotfound",
    "couldn't connect to server",
    "could not connect to server",
    "unknownhostexception",
    "no such host",
    "bad hostname",
    "querya econnrefused",
    "queryaaaa econnrefused",
    // pip, which does not say that it reached no index.
    "no matching distribution found",
];

pub(super) fn note(ended: &Ended<'_>, calls: &[Vec<String>]) -> Option<String> {
    let plan = ended.plan;
    // Which hosts a command did not reach is known where some are named.
    if matches!(plan.network, Network::Open | Network::Names) {
        return None;
    }
    if let Some(note) = silent(ended, calls) {
        return Some(note);
    }
    let counted = ended.facts.unreachable;
    if counted == Some(0) {
        return None;
    }
    let says = ended.ends().any(|text| {
        let text = text.to_lowercase();
        WORDS.iter().any(|words| text.contains(words))
    });
    if says && !ended.end.is_timeout() {
        return Some(sentence(
            "the network is blocked; work without it, or",
            Remedy::NETWORK,
            ended.door,
        ));
    }
    if !ended.end.is_timeout() {
        return None;
    }
    let name = if counted.is_some() {
        calls.iter().find(|call| may_use_network(&call[0])).map(|call| &*call[0])
    } else {
        let (program, arguments) = ended.command;
        let place = CommandPlace { directory: Some(ended.directory), path: None };
        network_need(program, arguments, place).map(|_| program)
    };
    let what = match name {
        Some(name) => format!(
            "`{name}` tried to reach the network, which is blocked; work with what is installed, or"
        ),
        None if says => "the network is blocked; work without it, or".to_owned(),
        None => return None,
    };
    Some(sentence(&what, Remedy::NETWORK, ended.door))
}

/// Programs that print nothing and say by their exit code that there is no connection.
fn silent(ended: &Ended<'_>, calls: &[Vec<String>]) -> Option<String> {
    let End::Exited(Exit::Code(code)) = ended.end else { return None };
    let is_said = ended.ends().all(|text| text.trim().is_empty());
    calls.iter().filter(|_| is_said).find_map(|call| {
        let (name, arguments) = call.split_first()?;
        let failure = match (&**name, code) {
            ("curl", 6) => "could not find the host (exit code 6)",
            ("curl", 7) => "could not connect (exit code 7)",
            ("wget", 4) => "could not connect (exit code 4)",
            _ => return None,
        };
        let is_own = arguments.iter().any(|argument| loopback::is_named(argument));
        (!is_own).then(|| {
            let what = format!("`{name}` {failure}, and the network is blocked; do without it, or");
            sentence(&what, Remedy::NETWORK, ended.door)
        })
    })
}
