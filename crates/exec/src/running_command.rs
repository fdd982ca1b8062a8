//! A command that has been started, in whichever way.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::ExitStatus;

use toolwright_sandbox::background::Facts;
use toolwright_sandbox::step::FailedStep;

#[cfg(target_os = "linux")]
use crate::confined::ConfinedLeader;
use crate::leader::ChildLeader;

/// The command and all it has started.
pub(crate) enum RunningCommand {
    /// A child of this process, and its process group.
    Child(ChildLeader),
    /// Run by a worker of the sandbox program.
    #[cfg(target_os = "linux")]
    Confined(Box<ConfinedLeader>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandState {
    Running,
    /// It has ended; some of its processes may be left.
    Ended,
    /// It never ran.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "workers say so"))]
    NotRun(NotRun),
}

/// Why a command did not run, if that is known only after its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "workers say so"))]
pub(crate) enum NotRun {
    /// Its worker had just ended; another one will do.
    Left,
    /// A path of the plan has become another file; a new supervisor is needed.
    Stale,
    /// This failed, with that error number.
    Failed(FailedStep, i32),
}

impl RunningCommand {
    /// What becomes readable when there is news.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        match self {
            Self::Child(leader) => leader.pidfd().map(AsFd::as_fd),
            #[cfg(target_os = "linux")]
            Self::Confined(leader) => Some(leader.as_fd()),
        }
    }

    /// Never waits, and collects nothing.
    pub(crate) fn poll(&mut self) -> io::Result<CommandState> {
        match self {
            Self::Child(leader) => {
                Ok(if leader.has_ended()? { CommandState::Ended } else { CommandState::Running })
            }
            #[cfg(target_os = "linux")]
            Self::Confined(leader) => leader.poll(),
        }
    }

    /// How many other processes were killed at its end. Unknown, and 0, for a child whose
    /// descendants are not searched for.
    pub(crate) fn killed(&self) -> u32 {
        match self {
            Self::Child(leader) => leader.killed(),
            #[cfg(target_os = "linux")]
            Self::Confined(leader) => leader.killed(),
        }
    }

    /// What the kernel has counted of refusals, once it has ended.
    pub(crate) fn facts(&self) -> Facts {
        match self {
            Self::Child(_) => Facts::default(),
            #[cfg(target_os = "linux")]
            Self::Confined(leader) => leader.facts(),
        }
    }

    /// Brings back what it has changed of git directories, once nothing of it is left, and says what of it was
    /// not.
    pub(crate) fn end_git(&mut self) -> Vec<crate::git_reports::GitReport> {
        match self {
            Self::Child(_) => Vec::new(),
            #[cfg(target_os = "linux")]
            Self::Confined(leader) => leader.end_git(),
        }
    }

    /// Kills the remaining processes. `None` means that the command does not end even so.
    pub(crate) fn end(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Self::Child(leader) => leader.end(),
            #[cfg(target_os = "linux")]
            Self::Confined(leader) => leader.end(),
        }
    }
}
