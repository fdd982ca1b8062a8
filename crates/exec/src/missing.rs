//! Layers that a command does not run without.

use std::fmt;

use toolwright_sandbox::step::FailedStep;

/// A layer that is missing and that the command does not run without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The name of the layer.
    pub layer: &'static str,
    /// What requires it.
    pub requirement: Requirement,
    /// Why it is missing.
    pub reason: String,
}

/// The purpose of a required layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// The plan blocks the network.
    BlockedNetwork,
    /// The plan opens the network to hosts that it names, and to no others.
    NamedHosts,
    /// The plan lets commands leave nothing that git would obey, also while they run.
    StrictGit,
    /// The plan protects paths, and every layer is required.
    ProtectedPaths,
    /// The plan closes paths, and every layer is required.
    ClosedPaths,
    /// Every layer is required, and this promise does not hold.
    Promise(&'static str),
    /// The sandbox program runs.
    Program,
    /// The command starts behind its layers.
    Start,
}

impl Missing {
    /// The sandbox program itself does not work.
    #[cfg(target_os = "linux")]
    pub(crate) fn program(reason: String) -> Self {
        Self { layer: "the sandbox program", requirement: Requirement::Program, reason }
    }

    /// A command could not be put behind its layers at this step.
    pub(crate) fn step(step: FailedStep, reason: String) -> Self {
        let layer = match step {
            FailedStep::Landlock => "Landlock",
            FailedStep::Seccomp => "seccomp",
            FailedStep::Limits => "a resource limit",
            FailedStep::Broker => "the broker of the loopback interface",
            FailedStep::Mounts => "the tree of files",
            FailedStep::Fork => "a process for the command",
            FailedStep::Capabilities => "giving up capabilities",
            FailedStep::Terminal => "a terminal for the command",
            FailedStep::Directory
            | FailedStep::Execute
            | FailedStep::Interpreter
            | FailedStep::Granted
            | FailedStep::Other => "the sandbox",
        };
        Self { layer, requirement: Requirement::Start, reason }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is missing: {}", self.layer, self.reason)
    }
}
