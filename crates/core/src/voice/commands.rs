//! Next moves after commands that did not start or did not run to their end.

use std::borrow::Cow;
use std::path::Path;

use toolwright_exec::{ExecError, Missing, Requirement, SpawnReason};

use super::Door;
use super::refusals::APPLY_PATCH;
use super::remedy::Remedy;
use super::usage::{is_assignment, is_tool};

/// The next move.
#[must_use]
pub fn hint(error: &ExecError, door: Door) -> Cow<'static, str> {
    Cow::Borrowed(match error {
        ExecError::Spawn { reason: SpawnReason::Hidden, .. } => {
            return format!(
                "Use a program of the system or below the root directory, or {}.",
                Remedy::READABLE.words(door)
            )
            .into();
        }
        ExecError::Unconfined { missing, .. } => return remedy(missing, door),
        ExecError::InvalidInput { .. } => "Correct that part of the call.",
        ExecError::Spawn { reason, program, .. } => match reason {
            SpawnReason::NotFound => not_found(program),
            SpawnReason::NotExecutable => {
                "Make the file executable, or pass it as an argument to its interpreter."
            }
            SpawnReason::UnknownFormat => {
                "Run it through its interpreter, for example `sh` with the file as argument."
            }
            SpawnReason::MissingInterpreter { .. } => {
                "Correct the first line of the script (a CR at its end counts too), or run it through an interpreter that is installed where commands can read."
            }
            SpawnReason::BadCwd => "Pass a directory that exists, or leave `cwd` out.",
            SpawnReason::TooLong => "Pass less on the command line, for example through a file.",
            SpawnReason::PermissionDenied => "Use a program this user may run.",
            SpawnReason::Resources => NO_THREAD,
            SpawnReason::Busy => "Try again when whatever writes the file has closed it.",
            SpawnReason::Hidden | SpawnReason::Other => "See the system's words for the cause.",
        },
        ExecError::GrantChanged { .. } => {
            "No call can fix this. If this is the intended directory, the host must create the tools, context or session again."
        }
        ExecError::TimedOut { .. } => TIMED_OUT,
        ExecError::Cancelled { .. } => {
            "The caller stopped this command; repeat it only if asked to."
        }
        ExecError::Lost { .. } => "Check what the command did before repeating it.",
    })
}

/// How to let the sandbox program run.
pub(super) const RUN_PROGRAMS: &str = "Let the process run programs of its own: files in memory (memfd), or a temporary directory that is not mounted noexec.";

const TIMED_OUT: &str = "The command and its children were killed. Make it do less, or do it in several calls: only the host program can give it more time.";

/// The next move after a timeout. `reason` says why the time was not enough, as far as that is known.
pub(crate) fn timed_out(reason: Option<String>) -> Cow<'static, str> {
    reason.map_or(TIMED_OUT.into(), |reason| {
        format!("The command and its children were killed. {reason}").into()
    })
}

pub(crate) const NO_THREAD: &str = "Try again when other commands have ended.";

pub(crate) const WORKING_DIRECTORY: &str =
    "Check `opts.cwd`, or leave it out to run in the root directory.";

/// Directories that a session opens to commands, and that do not exist.
pub(crate) fn absent_directories(first: &Path, others: usize) -> String {
    let others = if others == 0 { String::new() } else { format!(" (and {others} more)") };
    format!(
        "The capabilities open `{}`{others} to commands, and no such directory is there. It is open to the next command once it has been made, for example by writing a file in it.",
        first.display(),
    )
}

/// How to make a layer available.
fn remedy(missing: &Missing, door: Door) -> Cow<'static, str> {
    Cow::Borrowed(match missing.requirement {
        Requirement::BlockedNetwork => {
            return format!(
                "Allow the seccomp system call (a container profile may forbid it), or {}.",
                Remedy::NETWORK.words(door)
            )
            .into();
        }
        Requirement::NamedHosts => {
            "Use Linux 5.14 or later, and allow user namespaces and seccomp's notifications; without sandbox.network, commands have no network and run."
        }
        Requirement::StrictGit => {
            "Use Linux 5.14 or later, keep \"@git\" in sandbox.denyWrite, and allow user namespaces and seccomp's notifications; without sandbox.git, commands run, and git directories of plain files are judged after them."
        }
        Requirement::ProtectedPaths => {
            "Allow user namespaces, set sandbox.denyWrite to [], or unset sandbox.required."
        }
        Requirement::ClosedPaths | Requirement::Promise(_) => {
            "Use a kernel with Landlock, allow user namespaces, or unset sandbox.required."
        }
        Requirement::Program => RUN_PROGRAMS,
        Requirement::Start => {
            "See what the system or its container forbids: `npx toolwright doctor` tells what holds."
        }
    })
}

/// Which layer is missing, what needs it and why it is missing.
#[must_use]
pub fn missing(missing: &Missing) -> String {
    let Missing { layer, requirement, reason } = missing;
    let purpose = match requirement {
        Requirement::BlockedNetwork => "blocking the network",
        Requirement::NamedHosts => "sandbox.network",
        Requirement::StrictGit => "sandbox.git",
        Requirement::ProtectedPaths => "sandbox.denyWrite",
        Requirement::ClosedPaths => "closing credential stores and sandbox.denyRead",
        Requirement::Promise(promise) => promise,
        Requirement::Program | Requirement::Start => "confining commands",
    };
    format!("{layer} is missing, which {purpose} needs: {reason}")
}

/// The next move after a missing program, guessed from its name.
fn not_found(name: &str) -> &'static str {
    if name == "apply_patch" {
        return APPLY_PATCH;
    }
    if matches!(name, "sudo" | "doas") {
        return "Commands get no more rights here than they have: make the first of args the cmd, and leave this out.";
    }
    if is_assignment(name) {
        return "This sets a variable, which no program does: use `env` as cmd, with this as the first of args and the program behind it.";
    }
    if matches!(name, "read_file" | "view_file" | "open_file") {
        return "This is no program: if you have a tool of that name, or `read`, call it as a tool.";
    }
    if matches!(name, "write_file" | "create_file") {
        return "This is no program: if you have a tool of that name, or `write`, call it as a tool.";
    }
    if is_tool(name) || matches!(name, "read" | "write") {
        return "This is no program: if you have a tool of that name, call it as a tool.";
    }
    if BUILTINS.contains(&name) {
        return "This is a builtin of the shell: use `sh` with args [\"-c\", \"…\"]. Nothing carries over to the next call.";
    }
    if name.contains(|char: char| char.is_whitespace() || "|&;<>()$`*?\"'".contains(char)) {
        return "`cmd` is one program without arguments: put arguments into args; shell syntax needs `sh` with args [\"-c\", \"…\"].";
    }
    if name.contains('/') {
        return "Check the path, which begins at the working directory.";
    }
    "Check the spelling, or use a program that is installed: `sh` with args [\"-c\", \"command -v NAME\"] tells."
}

const BUILTINS: [&str; 14] = [
    "alias", "cd", "exit", "export", "set", "shopt", "source", "type", "ulimit", "umask", "unset",
    "pushd", "popd", "command",
];
