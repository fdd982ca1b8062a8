//! What every command has in common: where it runs, behind which plan, with which variables.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolwright_exec::{
    CancelSource, CommandFacts, Connections, ExecEnv, ExecRequest, GitReports, OutputMask,
    PatchReports, Sandbox,
};
use toolwright_sandbox::plan::Plan;

use super::environment::Variables;
use super::plan::warn_of_writable_home;
use crate::voice::notices;

/// The directory of a command.
#[derive(Debug)]
pub(crate) struct Directory {
    /// The path that the caller knows.
    pub(crate) path: PathBuf,
    /// The path that the system gets.
    pub(crate) opened: PathBuf,
    /// The path from the plan's root.
    pub(crate) below: PathBuf,
}

impl Directory {
    /// Names the open directory itself where the system can, so that no other one can take its place.
    /// The descriptor must stay open while the path is used.
    pub(crate) fn new(path: PathBuf, below: PathBuf, descriptor: BorrowedFd<'_>) -> Self {
        let opened = if cfg!(target_os = "linux") {
            format!("/proc/self/fd/{}", descriptor.as_raw_fd()).into()
        } else {
            path.clone()
        };
        Self { path, opened, below }
    }

    /// A message of the system with the path that the caller knows.
    pub(crate) fn reword(&self, message: &str) -> String {
        message.replace(&*self.opened.to_string_lossy(), &self.path.to_string_lossy())
    }
}

/// A command that is ready to run.
pub(super) struct Launch<'a> {
    pub(super) program: &'a str,
    pub(super) args: &'a [String],
    pub(super) directory: &'a Directory,
    pub(super) plan: &'a Plan,
    pub(super) required: bool,
    pub(super) isolated: bool,
    pub(super) variables: Arc<Variables>,
    pub(super) timeout: Duration,
    /// Where its patches are reported.
    pub(super) patches: Option<&'a PatchReports>,
    /// Where it is reported what of git's configuration stayed in the sandbox.
    pub(super) git: Option<&'a GitReports>,
    /// Where it is noted what the kernel has counted of refusals.
    pub(super) facts: Option<&'a CommandFacts>,
    /// What decides about its hosts, and where they are noted.
    pub(super) connections: Option<&'a Arc<Connections>>,
    /// What is masked of its output.
    pub(super) mask: Option<&'a Arc<OutputMask>>,
}

impl<'a> Launch<'a> {
    pub(super) fn request(self, cancel: &'a dyn CancelSource) -> ExecRequest<'a> {
        warn_of_writable_home(self.plan);
        ExecRequest {
            cwd: &self.directory.opened,
            sandbox: Some(Sandbox {
                plan: self.plan,
                below: &self.directory.below,
                required: self.required,
                isolated: self.isolated,
                on_open_files: notices::files_are_open,
            }),
            env: ExecEnv::Exactly(self.variables),
            timeout: self.timeout,
            patches: self.patches,
            git: self.git,
            facts: self.facts,
            connections: self.connections,
            mask: self.mask,
            cancel,
            ..ExecRequest::new(self.program, self.args)
        }
    }
}

/// A path and what lies below it, without a slash at the end.
pub(super) fn joined(root: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { root.to_owned() } else { root.join(below) }
}
