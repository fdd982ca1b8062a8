//! How commands are confined: options from JavaScript, and the report of what holds.

use std::collections::HashMap;
use std::sync::Arc;

use napi_derive::napi;
use toolwright_core::command::plan::{LimitOptions, Loopback, SandboxOptions};
use toolwright_core::voice;
use toolwright_sandbox::report::{Report, Row};

use crate::cancel::CancelHandle;
use crate::grants::CommandGrants;
use crate::job::{self, Promised};
use crate::options;
use crate::options::paths;
use crate::outcome::Outcome;

/// What commands may do. What is left out is as the documentation of `sandbox` says.
#[napi(object)]
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
            loopback: Loopback::named(request.loopback.as_deref()),
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

/// One thing that holds, or does not.
#[napi(object, object_from_js = false)]
pub struct SandboxRow {
    /// `kernel`, `best-effort` or `none`.
    pub level: String,
    /// By what, or why not.
    pub mechanism: String,
    /// What would make it better; empty where nothing would.
    pub advice: String,
}

/// Finds out what holds around commands with these grants, by trying. The names are those of
/// `SandboxReport`.
#[napi(catch_unwind, ts_return_type = "Promise<Record<string, SandboxRow> | Unfinished>")]
pub fn sandbox_report(
    grants: &CommandGrants,
    request: SandboxRequest,
    inherits: bool,
    cancel: &CancelHandle,
) -> Promised<HashMap<String, SandboxRow>> {
    let (root, grants) = (Arc::clone(&grants.root), Arc::clone(&grants.all));
    let (options, flag) = (SandboxOptions::from(request), cancel.flag());
    let environment: Vec<_> = std::env::vars_os().collect();
    job::long(move || {
        let report = options.report(&root, &grants, &environment, inherits, &*flag);
        Outcome::from(report.map(rows))
    })
}

fn rows(report: Report) -> HashMap<String, SandboxRow> {
    let rows = [
        ("files", report.files),
        ("fileMetadata", report.file_metadata),
        ("network", report.network),
        ("loopback", report.loopback),
        ("unixSockets", report.unix_sockets),
        ("ipc", report.ipc),
        ("processKill", report.process_kill),
        ("limits", report.limits),
        ("env", report.environment),
    ];
    rows.into_iter().map(|(name, row)| (name.to_owned(), row.into())).collect()
}

impl From<Row> for SandboxRow {
    fn from(row: Row) -> Self {
        Self {
            level: voice::report::level(row.level).to_owned(),
            mechanism: voice::report::mechanism(&row.mechanism),
            advice: voice::report::advice(row.advice).to_owned(),
        }
    }
}
