//! Commands that go on as kept processes when their time is over.

use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::command::environment;
use toolwright_core::command::process::{self, BackgroundOptions, CommandOutcome};
use toolwright_core::command::program::{Ended, Program};
use toolwright_core::command::shell::CommandLine;
use toolwright_core::failure::Unfinished;

use super::values::KeepOptions;
use super::{KeptProcess, Shared, notifier};
use crate::cancel::CancelHandle;
use crate::command::{Command, CommandSettings, FinishedCommand};
use crate::contract::{ContractBashOutput, ContractBashRequest, LiveOutput, OpenedTarget};
use crate::job::{self, Promised};
use crate::kept_processes::{self, Place};
use crate::outcome::Outcome;
use crate::running_commands;
use crate::text::Text;

/// What became of a command, and its process if it goes on.
#[napi(object, object_from_js = false)]
pub struct KeptCommand {
    /// What it printed until then.
    pub output: FinishedCommand,
    /// The process that goes on.
    pub process: Option<KeptProcess>,
}

/// What became of a command line, and its process if it goes on.
#[napi(object, object_from_js = false)]
pub struct ContractKeptCommand {
    /// As a command line that is not kept; one that goes on has timed out.
    pub output: ContractBashOutput,
    /// The process that goes on.
    pub process: Option<KeptProcess>,
}

/// As `bash`; at its timeout the command goes on as a process.
#[napi(catch_unwind, ts_return_type = "Promise<KeptCommand | Unfinished>")]
pub fn bash_kept(
    env: &Env,
    settings: &CommandSettings,
    command: Command,
    keep: KeepOptions,
    cancel: &CancelHandle,
) -> Result<Promised<KeptCommand>> {
    let running = running_commands::register(env, cancel.for_command())?;
    let place = kept_processes::register(env)?;
    let Command { cmd, args, cwd, host_env, extra_env } = command;
    let host = environment::of_host(host_env, extra_env);
    let (settings, program) = (settings.shared(), Program { cmd, args, cwd, patches: None });
    let keeping = BackgroundOptions::from(keep);
    Ok(job::command(move || {
        let (changed, tell) = notifier();
        let cancel = running.cancel();
        let ran = process::run_program(&settings, &program, &keeping, &host, cancel, tell);
        let (ended, process) = match ran {
            Ok(CommandOutcome::Ended(ended)) => (ended, None),
            Ok(CommandOutcome::Background(ended, process)) => {
                (ended, Some(Shared { process, changed }))
            }
            Err(unfinished) => return Err(unfinished).into(),
        };
        match ended {
            Ended::Success { output, left_running, git_notes } => {
                let output = FinishedCommand { output: Text(output), left_running, git_notes };
                Outcome::done(KeptCommand { output, process: filled(&place, process) })
            }
            Ended::Cancelled { output } => Outcome::cancelled(Some(Text(output))),
        }
    }))
}

/// As `contractBash`; at its timeout the command line goes on as a process.
#[napi(catch_unwind, ts_return_type = "Promise<ContractKeptCommand | Unfinished>")]
pub fn contract_bash_kept(
    env: &Env,
    workdir: &OpenedTarget,
    mut request: ContractBashRequest,
    keep: KeepOptions,
    cancel: &CancelHandle,
    live: Option<&LiveOutput>,
) -> Result<Promised<ContractKeptCommand>> {
    let running = running_commands::register(env, cancel.for_command())?;
    let place = kept_processes::register(env)?;
    let host = environment::of_host(request.host_env.take(), request.extra_env.take());
    let (command, workdir) = (CommandLine::from(request), workdir.target());
    let keeping = BackgroundOptions::from(keep);
    let live = live.map(LiveOutput::shared);
    Ok(job::command(move || {
        let (changed, tell) = notifier();
        let (cancel, live) = (running.cancel(), live.as_deref());
        let ran = workdir.map_err(Unfinished::from).and_then(|workdir| {
            process::run_line(&workdir, &command, &keeping, &host, live, cancel, tell)
        });
        Outcome::from(ran.map(|ran| {
            let (output, process) = match ran {
                CommandOutcome::Ended(output) => (output, None),
                CommandOutcome::Background(output, process) => {
                    (output, Some(Shared { process, changed }))
                }
            };
            ContractKeptCommand { output: output.into(), process: filled(&place, process) }
        }))
    }))
}

fn filled(place: &Place, process: Option<Shared>) -> Option<KeptProcess> {
    process.map(|process| place.fill(process))
}
