//! Refusals by a session's policy, and policies that cannot be compiled.

use toolwright_policy::CompileError;
use toolwright_policy::shell::SimpleCommand;
use toolwright_sandbox::policy::GrantError;

use super::{Failure, Unfinished};
use crate::code::Code;
use crate::voice::access as voice;

/// Refused by capability: nothing was done.
fn denied(capability: &str, what: &str, hint: &'static str) -> Failure {
    let summary = "Not among this agent's capabilities";
    Failure::new(Code::CapabilityDenied, summary, format!("{summary}: {capability} {what}"))
        .with_hint(hint)
        .with("capability", capability)
}

/// A path that no capability opens. It is named as it was requested.
pub(crate) fn path_denied(capability: &str, path: &str) -> Failure {
    denied(capability, &format!("`{path}`"), voice::PATH_DENIED).with("path", path)
}

/// A search of a directory that holds the one of which the session has a fork.
pub(crate) fn around_fork(path: &str) -> Failure {
    let what =
        format!("a search of `{path}`, around the directory that this session has a fork of");
    denied("fs.read", &what, voice::AROUND_FORK).with("path", path)
}

pub(crate) fn host_denied(host: &str, is_private: bool) -> Failure {
    let hint = if is_private { voice::PRIVATE_HOST_DENIED } else { voice::HOST_DENIED };
    denied("net.fetch", &format!("`{host}`"), hint).with("host", host)
}

pub(crate) fn capability_denied(name: &str) -> Failure {
    denied(name, "", voice::CAPABILITY_DENIED)
}

/// Without a command: the session may run none at all.
pub(crate) fn command_denied(command: Option<&SimpleCommand>) -> Failure {
    let Some(command) = command else {
        return denied("shell.run", "any command", voice::COMMAND_DENIED);
    };
    let is_known = command.argv.is_some() && command.is_exact;
    let hint = if is_known { voice::COMMAND_DENIED } else { voice::COMMAND_UNKNOWN };
    let failure = denied("shell.run", &command.display(), hint).with("command", &*command.text);
    match &command.restricted {
        Some(reason) => failure.with("restricted", reason.as_str()),
        None => failure,
    }
}

/// A manifest or a tool's requirements that cannot be compiled.
pub(crate) fn manifest_invalid(error: &CompileError) -> Failure {
    compile_failed(Code::ContractManifestInvalid, error, voice::MANIFEST_INVALID)
}

/// A permission rule that cannot be compiled.
pub(crate) fn rule_invalid(error: &CompileError) -> Failure {
    compile_failed(Code::ContractRuleInvalid, error, voice::RULE_INVALID)
}

fn compile_failed(code: Code, error: &CompileError, hint: &'static str) -> Failure {
    let summary = format!("{} cannot be used", error.origin);
    let failure = Failure::new(code, summary, error.to_string())
        .with_hint(hint)
        .with("source", error.origin.as_str())
        .with("place", error.place.as_str())
        .with("problem", error.problem.as_str());
    match &error.variable {
        Some(variable) => failure.with("variable", variable.as_str()),
        None => failure,
    }
}

/// A purpose that no target is opened for.
pub(crate) fn unknown_purpose(word: &str) -> Failure {
    let summary = "Unknown access";
    Failure::new(Code::InvalidInput, summary, format!("{summary}: `{word}`"))
        .with_hint(voice::UNKNOWN_PURPOSE)
}

/// A target that was used after it had been closed.
#[must_use]
pub fn target_closed(path: &str) -> Failure {
    let summary = "The target is closed";
    Failure::new(Code::TargetClosed, summary, format!("{summary}: `{path}`"))
        .with_hint(voice::TARGET_CLOSED)
}

impl From<GrantError> for Unfinished {
    fn from(error: GrantError) -> Self {
        match error {
            GrantError::Directory(error) => error.into(),
            GrantError::Refused { option, path, problem } => {
                let path = path.to_string_lossy().into_owned();
                let summary = format!("{option} cannot be used");
                let place = format!("{option}: `{path}` {}", voice::grant_problem(&problem));
                let failure = Failure::new(Code::InvalidInput, summary, place);
                let failure = failure.with_hint(voice::OPTION_INVALID).with("option", option);
                failure.with("path", path).into()
            }
        }
    }
}
