//! Why a command did not run to its end. A command that exits with a code or dies of a signal of
//! its own is no error.

use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io};

use crate::capture::Output;
use crate::missing::Missing;

/// A command that was not run, or was not let run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The request holds something that cannot be passed to a program.
    #[error("Cannot run `{}`: {what} {problem}", program.escape_debug())]
    InvalidInput {
        /// The program asked for.
        program: String,
        /// Which part of the request.
        what: String,
        /// The problem.
        problem: &'static str,
    },
    /// The program could not be started.
    #[error("Cannot run `{program}` in `{}`: {reason}", cwd.display())]
    Spawn {
        /// The reason, as far as it is known.
        reason: SpawnReason,
        /// The program asked for.
        program: String,
        /// The directory it was to run in.
        cwd: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The command was not run, because it could not be confined.
    #[error("Cannot confine `{program}`: {missing}")]
    Unconfined {
        /// The program asked for.
        program: String,
        /// The missing layer.
        missing: Missing,
    },
    /// The command was not run, because a granted directory was found to be another one.
    #[error("Cannot run `{program}`: {what}")]
    GrantChanged {
        /// The program asked for.
        program: String,
        /// The changed path.
        what: String,
    },
    /// The time was up; the process group has been killed.
    #[error("`{program}` timed out after {} ms", timeout.as_millis())]
    TimedOut {
        /// The program asked for.
        program: String,
        /// The output until then.
        output: Output,
        /// stderr, if it was to come by itself.
        stderr: Option<Output>,
        /// The time it was given.
        timeout: Duration,
    },
    /// The cancel flag was set; the process group has been killed.
    #[error("`{program}` was cancelled")]
    Cancelled {
        /// The program asked for.
        program: String,
        /// The output until then.
        output: Output,
        /// stderr, if it was to come by itself.
        stderr: Option<Output>,
    },
    /// The program was started and could not be followed, most often because the host waits for
    /// every child (`waitpid(-1)`) or ignores `SIGCHLD`. The rest of the process group has been
    /// killed.
    #[error("`{program}` was started, but its end could not be observed: {source}")]
    Lost {
        /// The program asked for.
        program: String,
        /// The output until then.
        output: Output,
        /// stderr, if it was to come by itself.
        stderr: Option<Output>,
        /// The system's error.
        source: io::Error,
    },
}

/// Why a program could not be started. `posix_spawn` gives one error number for several causes, so
/// this is found out by looking, after the failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpawnReason {
    /// There is no such program.
    NotFound,
    /// The file exists and is a directory, or has no execute permission.
    NotExecutable,
    /// The file may be executed, but has no format the system knows: a script without `#!` line.
    UnknownFormat,
    /// The script names an interpreter that is not there for the command, or the binary a dynamic loader
    /// (`None`).
    MissingInterpreter {
        /// What follows `#!`, up to the first blank.
        interpreter: Option<String>,
    },
    /// The directory does not exist, is no directory, or may not be entered.
    BadCwd,
    /// Arguments and environment together are longer than the system takes.
    TooLong,
    /// The system does not let this user run it.
    PermissionDenied,
    /// Out of processes, descriptors or memory.
    Resources,
    /// The command does not see it, whether it exists or not: it would lie where the sandbox does not let
    /// commands look.
    Hidden,
    /// The file is open for writing, and still was after 100 ms.
    Busy,
    /// Anything else; see the source.
    Other,
}

impl fmt::Display for SpawnReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "there is no such program",
            Self::NotExecutable => "it is not an executable file",
            Self::UnknownFormat => "it is neither a binary for this system nor a script with `#!`",
            Self::MissingInterpreter { interpreter: Some(interpreter) } => {
                return write!(
                    f,
                    "its interpreter `{}` does not exist",
                    interpreter.escape_debug()
                );
            }
            Self::MissingInterpreter { interpreter: None } => {
                "the interpreter or dynamic loader it needs does not exist"
            }
            Self::BadCwd => "the directory does not exist or cannot be entered",
            Self::TooLong => "the arguments and the environment are too long together",
            Self::PermissionDenied => "permission denied",
            Self::Resources => "the system is out of processes, file descriptors or memory",
            Self::Hidden => "there is no such program, or it lies outside of what the sandbox lets commands reach",
            Self::Busy => "the file is still open for writing",
            Self::Other => "the system refused",
        })
    }
}
