//! Failures of forks.

use toolwright_fork_store::{ForkError, Unavailable};

use super::{Failure, Unfinished};
use crate::code::Code;
use crate::voice::forks as hint;

impl From<ForkError> for Unfinished {
    fn from(error: ForkError) -> Self {
        match error {
            ForkError::Apply(error) => error.into(),
            error => Self::Failed(error.into()),
        }
    }
}

impl From<ForkError> for Failure {
    fn from(error: ForkError) -> Self {
        match error {
            ForkError::Base { path, source } => {
                let path = path.to_string_lossy();
                let summary = "The directory to fork cannot be opened";
                Self::new(Code::RootInvalid, summary, format!("{summary}: `{path}` ({source})"))
                    .with_hint(hint::ROOT)
                    .with("path", path)
            }
            ForkError::Replaced { path } => {
                let path = path.to_string_lossy();
                let summary = "The directory of the fork is another one now";
                Self::new(Code::RootChanged, summary, format!("{summary}: `{path}`"))
                    .with_hint(hint::REPLACED)
                    .with("path", path)
            }
            ForkError::Unavailable { path, reason } => {
                unavailable(&path.to_string_lossy(), &reason)
            }
            ForkError::NotFound { id } => {
                named(Code::ForkNotFound, "Fork not found", &id).with_hint(hint::NOT_FOUND)
            }
            ForkError::Busy { id } => {
                named(Code::ForkBusy, "The fork is in use", &id).with_hint(hint::BUSY)
            }
            ForkError::Damaged { id } => {
                let summary = "The machine went down while the fork was open, or its program right after it was made";
                named(Code::ForkDamaged, summary, &id).with_hint(hint::DAMAGED)
            }
            ForkError::NoChange { path } => {
                named(Code::ForkChangeNotFound, "The fork has no change at the path", &path)
                    .with_hint(hint::NO_CHANGE)
                    .with("path", path)
            }
            ForkError::NeverApplied { path, reason } => {
                let summary = "What the fork has at the path is never applied";
                let (why, next) = hint::never_applied(reason);
                Self::new(Code::ForkChangeNotFound, summary, format!("{summary}: `{path}` ({why})"))
                    .with_hint(next)
                    .with("path", path)
                    .with("reason", reason.name())
            }
            ForkError::NothingApplied { id } => {
                let summary = "Nothing that the fork has applied can be undone";
                named(Code::ForkNotApplied, summary, &id).with_hint(hint::NOT_APPLIED)
            }
            ForkError::Io { path, operation, source } => {
                let path = path.to_string_lossy();
                let summary = "A step of a fork failed";
                let place = format!("{summary}: `{path}` ({operation}: {source})");
                Self::new(Code::ForkFailed, summary, place)
                    .with_hint(hint::FAILED)
                    .with("path", path)
            }
            ForkError::Apply(error) => {
                let text = error.to_string();
                Self::without_place(Code::ForkFailed, text).with_hint(hint::FAILED)
            }
        }
    }
}

fn named(code: Code, summary: &str, name: &str) -> Failure {
    Failure::new(code, summary, format!("{summary}: `{name}`")).with("fork", name)
}

fn unavailable(path: &str, reason: &Unavailable) -> Failure {
    let summary = "No fork can be made of the directory";
    let hint = match reason {
        Unavailable::System | Unavailable::Name => hint::OTHER_DIRECTORY,
        Unavailable::StoreInside(_) => hint::STORE_INSIDE,
        Unavailable::MountInside(_) => hint::MOUNT_INSIDE,
        Unavailable::Refused { .. } | Unavailable::NoProgram(_) => hint::NO_OVERLAY,
    };
    Failure::new(Code::ForkUnavailable, summary, format!("{summary}: `{path}`: {reason}"))
        .with_hint(hint)
        .with("path", path)
        .with("reason", reason.to_string())
}

impl Failure {
    /// No directory is known for the forks of this user.
    pub(crate) fn no_place_for_forks() -> Self {
        let summary = "No directory is known for forks, because HOME is not set";
        Self::without_place(Code::ForkFailed, summary).with_hint(hint::NO_PLACE)
    }
}
