//! Failures of commands.

use std::time::Duration;

use serde_json::{Map, Value, json};
use toolwright_exec::{Connection, CredentialRequests, ExecError, Exit};

use super::Failure;
use crate::code::Code;
use crate::command::end::End;
use crate::command::launch::Directory;
use crate::command::output::Noted;
use crate::command::program::Program;
use crate::denials::Denial;
use crate::voice::Door;
use crate::voice::commands as voice;

/// A program that ended with another code than 0, or by a signal.
pub(crate) fn exited(program: &Program, end: &End, output: String, noted: &Noted) -> Failure {
    let summary = match end {
        End::Exited(Exit::Code(code)) => format!("Command failed with exit code {code}"),
        End::Exited(Exit::Signal { name, .. }) => format!("Command was killed by {name}"),
        End::TimedOut => "Command timed out".to_owned(),
    };
    let place = format!("{summary}: `{}`", program.cmd);
    let printed = match &*output {
        "" => "It printed nothing.".to_owned(),
        output => format!("Output:\n{output}"),
    };
    let mut failure = Failure::new(Code::CommandFailed, summary, place).with_output(printed);
    let hints: Vec<&str> = noted.hint.iter().chain(&noted.notes).map(String::as_str).collect();
    if !hints.is_empty() {
        failure = failure.with_hint(hints.join(" "));
    }
    let failure = match end {
        End::Exited(Exit::Code(code)) => failure.with("exitCode", *code),
        End::Exited(Exit::Signal { number, name }) => {
            failure.with("signal", name.to_string()).with("signalNumber", *number)
        }
        End::TimedOut => failure,
    };
    with_noted(failure, noted)
        .with("cmd", &*program.cmd)
        .with("args", program.args.clone())
        .with("output", output)
}

/// A program that was killed at its timeout.
pub(crate) fn timed_out(
    program: &Program,
    timeout: Duration,
    output: String,
    noted: &Noted,
) -> Failure {
    let ms = timeout.as_millis();
    let summary = format!("Command timed out after {ms}ms");
    let place = format!("{summary}: `{}`", program.cmd);
    let mut failure = Failure::new(Code::ProcessTimeout, summary, place)
        .with_hint(voice::timed_out(noted.hint.clone()));
    if !output.is_empty() {
        failure = failure.with_partial_output(format!("Output until then:\n{output}"));
    }
    with_noted(failure, noted)
        .with("timeoutMs", u64::try_from(ms).unwrap_or(u64::MAX))
        .with("output", output)
}

/// The same with what the sandbox has noted, for programs.
fn with_noted(mut failure: Failure, noted: &Noted) -> Failure {
    if !noted.connections.is_empty() {
        failure = failure.with("connections", connections(&noted.connections));
    }
    if !noted.denials.is_empty() {
        failure = failure.with("denials", denials(&noted.denials));
    }
    if !noted.masked.is_empty() {
        failure = failure.with("masked", masked(&noted.masked));
    }
    failure
}

fn connections(all: &[Connection]) -> Vec<Value> {
    let row = |connection: &Connection| {
        let mut row = Map::new();
        row.insert("host".to_owned(), connection.host.clone().into());
        row.extend(connection.port.map(|port| ("port".to_owned(), port.into())));
        row.insert("verdict".to_owned(), connection.verdict.word().into());
        row.insert("count".to_owned(), connection.count.into());
        if let Some(bytes) = connection.bytes {
            row.insert("sentBytes".to_owned(), bytes.sent.into());
            row.insert("receivedBytes".to_owned(), bytes.received.into());
        }
        if !connection.requests.is_empty() {
            let requests = connection.requests.iter().map(request).collect::<Vec<_>>();
            row.insert("requests".to_owned(), requests.into());
        }
        row.into()
    };
    all.iter().map(row).collect()
}

fn request(one: &CredentialRequests) -> Value {
    let CredentialRequests {
        credential, method, path, status, refused, count, sent, received, ..
    } = one;
    let mut row = Map::new();
    for (name, text) in [("credential", credential), ("method", method), ("path", path)] {
        row.insert(name.to_owned(), text.clone().into());
    }
    row.extend(status.map(|status| ("status".to_owned(), status.into())));
    row.extend(refused.map(|refused| ("refused".to_owned(), refused.word().into())));
    row.insert("count".to_owned(), (*count).into());
    row.insert("sentBytes".to_owned(), (*sent).into());
    row.insert("receivedBytes".to_owned(), (*received).into());
    row.into()
}

fn denials(all: &[Denial]) -> Vec<Value> {
    let row = |Denial { layer, subject, option }: &Denial| json!({ "layer": layer.word(), "subject": subject, "option": option });
    all.iter().map(row).collect()
}

fn masked(all: &[(String, u64)]) -> Vec<Value> {
    all.iter().map(|(name, count)| json!({ "name": name, "count": count })).collect()
}

/// A program that was not run.
pub(crate) fn program_not_run(
    error: &ExecError,
    program: &Program,
    directory: &Directory,
) -> Failure {
    let summary = format!("Failed to spawn {}", program.cmd);
    not_run(error, &program.cmd, summary, directory, Door::Tools)
}

/// A command line that was not run.
pub(crate) fn line_not_run(error: &ExecError, line: &str, directory: &Directory) -> Failure {
    let summary = "The command could not be run".to_owned();
    let failure = not_run(error, "the command", summary, directory, Door::Session);
    match failure.code {
        Code::ProcessFailed => failure.with("command", line),
        _ => failure,
    }
}

fn not_run(
    error: &ExecError,
    name: &str,
    not_started: String,
    directory: &Directory,
    door: Door,
) -> Failure {
    let failed = |code, summary: String, what: &str| {
        let place = format!("{summary}: {what}");
        Failure::new(code, summary, place).with_hint(voice::hint(error, door))
    };
    match error {
        ExecError::Unconfined { missing, .. } => {
            let summary = format!("Cannot confine {name}");
            failed(Code::SandboxUnavailable, summary, &voice::missing(missing))
                .with("layer", missing.layer)
                .with("reason", &*missing.reason)
        }
        ExecError::GrantChanged { what, .. } => {
            failed(Code::RootChanged, "A granted directory was replaced".to_owned(), what)
        }
        error => failed(Code::ProcessFailed, not_started, &directory.reword(&error.to_string()))
            .with("started", matches!(error, ExecError::Lost { .. })),
    }
}

/// A program for which the host had no thread.
#[must_use]
pub fn no_thread(cmd: &str) -> Failure {
    let summary = format!("Failed to spawn {cmd}");
    let place = format!("{summary}: the system is out of processes");
    Failure::new(Code::ProcessFailed, summary, place)
        .with_hint(voice::NO_THREAD)
        .with("command", cmd)
        .with("started", false)
}

#[cfg(test)]
mod tests;
