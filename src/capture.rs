//! A program whose end is a result, with both streams apart.

use std::collections::HashMap;
use std::sync::Arc;

use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::command::capture::{self, CaptureTerms, Captured, CapturedEnd};

use crate::cancel::CancelHandle;
use crate::command::{BashRequest, Command, CommandSettings};
use crate::job::{self, Promised};
use crate::options;
use crate::outcome::Outcome;
use crate::patch_reports::PatchReports;
use crate::running_commands;

/// The terms of one program.
#[napi(object)]
pub struct CommandTerms {
    /// When it and its children are killed.
    pub timeout_ms: f64,
    /// The most bytes of each stream.
    pub stream_bytes: f64,
    /// Variables that join those of the policy.
    pub variables: Option<HashMap<String, String>>,
}

impl From<CommandTerms> for CaptureTerms {
    fn from(terms: CommandTerms) -> Self {
        let variables = terms.variables.unwrap_or_default().into_iter();
        Self {
            timeout: options::milliseconds(terms.timeout_ms),
            stream_bytes: options::size(terms.stream_bytes),
            variables: variables.map(|(name, value)| (name.into(), value.into())).collect(),
        }
    }
}

/// What a program printed, and how it ended.
#[napi(object, object_from_js = false)]
pub struct CapturedCommand {
    /// What it wrote there, of a long output the beginning and the end.
    pub stdout: String,
    /// What it wrote there, of a long output the beginning and the end.
    pub stderr: String,
    /// None when it did not end by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// Its number.
    pub signal_number: Option<i32>,
    /// Its time was up.
    pub timed_out: bool,
    /// What the sandbox seems to have refused.
    pub hint: Option<String>,
    /// How many processes that it had left running were killed when it ended.
    pub left_running: u32,
}

impl From<Captured> for CapturedCommand {
    fn from(captured: Captured) -> Self {
        let Captured { stdout, stderr, end, hint, left_running } = captured;
        let timed_out = end == CapturedEnd::TimedOut;
        let (exit_code, signal, signal_number) = match end {
            CapturedEnd::Exit(code) => (Some(code), None, None),
            CapturedEnd::Signal { number, name } => (None, Some(name), Some(number)),
            CapturedEnd::TimedOut => (None, None, None),
        };
        Self { stdout, stderr, exit_code, signal, signal_number, timed_out, hint, left_running }
    }
}

/// Runs a command in a directory below the root. Neither an exit code nor a timeout is an error.
#[napi(catch_unwind, ts_return_type = "Promise<CapturedCommand | Unfinished>")]
pub fn run_captured(
    env: &Env,
    settings: &CommandSettings,
    command: Command,
    terms: CommandTerms,
    cancel: &CancelHandle,
    patches: Option<&PatchReports>,
) -> Result<Promised<CapturedCommand>> {
    let running = running_commands::register(env, cancel.for_command())?;
    let request = BashRequest::new(settings, command, patches);
    let terms = CaptureTerms::from(terms);
    Ok(job::command(move || {
        let BashRequest { settings, program, host } = &request;
        let host = Arc::clone(host);
        let ran = capture::run(settings, program, &host, &terms, running.cancel());
        Outcome::from(ran.map(CapturedCommand::from))
    }))
}
