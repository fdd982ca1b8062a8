//! What a command is not run without.

use std::fmt;

use toolwright_sandbox::remedy::{Reader, Remedy};
use toolwright_sandbox::step::FailedStep;

/// A layer that is missing and that the command is not run without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The name of the layer.
    pub layer: &'static str,
    /// What it is needed for.
    pub purpose: &'static str,
    /// Why it is missing.
    pub reason: String,
    /// What would help.
    pub remedy: &'static str,
    /// What would let it run without.
    pub instead: Option<&'static Remedy>,
}

impl Missing {
    /// What would help, in a sentence.
    #[must_use]
    pub fn remedy(&self, reader: Reader) -> String {
        match self.instead {
            None => self.remedy.to_owned(),
            Some(instead) => {
                format!("{}, or {}.", self.remedy.trim_end_matches('.'), instead.words(reader))
            }
        }
    }
}

impl Missing {
    /// The sandbox program itself does not work.
    #[cfg(target_os = "linux")]
    pub(crate) fn program(reason: String) -> Self {
        Self {
            layer: "the sandbox program",
            purpose: "confining commands",
            reason,
            remedy: "Let the process run programs of its own: files in memory (memfd), or a \
                     temporary directory that is not mounted noexec.",
            instead: None,
        }
    }
}

impl Missing {
    /// A command could not be put behind its layers at this step.
    pub(crate) fn step(step: FailedStep, reason: String) -> Self {
        Self {
            layer: match step {
                FailedStep::Landlock => "Landlock",
                FailedStep::Seccomp => "seccomp",
                FailedStep::Limits => "a resource limit",
                FailedStep::Broker => "the broker of the loopback interface",
                FailedStep::Mounts => "the tree of files",
                FailedStep::Fork => "a process for the command",
                FailedStep::Capabilities => "giving up capabilities",
                FailedStep::Directory
                | FailedStep::Execute
                | FailedStep::Interpreter
                | FailedStep::Granted
                | FailedStep::Other => "the sandbox",
            },
            purpose: "confining commands",
            reason,
            remedy: "See what the system or its container forbids: `npx toolwright doctor` tells what holds.",
            instead: None,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is missing, which {} needs: {}", self.layer, self.purpose, self.reason)
    }
}
