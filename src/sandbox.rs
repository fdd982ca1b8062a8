//! What commands may do: the sandbox's options from JavaScript, and the report of what holds.

use std::collections::HashMap;
use std::sync::Arc;

use napi_derive::napi;
use serde_json::{Map, Value};
use toolwright_core::command::environment;
use toolwright_core::command::plan::{
    GitMode, HostOptions, LimitOptions, Loopback, SandboxOptions,
};
use toolwright_core::voice::report;

use crate::call::{self, CancelHandle, Promised};
use crate::credential_uses::CredentialUse;
use crate::credentials::SandboxCredentials;
use crate::cross::{Cross, convert, cross};
use crate::grants::CommandGrants;
use crate::host_questions::HostQuestion;
use crate::questions::QuestionFunction;

/// What commands may do. What is left out is as the documentation of `sandbox` says.
#[napi(object, object_to_js = false)]
pub struct SandboxRequest {
    /// Reach every host.
    pub network: bool,
    /// Reach these hosts by name, and no others. Comes before `network`.
    pub names: Option<SandboxHosts>,
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
    /// `forked` or `strict`.
    #[napi(ts_type = "'forked' | 'strict'")]
    pub git: Option<String>,
    /// Share nothing with other calls.
    pub isolated: Option<bool>,
    /// Refuse to run where a layer for files or processes is missing.
    pub required: Option<bool>,
    /// Bounds on what a command uses.
    pub limits: Option<SandboxLimits>,
}

/// The hosts that commands reach by name.
#[napi(object, object_to_js = false)]
pub struct SandboxHosts {
    /// Patterns of hosts, with a port or without.
    pub allow: Vec<String>,
    /// Patterns of hosts that are reached if `onQuestion` leads to an answer that agrees.
    pub ask: Vec<String>,
    /// Patterns of hosts that are not reached in spite of that.
    pub deny: Vec<String>,
    /// Where the host leads names itself.
    pub addresses: HashMap<String, String>,
    /// Whether the TLS server name must equal the name that the command connects to.
    pub tls_names: bool,
    /// The credentials of commands.
    pub credentials: Option<SandboxCredentials>,
    /// Takes the uses of credentials, about which `answerCredentialUse` decides. Without it, the rules of the credentials alone do.
    #[napi(ts_type = "(use: CredentialUse) => void")]
    pub on_use: Option<QuestionFunction<CredentialUse>>,
    /// Takes the questions, which `answerHostQuestion` answers. Without it, hosts of `ask` are refused.
    #[napi(ts_type = "(question: HostQuestion) => void")]
    pub on_question: Option<QuestionFunction<HostQuestion>>,
}

/// Bounds on what a command uses.
#[napi(object)]
pub struct SandboxLimits {
    /// How many processes there may be at once; 0 for no limit.
    pub processes: Option<f64>,
    /// How much memory.
    pub memory_bytes: Option<f64>,
    /// How much processor time each process may use.
    pub cpu_seconds: Option<f64>,
    /// How long a file may become.
    pub file_size_bytes: Option<f64>,
}

cross! {
    SandboxHosts => HostOptions { allow, ask, deny, addresses, tls_names, credentials, approvals: on_use, questions: on_question }
    SandboxLimits => LimitOptions { processes, memory_bytes, cpu_seconds, file_size_bytes }
    SandboxRequest => SandboxOptions {
        network, names, loopback, full_files, system_only, writable_roots, readable, deny_write, git, isolated,
        required, limits,
    }
}

convert! {
    Option<String> => Loopback: |name| Loopback::named(name.as_deref());
    Option<String> => GitMode: |name| GitMode::named(name.as_deref());
    Option<SandboxLimits> => LimitOptions: |limits| limits.map(Cross::cross).unwrap_or_default();
}

/// Finds out what holds around commands with these grants, by trying. The names are those of
/// `SandboxReport`.
#[napi(
    catch_unwind,
    ts_return_type = "Promise<Record<string, { level: string; mechanism: string; advice: string }> | Unfinished>"
)]
pub fn sandbox_report(
    grants: &CommandGrants,
    request: SandboxRequest,
    inherits: bool,
    cancel: &CancelHandle,
) -> Promised<Map<String, Value>> {
    let (root, grants) = (Arc::clone(&grants.root), Arc::clone(&grants.all));
    let (options, host): (SandboxOptions, _) = (request.cross(), environment::of_host(None, None));
    call::long(cancel, move |cancel| {
        let report = options.report(&root, &grants, &host, inherits, cancel)?;
        Ok(report::rows(&report))
    })
}
