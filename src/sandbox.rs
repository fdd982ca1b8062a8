//! How commands are confined: options from JavaScript, and the report of what holds.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::voice;
use toolwright_exec::Notice;
use toolwright_sandbox::plan::{Files, Limits, Network, Plan};
use toolwright_sandbox::policy;
use toolwright_sandbox::policy::{GrantError, ReadScope, Resolved};
use toolwright_sandbox::report::{Level, Row};

use crate::cancel::CancelHandle;
use crate::error::NativeError;
use crate::grants::CommandGrants;
use crate::job::Outcome;
use crate::{grants, job, options};

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

impl SandboxRequest {
    /// What it comes to for a root that is open. `environment` is that of the host.
    pub(crate) fn plan(
        &self,
        root: &Path,
        resolved: &Resolved,
        environment: &[(OsString, OsString)],
    ) -> std::result::Result<Plan, policy::PolicyError> {
        let paths = |given: &Option<Vec<String>>| -> Vec<PathBuf> {
            given.iter().flatten().map(PathBuf::from).collect()
        };
        let variable = |name: &str| {
            let found = environment.iter().rev().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
        };
        let home = home_of(environment);
        let deny_write = options::protected(self.deny_write.as_ref());
        let other_home = policy::stores::home_of_user();
        policy::plan(&policy::Options {
            root,
            resolved,
            network: match (self.network, self.loopback.as_deref()) {
                (true, _) => Network::Open,
                (false, Some("none")) => Network::Nothing,
                (false, Some("host")) => Network::HostLoopback,
                (false, _) => Network::PrivateLoopback,
            },
            files: if self.full_files == Some(true) { Files::Full } else { Files::Confined },
            read_scope: if self.system_only == Some(true) {
                ReadScope::System
            } else {
                ReadScope::All
            },
            writable_roots: &paths(&self.writable_roots),
            readable: &paths(&self.readable),
            deny_write: &deny_write,
            limits: self.limits(),
            home: home.as_deref(),
            other_home,
            variables: environment,
            sessions: Some(&policy::sessions_directory()),
            path: variable("PATH").map(OsStr::new),
        })
    }

    fn limits(&self) -> Limits {
        let limit = |given: Option<f64>| given.map(options::bytes).filter(|limit| *limit > 0);
        Limits {
            processes: match self.processes {
                None => Limits::DEFAULT.processes,
                given => limit(given),
            },
            memory_bytes: limit(self.memory_bytes),
            cpu_seconds: limit(self.cpu_seconds),
            file_size_bytes: limit(self.file_size_bytes),
        }
    }
}

/// The home directory, by the host's environment.
pub(crate) fn home_of(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let found = environment.iter().rev().find(|(name, _)| name == "HOME");
    let home =
        found.map(|(_, value)| PathBuf::from(value)).filter(|home| !home.as_os_str().is_empty());
    home.or_else(std::env::home_dir).filter(|home| home.is_absolute())
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

/// The report, or why there is none.
#[napi(object)]
#[derive(Debug, Default)]
pub struct SandboxOutcome {
    /// What holds.
    pub rows: Option<SandboxRows>,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Outcome for SandboxOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// Finds out what holds around commands with these grants, by trying.
#[napi(catch_unwind, ts_return_type = "Promise<SandboxOutcome>")]
pub fn sandbox_report<'env>(
    env: &'env Env,
    grants: &CommandGrants,
    request: SandboxRequest,
    inherits: bool,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let (root, grants) = (Arc::clone(&grants.root), Arc::clone(&grants.all));
    let flag = cancel.flag();
    let environment: Vec<_> = std::env::vars_os().collect();
    job::long(env, move || {
        let opened = root.check().map_err(GrantError::from).and_then(|()| grants.resolve());
        let resolved = match opened {
            Ok(resolved) => resolved,
            Err(error) => {
                let native = grants::refused(&error);
                return SandboxOutcome { cancelled: native.is_none(), error: native, rows: None };
            }
        };
        let plan = match request.plan(&resolved.root, &resolved, &environment) {
            Ok(plan) => plan,
            Err(error) => return SandboxOutcome::failed(bad_option(&error)),
        };
        let report = toolwright_exec::report(&plan, inherits, &*flag);
        SandboxOutcome {
            rows: Some(SandboxRows {
                files: report.files.into(),
                file_metadata: report.file_metadata.into(),
                network: report.network.into(),
                loopback: report.loopback.into(),
                unix_sockets: report.unix_sockets.into(),
                ipc: report.ipc.into(),
                process_kill: report.process_kill.into(),
                limits: report.limits.into(),
                env: report.environment.into(),
            }),
            ..SandboxOutcome::default()
        }
    })
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

/// Says once that commands may write a whole home directory.
pub(crate) fn tell_of_home(plan: &Plan) {
    let homes = std::env::home_dir().into_iter();
    let mut homes = homes.chain(policy::stores::home_of_user().map(Path::to_owned));
    let home = homes.find(|home| plan.writable.iter().any(|root| home.starts_with(root)));
    if let Some(home) = home {
        Notice::WritesHome(&home).say_once();
    }
}

/// An option that cannot be carried out.
pub(crate) fn bad_option(error: &policy::PolicyError) -> NativeError {
    let summary = format!("{} cannot be used", error.option);
    let hint = "Correct the option; the host sets it, not the call.";
    NativeError::new("INVALID_INPUT", summary, &error.to_string(), hint)
        .with("option", error.option)
        .with("path", error.path.to_string_lossy().into_owned())
}
