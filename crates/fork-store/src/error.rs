//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

use toolwright_exec::root_fork::NoFork;
use toolwright_fs::FsError;
use toolwright_sandbox::wire::ForkStep;

use crate::changes::LeftOutReason;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, ForkError>;

/// Why there is no fork, or why something cannot be done with one.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The base cannot be opened, or is no directory.
    #[error("`{}`: {source}", path.display())]
    Base {
        /// The base.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The base is another directory than when the fork was made.
    #[error("`{}`: another directory is there now", path.display())]
    Replaced {
        /// The base.
        path: PathBuf,
    },
    /// The base cannot be forked here.
    #[error("`{}`: {reason}", path.display())]
    Unavailable {
        /// The base.
        path: PathBuf,
        /// Why not.
        reason: Unavailable,
    },
    /// There is no such fork.
    #[error("no fork {id}")]
    NotFound {
        /// Its name.
        id: String,
    },
    /// Another process has the fork open, or a command still runs in it.
    #[error("fork {id} is in use")]
    Busy {
        /// Its name.
        id: String,
    },
    /// The machine went down while the fork was open, and its changes may not have reached the disk; or its process was killed
    /// before it was noted what the base was.
    #[error("fork {id} may have lost changes")]
    Damaged {
        /// Its name.
        id: String,
    },
    /// No change of the fork is at this path or below it.
    #[error("no change at `{path}`")]
    NoChange {
        /// The path as it was given.
        path: String,
    },
    /// What the fork has at this path or below it is never applied.
    #[error("nothing at `{path}` can be applied")]
    NeverApplied {
        /// The path as it was given.
        path: String,
        /// Why not.
        reason: LeftOutReason,
    },
    /// Nothing that the fork has applied can be taken back.
    #[error("nothing of fork {id} is applied")]
    NothingApplied {
        /// Its name.
        id: String,
    },
    /// The system refused to read or write.
    #[error("{operation} `{}`: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The attempted step.
        operation: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Writing to the base failed. Nothing of it has changed.
    #[error(transparent)]
    Apply(#[from] FsError),
}

/// Why a base cannot be forked.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// It is the root of all files, or a file system of the kernel.
    #[error("it holds more than files")]
    System,
    /// The store lies in it.
    #[error("the store of forks lies in it: `{}`", .0.display())]
    StoreInside(PathBuf),
    /// Another file system is mounted in it, whose files the fork would not have.
    #[error("another file system is mounted in it, at `{}`", .0.display())]
    MountInside(PathBuf),
    /// Its path is not UTF-8.
    #[error("its path is not UTF-8")]
    Name,
    /// The system refused a step.
    #[error("{}: {source}", step_words(*.step))]
    Refused {
        /// The step.
        step: ForkStep,
        /// What the system says.
        source: io::Error,
    },
    /// The process that would hold the fork could not be run.
    #[error("the sandbox program does not run: {0}")]
    NoProgram(io::Error),
}

fn step_words(step: ForkStep) -> &'static str {
    match step {
        ForkStep::Namespaces => "no mount namespace can be entered",
        ForkStep::Base => "the directory cannot be opened",
        ForkStep::Changes => "the store of forks cannot be opened",
        ForkStep::Overlay => "no overlay can be made",
        ForkStep::Attach => "the overlay cannot be attached",
    }
}

impl From<NoFork> for Unavailable {
    fn from(error: NoFork) -> Self {
        match error {
            NoFork::Refused(step, source) => Self::Refused { step, source },
            NoFork::Holder(source) => Self::NoProgram(source),
        }
    }
}

impl ForkError {
    pub(crate) fn io(path: &Path, operation: &'static str) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path: path.clone(), operation, source }
    }
}
