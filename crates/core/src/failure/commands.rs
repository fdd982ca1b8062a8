//! Failures of commands.

use std::time::Duration;

use toolwright_exec::{ExecError, Exit};
use toolwright_sandbox::plan::Plan;

use super::Failure;
use crate::code::Code;
use crate::command::launch::Directory;
use crate::command::program::Program;
use crate::voice::Door;
use crate::voice::commands as voice;
use crate::voice::refusals::{CommandEnd, explain, explain_program};

/// A program that ended with another code than 0, or by a signal.
pub(crate) fn exited(
    program: &Program,
    exit: &Exit,
    output: String,
    notes: &[String],
    plan: &Plan,
) -> Failure {
    let (summary, end) = match exit {
        Exit::Code(code) => {
            (format!("Command failed with exit code {code}"), Some(CommandEnd::Code(*code)))
        }
        Exit::Signal { name, .. } => (format!("Command was killed by {name}"), None),
    };
    let place = format!("{summary}: `{}`", program.cmd);
    let printed = match &*output {
        "" => "It printed nothing.".to_owned(),
        output => format!("Output:\n{output}"),
    };
    let mut failure = Failure::new(Code::CommandFailed, summary, place).with_output(printed);
    let hint = explain(&output, plan, Door::Tools).or_else(|| network(program, end?, plan));
    let hints: Vec<&str> = hint.iter().chain(notes).map(String::as_str).collect();
    if !hints.is_empty() {
        failure = failure.with_hint(hints.join(" "));
    }
    let failure = match exit {
        Exit::Code(code) => failure.with("exitCode", *code),
        Exit::Signal { number, name } => {
            failure.with("signal", name.to_string()).with("signalNumber", *number)
        }
    };
    failure.with("cmd", &*program.cmd).with("args", program.args.clone()).with("output", output)
}

/// A program that was killed at its timeout.
pub(crate) fn timed_out(
    program: &Program,
    timeout: Duration,
    output: String,
    plan: &Plan,
) -> Failure {
    let ms = timeout.as_millis();
    let summary = format!("Command timed out after {ms}ms");
    let place = format!("{summary}: `{}`", program.cmd);
    let mut failure = Failure::new(Code::ProcessTimeout, summary, place)
        .with_hint(voice::timed_out(network(program, CommandEnd::TimedOut, plan)));
    if !output.is_empty() {
        failure = failure.with_partial_output(format!("Output until then:\n{output}"));
    }
    failure.with("timeoutMs", u64::try_from(ms).unwrap_or(u64::MAX)).with("output", output)
}

/// What the blocked network has to do with the end of a program.
fn network(program: &Program, end: CommandEnd, plan: &Plan) -> Option<String> {
    explain_program(&program.cmd, &program.args, end, plan, Door::Tools)
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
