//! The steps that can fail before a command runs.

/// Where something failed before a command could run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedStep {
    /// The tree of files could not be built.
    Mounts,
    /// A process for the worker could not be made.
    Fork,
    /// The capabilities could not be given up.
    Capabilities,
    /// The system call filter could not be installed.
    Seccomp,
    /// The rules of Landlock could not be put in force.
    Landlock,
    /// The limits could not be set.
    Limits,
    /// The broker of the host's loopback could not be started.
    Broker,
    /// The working directory could not be entered.
    Directory,
    /// The program could not be executed.
    Execute,
    /// The program exists, and its interpreter does not.
    Interpreter,
    /// A granted path is another file than it was.
    Granted,
    /// The command could not be given a terminal.
    Terminal,
    /// Anything else.
    Other,
}
