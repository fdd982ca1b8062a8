//! What the sandbox has refused a command: by which layer, what, and the option of the host that opens it.
//!
//! Nothing here is guessed. What became of a host is known where hosts are named. Of a path or a limit the
//! command has said so, and the plan has to confirm it: a path counts only if the plan closes it and the
//! host itself could have opened it. So not every refusal is here, but what is here is one.

mod limits;
pub(crate) mod paths;

use std::path::Path;

use toolwright_exec::process::Facts;
use toolwright_exec::{Connection, Exit, Refusal, RequestRefusal, Verdict};
use toolwright_sandbox::plan::Plan;

use crate::command::end::End;
use crate::command::environment::Passage;
use crate::voice::Door;

/// How many refusals are named.
const MAX_DENIALS: usize = 20;
/// The error is at the end of the output.
const LOOKED_AT: usize = 16 << 10;

/// Something that a command was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What refused it.
    pub layer: Layer,
    /// A host with its port, a path, or the limit.
    pub subject: String,
    /// The option, capability or argument that opens it, if there is one.
    pub option: Option<&'static str>,
}

/// A part of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Which hosts are reached.
    Network,
    /// Which files are written and read.
    Files,
    /// Processes, memory, time and sizes.
    Limits,
}

impl Layer {
    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Files => "files",
            Self::Limits => "limits",
        }
    }
}

/// A command that has ended, as far as it says what was refused.
pub(crate) struct Ended<'a> {
    pub(crate) end: &'a End,
    /// What it has printed, the errors first.
    pub(crate) printed: &'a [&'a str],
    pub(crate) plan: &'a Plan,
    pub(crate) directory: &'a Path,
    pub(crate) connections: &'a [Connection],
    pub(crate) door: Door,
    /// Whether its caller has `process_start`.
    pub(crate) starts_processes: bool,
    /// The program and its arguments.
    pub(crate) command: (&'a str, &'a [String]),
    /// Whether what a line changes of its shell lasts.
    pub(crate) keeps_state: bool,
    /// What the kernel has counted.
    pub(crate) facts: Facts,
    /// The variables of the host, and its own of them.
    pub(crate) variables: Option<&'a Passage>,
}

impl Ended<'_> {
    /// The ends of what it has printed, where an error is.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &str> {
        self.printed.iter().map(|text| end_of(text))
    }
}

/// What a command was refused, each once.
pub(crate) fn of_command(ended: &Ended<'_>) -> Vec<Denial> {
    let mut all = of_connections(ended.connections);
    if *ended.end != End::Exited(Exit::Code(0)) {
        let printed: Vec<&str> = ended.ends().collect();
        all.extend(limits::denials(ended, &printed));
        all.extend(printed.iter().flat_map(|text| paths::denials(ended, text)));
    }
    let mut each: Vec<Denial> = Vec::new();
    for denial in all {
        if each.len() < MAX_DENIALS && !each.contains(&denial) {
            each.push(denial);
        }
    }
    each
}

/// The hosts that a command was refused.
pub(crate) fn of_connections(connections: &[Connection]) -> Vec<Denial> {
    let denial = |connection: &Connection| {
        let option = match connection.verdict {
            Verdict::Refused(Refusal::NotAllowed) => Some("sandbox.network.allow"),
            Verdict::Refused(Refusal::Denied) => Some("sandbox.network.deny"),
            Verdict::Refused(Refusal::NotGranted) => Some("net.hosts"),
            Verdict::Refused(Refusal::Unanswered | Refusal::Rejected) => {
                Some("sandbox.network.ask")
            }
            Verdict::Refused(Refusal::OtherName | Refusal::NoName | Refusal::NoTls) => {
                Some("sandbox.network.tlsNames")
            }
            Verdict::Private => Some("sandbox.network.addresses"),
            Verdict::TooMany => None,
            Verdict::Opened | Verdict::Unknown | Verdict::Failed => return None,
        };
        let subject = match (&*connection.host, connection.port) {
            ("", _) => "more names of hosts".to_owned(),
            (host, Some(port)) => format!("{host}:{port}"),
            (host, None) => host.to_owned(),
        };
        Some(Denial { layer: Layer::Network, subject, option })
    };
    let requests = connections.iter().flat_map(|connection| &connection.requests);
    let refused = requests.filter(|request| request.refused.is_some()).map(|request| {
        let option = if request.refused == Some(RequestRefusal::Rejected) {
            "net.credential"
        } else if request.are_signatures() {
            "sandbox.network.sshKeys"
        } else {
            "sandbox.network.credentials"
        };
        Denial { layer: Layer::Network, subject: request.subject(), option: Some(option) }
    });
    connections.iter().filter_map(denial).chain(refused).collect()
}

pub(crate) use limits::fork_is_full;
/// The place of a path as the command meant it, with links followed as far as it exists.
pub(crate) use paths::{is_of_commands, located as located_in, not_permitted};

fn end_of(text: &str) -> &str {
    let mut start = text.len().saturating_sub(LOOKED_AT);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests;
