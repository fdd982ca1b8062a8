//! A program with arguments whose end is a result, whatever it is: both streams apart, and how it ended.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use toolwright_exec::{
    Cancel, CommandFacts, ExecError, ExecRequest, Finished, GitReports, Output, Streams,
};
use toolwright_fs::FileLocation;

use super::credentials;
use super::end::End;
use super::environment::{self, Passage, Variables};
use super::hosts;
use super::launch::{Directory, Launch, joined};
use super::masks;
use super::output::CommandOutput;
use super::program::{Program, ProgramSettings, locate};
use crate::denials::Ended;
use crate::failure::{Unfinished, commands, files};
use crate::text;
use crate::voice::Door;
use crate::voice::commands::WORKING_DIRECTORY;

/// The terms of one program, which may be narrower than its settings.
#[derive(Debug, Clone, Default)]
pub struct CaptureTerms {
    /// When the program and its children are killed.
    pub timeout: Duration,
    /// The most bytes of each stream. Of a longer one the beginning and the end are kept.
    pub stream_bytes: usize,
    /// Whether each is the text that a person would see at the end, and not every byte.
    pub is_screen: bool,
    /// Variables that join those of the policy.
    pub variables: Variables,
    /// The line that the model has sent, where the arguments are a script around it which keeps the state of its shell.
    pub line: Option<String>,
}

/// Runs a program. The terms replace the limits of the settings.
pub fn run(
    settings: &ProgramSettings,
    program: &Program,
    host: &Arc<Variables>,
    terms: &CaptureTerms,
    cancel: &Cancel,
) -> Result<CommandOutput, Unfinished> {
    let located = locate(settings, &program.cwd)
        .map_err(|error| files::working_directory(&error, WORKING_DIRECTORY))?;
    let FileLocation { root, relative, descriptor, .. } = located;
    let directory = Directory::new(joined(&root, &relative), relative, descriptor.as_fd());
    let plan = settings.sandbox.plan(&root, &settings.grants.resolve()?, host);
    let passed = environment::of_command(&settings.environment, host, &directory.path);
    let passed = joined_variables(passed, &terms.variables);
    let passed = credentials::variables(settings.sandbox.credentials(), passed);
    let variables = Passage { host: Arc::clone(host), passed };
    let mask =
        masks::of_command(settings.mask.as_ref(), settings.sandbox.credentials(), &variables);
    let (git, facts) = (GitReports::default(), CommandFacts::default());
    let connections = hosts::of(&plan, settings.sandbox.names.as_ref())?;
    let launch = Launch {
        program: &program.cmd,
        args: &program.args,
        directory: &directory,
        plan: &plan,
        required: settings.sandbox.required,
        isolated: settings.sandbox.isolated,
        variables: Arc::clone(&variables.passed),
        timeout: terms.timeout,
        patches: program.patches.as_deref(),
        git: Some(&git),
        facts: Some(&facts),
        connections: connections.as_ref(),
        mask: mask.as_ref(),
    };
    let request = ExecRequest {
        max_output_bytes: terms.stream_bytes,
        is_screen: terms.is_screen,
        streams: Streams::Apart,
        ..launch.request(cancel)
    };
    let (end, output, stderr, left_running) = match toolwright_exec::run(&request) {
        Ok(Finished { exit, output, stderr, left_running, .. }) => {
            (End::Exited(exit), output, stderr, left_running)
        }
        Err(ExecError::TimedOut { output, stderr, .. }) => (End::TimedOut, output, stderr, 0),
        Err(ExecError::Cancelled { .. }) => return Err(Unfinished::Cancelled),
        Err(error) => return Err(commands::program_not_run(&error, program, &directory).into()),
    };
    let stderr = stderr.unwrap_or_default();
    let truncated = output.truncated || stderr.truncated;
    let text = |output: Output| text::within(output.bytes, terms.stream_bytes);
    let (stdout, stderr) = (text(output), text(stderr));
    let line = terms.line.as_ref().map(|line| ["-c".to_owned(), line.clone()]);
    let ended = Ended {
        starts_processes: settings.starts_processes,
        end: &end,
        printed: &[&stderr, &stdout],
        plan: &plan,
        directory: &directory.path,
        connections: &[],
        door: Door::Tools,
        command: (&program.cmd, line.as_ref().map_or(&program.args, |line| line)),
        keeps_state: line.is_some(),
        facts: facts.get(),
        variables: Some(&variables),
    };
    let noted = hosts::noted(&git.take(), &ended, hosts::asked_for(connections.as_ref()));
    let mut noted = noted.with_masked(mask.as_ref());
    // A provider's tool has one place for both.
    let hints: Vec<String> = noted.hint.take().into_iter().chain(noted.notes.drain(..)).collect();
    let hint = (!hints.is_empty()).then(|| hints.join(" "));
    Ok(CommandOutput { stdout, stderr, truncated, sidecar: None, end, hint, left_running, noted })
}

/// Each name once: the variables of the call replace those of the policy.
fn joined_variables(policy: Arc<Variables>, own: &Variables) -> Arc<Variables> {
    if own.is_empty() {
        return policy;
    }
    let inherited = policy.iter().filter(|(name, _)| own.iter().all(|(other, _)| other != name));
    Arc::new(inherited.chain(own).cloned().collect())
}
