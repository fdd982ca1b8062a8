//! How commands are confined: options from JavaScript, and the report of what holds.

use std::sync::Arc;

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::command::plan::{LimitOptions, Loopback, SandboxOptions};
use toolwright_core::voice;
use toolwright_sandbox::report::{Level, Report, Row};

use crate::cancel::CancelHandle;
use crate::grants::CommandGrants;
use crate::options::paths;
use crate::outcome::Outcome;
use crate::{job, options};

/// What commands may do. What is left out is as the documentation of `sandbox` says.
#[napi(object)]
#[derive(Debug)]
pub struct SandboxRequest {
    /// Reach every host.
    pub network: bool,
    /// `private`, `none` or `host`.
    pub loopback: Option<String>,
    /// Write wherever the user may.
    pub full_files: Option<bool>,
    /// Read only the system, toolchains and the root.
    pub system_only: Option<bool>,
    /// Directories to write to besides the root.
    pub writable_roots: Option<Vec<String>>,
    /// What may be read in spite of what closes it.
    pub readable: Option<Vec<String>>,
    /// What may not be written below the root.
    pub deny_write: Option<Vec<String>>,
    /// Share nothing with other calls.
    pub isolated: Option<bool>,
    /// Refuse to run where a layer for files or processes is missing.
    pub required: Option<bool>,
    /// How many processes there may be at once; 0 for no limit.
    pub processes: Option<f64>,
    /// How much memory.
    pub memory_bytes: Option<f64>,
    /// How much processor time each process may use.
    pub cpu_seconds: Option<f64>,
    /// How long a file may become.
    pub file_size_bytes: Option<f64>,
}

impl From<SandboxRequest> for SandboxOptions {
    fn from(request: SandboxRequest) -> Self {
        Self {
            network: request.network,
            loopback: loopback(request.loopback.as_deref()),
            full_files: request.full_files.unwrap_or(false),
            system_only: request.system_only.unwrap_or(false),
            writable_roots: paths(request.writable_roots.unwrap_or_default()),
            readable: paths(request.readable.unwrap_or_default()),
            deny_write: request.deny_write.map(paths),
            isolated: request.isolated.unwrap_or(false),
            required: request.required.unwrap_or(false),
            limits: LimitOptions {
                processes: request.processes.map(options::bytes),
                memory_bytes: request.memory_bytes.map(options::bytes),
                cpu_seconds: request.cpu_seconds.map(options::bytes),
                file_size_bytes: request.file_size_bytes.map(options::bytes),
            },
        }
    }
}

/// Without a known word the interface is private.
pub(crate) fn loopback(word: Option<&str>) -> Loopback {
    match word {
        Some("none") => Loopback::Nothing,
        Some("host") => Loopback::Host,
        _ => Loopback::Private,
    }
}

/// One thing that holds, or does not.
#[napi(object)]
#[derive(Debug)]
pub struct SandboxRow {
    /// `kernel`, `best-effort` or `none`.
    pub level: String,
    /// By what, or why not.
    pub mechanism: String,
    /// What would make it better; empty where nothing would.
    pub advice: String,
}

/// What holds around commands.
#[napi(object)]
#[derive(Debug)]
pub struct SandboxRows {
    /// Contents and names of files outside of the root.
    pub files: SandboxRow,
    /// Their modes, owners, times and attributes.
    pub file_metadata: SandboxRow,
    /// Other hosts.
    pub network: SandboxRow,
    /// The host's loopback interface.
    pub loopback: SandboxRow,
    /// Unix sockets.
    pub unix_sockets: SandboxRow,
    /// Shared memory, semaphores and message queues of others.
    pub ipc: SandboxRow,
    /// That nothing of a command is left.
    pub process_kill: SandboxRow,
    /// Bounds on what it uses.
    pub limits: SandboxRow,
    /// Secrets in the environment.
    pub env: SandboxRow,
}

/// Finds out what holds around commands with these grants, by trying.
#[napi(catch_unwind, ts_return_type = "Promise<SandboxRows | Unfinished>")]
pub fn sandbox_report<'env>(
    env: &'env Env,
    grants: &CommandGrants,
    request: SandboxRequest,
    inherits: bool,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let (root, grants) = (Arc::clone(&grants.root), Arc::clone(&grants.all));
    let (options, flag) = (SandboxOptions::from(request), cancel.flag());
    let environment: Vec<_> = std::env::vars_os().collect();
    job::long(env, move || {
        let report = options.report(&root, &grants, &environment, inherits, &*flag);
        Outcome::from(report.map(SandboxRows::from))
    })
}

impl From<Report> for SandboxRows {
    fn from(report: Report) -> Self {
        Self {
            files: report.files.into(),
            file_metadata: report.file_metadata.into(),
            network: report.network.into(),
            loopback: report.loopback.into(),
            unix_sockets: report.unix_sockets.into(),
            ipc: report.ipc.into(),
            process_kill: report.process_kill.into(),
            limits: report.limits.into(),
            env: report.environment.into(),
        }
    }
}

impl From<Row> for SandboxRow {
    fn from(row: Row) -> Self {
        let level = match row.level {
            Level::Kernel => "kernel",
            Level::BestEffort => "best-effort",
            Level::None => "none",
        };
        Self {
            level: level.to_owned(),
            mechanism: voice::report::mechanism(&row.mechanism),
            advice: voice::report::advice(row.advice).to_owned(),
        }
    }
}
