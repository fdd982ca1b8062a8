//! Files and directories that are opened, allowed, held open, and then acted on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use toolwright_fs::{FsError, OpenTarget, Roots, TargetKind};
use toolwright_policy::Access;

use super::policy::{ContractPolicy, Policy, denied};
use super::{Unfinished, file_error};
use crate::cancel::CancelHandle;
use crate::error::NativeError;
use crate::job;
use crate::job::{Job, Outcome};

/// A file or directory, or none, held open.
#[napi]
#[derive(Debug)]
pub struct OpenedTarget {
    held: Option<Arc<Opened>>,
    real_path: String,
    requested_path: String,
    display_path: String,
    kind: &'static str,
    bytes: Option<f64>,
    implicit: bool,
}

#[derive(Debug)]
pub(super) struct Opened {
    pub(super) held: OpenTarget,
    pub(super) policy: Arc<Policy>,
}

/// A target, or why there is none.
#[napi(object, object_from_js = false)]
#[derive(Debug, Default)]
pub struct OpenOutcome {
    /// What was opened.
    pub target: Option<OpenedTarget>,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Unfinished for OpenOutcome {
    fn unfinished(error: Option<NativeError>) -> Self {
        Self { cancelled: error.is_none(), error, ..Self::default() }
    }
}

/// What is going to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Read,
    Write,
    Edit,
    Search,
    Workdir,
}

/// Opens what `path` names, takes the real path of what was opened, and asks the policy about that.
/// `access` is `read`, `write`, `edit`, `search` or `workdir`.
#[napi(catch_unwind, ts_return_type = "Promise<OpenOutcome>")]
pub fn open_target(
    policy: &ContractPolicy,
    path: String,
    #[napi(ts_arg_type = "'read' | 'write' | 'edit' | 'search' | 'workdir'")] access: String,
    cancel: &CancelHandle,
) -> AsyncTask<Job<OpenOutcome>> {
    let (policy, cancel) = (Arc::clone(&policy.0), cancel.flag());
    job::short(move || {
        let wanted = match access.as_str() {
            "read" => Wanted::Read,
            "write" => Wanted::Write,
            "edit" => Wanted::Edit,
            "search" => Wanted::Search,
            "workdir" => Wanted::Workdir,
            _ => return OpenOutcome::failed(bad_access(&access)),
        };
        let told = match wanted {
            Wanted::Workdir => file_error::of_workdir,
            _ => file_error::told,
        };
        match open(&policy, &path, wanted, &cancel) {
            Ok(target) => OpenOutcome { target: Some(target), ..OpenOutcome::default() },
            Err(Refused::Denied(error)) => OpenOutcome::failed(error),
            Err(Refused::Fs(error)) => OpenOutcome::unfinished(told(&error)),
            Err(Refused::Found(error, place)) => {
                let native = told(&error);
                OpenOutcome::unfinished(
                    native.map(|native| native.with("realPath", place.to_string_lossy())),
                )
            }
        }
    })
}

/// The same for `read`, when nothing has to be waited for; else nothing, and `openTarget` says why.
/// For the JavaScript thread: the way to another one takes longer than this.
#[napi(catch_unwind)]
#[must_use]
pub fn try_open_target_cached(policy: &ContractPolicy, path: String) -> Option<OpenedTarget> {
    let policy = &policy.0;
    // With more roots the others may have to be looked at.
    let held = OpenTarget::try_open_cached(policy.workspace_root()?, &path)?;
    let allowed = policy.allows(Access::Read, held.real_path());
    allowed.then(|| opened(policy, held, &path, Wanted::Read))
}

fn bad_access(access: &str) -> NativeError {
    let summary = "Unknown access".to_owned();
    let place = format!("{summary}: `{access}`");
    NativeError::new("INVALID_INPUT", summary, &place, "Use read, write, edit, search or workdir.")
}

enum Refused {
    Denied(NativeError),
    Fs(FsError),
    /// What is there, and allowed, cannot be used. Rules have their say about it all the same.
    Found(FsError, PathBuf),
}

impl From<FsError> for Refused {
    fn from(error: FsError) -> Self {
        Self::Fs(error)
    }
}

fn open(
    policy: &Arc<Policy>,
    path: &str,
    wanted: Wanted,
    cancel: &AtomicBool,
) -> Result<OpenedTarget, Refused> {
    if cancel.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(Refused::Fs(FsError::Cancelled));
    }
    let is_absolute = Path::new(path).is_absolute();
    let roots = policy.open_roots(Path::new(path))?;
    let mut held = roots.open_target(path).map_err(|error| match error {
        // It lies in no place that any capability speaks of.
        FsError::Escape { via_link: false, .. } if is_absolute || policy.workspace.is_empty() => {
            Refused::Denied(outside(wanted, path))
        }
        other => Refused::Fs(other),
    })?;
    let place = held.real_path().to_owned();
    let allowed = match wanted {
        Wanted::Read => policy.allows(Access::Read, &place),
        Wanted::Write => policy.allows(Access::Write, &place),
        Wanted::Edit => policy.allows(Access::Read, &place) && policy.allows(Access::Write, &place),
        Wanted::Search | Wanted::Workdir => {
            let is_directory = held.kind() == TargetKind::Directory;
            policy.allows(Access::Read, &place)
                || is_directory && policy.allows_below(&place)
                // Where a command runs shows nothing of what is there.
                || wanted == Wanted::Workdir && policy.workspace.contains(&place)
        }
    };
    // Before anything is said about what is there.
    if !allowed {
        return Err(Refused::Denied(outside(wanted, path)));
    }
    match check(&mut held, &roots, policy, wanted) {
        Ok(()) => Ok(opened(policy, held, path, wanted)),
        Err(error) => Err(Refused::Found(error, place)),
    }
}

/// Whether what was found can be used for what is wanted.
fn check(
    held: &mut OpenTarget,
    roots: &Roots,
    policy: &Policy,
    wanted: Wanted,
) -> Result<(), FsError> {
    match wanted {
        Wanted::Read => held.check_readable()?,
        Wanted::Write | Wanted::Edit => {
            held.check_writable()?;
            roots.check_protected(held, &policy.deny_write)?;
            if wanted == Wanted::Edit {
                held.check_readable()?;
            }
        }
        Wanted::Search | Wanted::Workdir => {
            let is_directory = held.kind() == TargetKind::Directory;
            if !is_directory {
                held.check_readable()?;
            }
            if wanted == Wanted::Workdir && !is_directory {
                return Err(FsError::NotADirectory { path: held.display_path().to_owned() });
            }
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "no file is that long")]
fn opened(policy: &Arc<Policy>, held: OpenTarget, path: &str, wanted: Wanted) -> OpenedTarget {
    let (kind, bytes) = match held.kind() {
        TargetKind::File { bytes } => ("file", Some(bytes as f64)),
        TargetKind::Directory => ("directory", None),
        TargetKind::Missing => ("missing", None),
    };
    let access = match wanted {
        Wanted::Write | Wanted::Edit => Access::Write,
        Wanted::Read | Wanted::Search | Wanted::Workdir => Access::Read,
    };
    OpenedTarget {
        real_path: held.real_path().to_string_lossy().into_owned(),
        requested_path: path.to_owned(),
        display_path: policy.display(held.real_path()).to_string_lossy().into_owned(),
        kind,
        bytes,
        implicit: policy.is_implicit(access, held.real_path()),
        held: Some(Arc::new(Opened { held, policy: Arc::clone(policy) })),
    }
}

/// Names the path as it was requested, and nothing else.
fn outside(wanted: Wanted, path: &str) -> NativeError {
    let capability = match wanted {
        Wanted::Read | Wanted::Search | Wanted::Workdir => "fs.read",
        Wanted::Write => "fs.write",
        Wanted::Edit => "fs.read and fs.write",
    };
    let hint = "Use a path that is granted, most often one in the workspace.";
    denied(capability, &format!("`{path}`"), hint).with("path", path)
}

#[napi]
impl OpenedTarget {
    /// Absolute and without links: what rules are asked about, and not what a model is shown.
    #[napi(getter, catch_unwind)]
    #[must_use]
    pub fn real_path(&self) -> &str {
        &self.real_path
    }

    /// As the model wrote it.
    #[napi(getter, catch_unwind)]
    #[must_use]
    pub fn requested_path(&self) -> &str {
        &self.requested_path
    }

    /// For output: relative to the first root of the workspace, or absolute.
    #[napi(getter, catch_unwind)]
    #[must_use]
    pub fn display_path(&self) -> &str {
        &self.display_path
    }

    /// `file`, `directory`, or `missing` for a file that can be made.
    #[napi(getter, catch_unwind, ts_return_type = "'file' | 'directory' | 'missing'")]
    #[must_use]
    pub fn kind(&self) -> &str {
        self.kind
    }

    /// The size of a file when it was opened.
    #[napi(getter, catch_unwind)]
    #[must_use]
    pub fn bytes(&self) -> Option<f64> {
        self.bytes
    }

    /// It lies in one of the session's own directories and needs no rule.
    #[napi(getter, catch_unwind)]
    #[must_use]
    pub fn implicit(&self) -> bool {
        self.implicit
    }

    /// Lets go of it. Calls that run go on.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.held = None;
    }

    pub(super) fn opened(&self) -> Result<Arc<Opened>, NativeError> {
        self.held.clone().ok_or_else(|| {
            let summary = "The target is closed".to_owned();
            let place = format!("{summary}: `{}`", self.requested_path);
            NativeError::new("TOOL_TARGET_CLOSED", summary, &place, "Open it again.")
        })
    }
}
