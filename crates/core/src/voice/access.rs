//! Next moves after refusals by a session's policy, and after policies that cannot be compiled.

use toolwright_names::printable_path;
use toolwright_sandbox::policy::GrantProblem;

pub(crate) const PATH_DENIED: &str = "Use a path that is granted, most often one in the workspace.";

pub(crate) const HOST_DENIED: &str =
    "Use another host, or go on without it; the host program grants net.hosts.";

pub(crate) const PRIVATE_HOST_DENIED: &str = "Addresses of this machine and of private networks have to be granted by name; a server that a command or a process has started is reached by commands.";

pub(crate) const CAPABILITY_DENIED: &str =
    "Go on without it; the host program grants capabilities.";

pub(crate) const COMMAND_DENIED: &str =
    "Use a command that is granted, or another tool; the host program grants shell commands.";

/// For a command that is only known when it runs.
pub(crate) const COMMAND_UNKNOWN: &str = "Write the command without variables, substitutions and patterns, and not as an argument of another one; what it does has to be known before it runs.";

pub(crate) const MANIFEST_INVALID: &str =
    "Correct the manifest or the tool's requirements; nothing was started.";

pub(crate) const RULE_INVALID: &str = "Correct the rule; none of them is in force.";

pub(crate) const TARGET_CLOSED: &str = "Open it again.";

/// For an option of the host.
pub(crate) const OPTION_INVALID: &str = "Correct the option; the host sets it, not the call.";

/// What is wrong with a path that an option of the host grants.
pub(crate) fn grant_problem(problem: &GrantProblem) -> String {
    match problem {
        GrantProblem::Missing => "does not exist".to_owned(),
        GrantProblem::NotADirectory => "is no directory".to_owned(),
        GrantProblem::Unreadable(error) => error.to_string(),
        GrantProblem::LedOut { directory, real_path } => format!(
            "leads through a link in `{}`, which commands can write, to `{}`; name that directory itself",
            printable_path(directory),
            printable_path(real_path),
        ),
    }
}

/// For a search around the directory that a session has a fork of.
pub(crate) const AROUND_FORK: &str =
    "Search the workspace by itself, and the directories beside it one by one.";
/// For the directory of a session's command.
pub(crate) const WORKDIR: &str = "Check `workdir`, or leave it out to run in the workspace.";

pub(crate) const UNKNOWN_PURPOSE: &str = "Use read, write, edit, search or workdir.";
