//! Files and directories that are opened, allowed, held open, and then acted on.

use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use toolwright_core::access::target::{self, Target};
use toolwright_core::failure::access::target_closed;
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_fs::TargetKind;

use super::policy::ContractPolicy;
use crate::cancel::CancelHandle;
use crate::job;
use crate::job::Job;
use crate::outcome::Outcome;

/// A file or directory, or none, held open.
#[napi]
#[derive(Debug)]
pub struct OpenedTarget {
    target: Option<Arc<Target>>,
    real_path: String,
    requested_path: String,
    display_path: String,
    kind: &'static str,
    bytes: Option<f64>,
    implicit: bool,
}

/// Opens what `path` names, takes the real path of what was opened, and asks the policy about that.
#[napi(catch_unwind, ts_return_type = "Promise<OpenedTarget | Unfinished>")]
pub fn open_target(
    policy: &ContractPolicy,
    path: String,
    #[napi(ts_arg_type = "'read' | 'write' | 'edit' | 'search' | 'workdir'")] access: String,
    cancel: &CancelHandle,
) -> AsyncTask<Job<Outcome<OpenedTarget>>> {
    let (policy, cancel) = (Arc::clone(&policy.0), cancel.flag());
    job::short(move || {
        let purpose = access.parse().map_err(Unfinished::from);
        let target = purpose.and_then(|purpose| target::open(&policy, &path, purpose, &cancel));
        target.map(|target| OpenedTarget::new(target, path)).into()
    })
}

/// The same for `read`, when nothing has to be waited for; else nothing, and `openTarget` says why.
/// For the JavaScript thread: the way to another one takes longer than this.
#[napi(catch_unwind)]
#[must_use]
pub fn try_open_target_cached(policy: &ContractPolicy, path: String) -> Option<OpenedTarget> {
    target::try_open_cached(&policy.0, &path).map(|target| OpenedTarget::new(target, path))
}

impl OpenedTarget {
    #[expect(clippy::cast_precision_loss, reason = "no file is that long")]
    fn new(target: Target, requested_path: String) -> Self {
        let (kind, bytes) = match target.file.kind() {
            TargetKind::File { bytes } => ("file", Some(bytes as f64)),
            TargetKind::Directory => ("directory", None),
            TargetKind::Missing => ("missing", None),
        };
        let real_path = target.file.real_path();
        Self {
            real_path: real_path.to_string_lossy().into_owned(),
            requested_path,
            display_path: target.policy.display_path(real_path).to_string_lossy().into_owned(),
            kind,
            bytes,
            implicit: target.is_implicit,
            target: Some(Arc::new(target)),
        }
    }

    pub(super) fn target(&self) -> Result<Arc<Target>, Failure> {
        self.target.clone().ok_or_else(|| target_closed(&self.requested_path))
    }
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
        self.target = None;
    }
}
