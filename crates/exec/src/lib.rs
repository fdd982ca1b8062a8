//! Runs one program with arguments, without a shell, and returns its output and how it ended.
//!
//! ```
//! use std::{path::Path, time::Duration};
//! use toolwright_exec::{Cancel, ExecRequest, Exit, run};
//!
//! let args = ["hello".to_owned()];
//! let finished = run(&ExecRequest {
//!     cwd: Path::new("/"),
//!     timeout: Duration::from_secs(60),
//!     cancel: &Cancel::new(),
//!     ..ExecRequest::new("echo", &args)
//! })?;
//! assert_eq!(finished.exit, Exit::Code(0));
//! assert_eq!(finished.output.bytes, b"hello\n");
//! # Ok::<(), toolwright_exec::ExecError>(())
//! ```
//!
//! # What it promises beyond `std::process::Command::output`
//!
//! * **The host is never forked.** This crate uses only those features of `Command` that the standard
//!   library implements with `posix_spawn`: a process group and a directory, no `pre_exec`. It looks
//!   the program up itself, because a lookup in a changed `PATH` would fall back to `fork`. Forking a
//!   process of a gigabyte blocks it for tens of milliseconds.
//! * **The end of the command is the end of the call.** A background child that still holds the pipe
//!   does not delay it. After the command has ended, the contents of the pipe are read, late writers
//!   get [`GRACE`], and `SIGKILL` ends the whole process group; the same happens on timeout and on
//!   cancellation.
//! * **The group is killed before its leader is reaped.** Until then its number cannot be given to
//!   another group, so no stranger is hit.
//! * **Output is bounded.** stdout and stderr share one pipe, in the order of arrival, or have one
//!   each. Of long output the beginning and the end are kept.
//! * **Output streams while the command runs**, with backpressure: see [`run_streaming`].
//! * **Nothing is left behind**, no zombie and no descriptor, on any path.
//!
//! # Confined commands
//!
//! A request with a [`Sandbox`] runs behind the kernel's layers. On Linux this crate carries the sandbox
//! program, starts one supervisor for each plan, and keeps idle workers, because making one takes
//! several times as long as starting a command. Supervisors end with the host, and a process that
//! exits waits until those without commands have removed their placeholders. A host that is killed
//! cannot wait; they then end on their own.
//!
//! # Limits
//!
//! Without a sandbox, a child that leaves the group with `setsid` or `setpgid` survives, except on macOS,
//! where descendants are searched for. A descriptor that the host opened without `O_CLOEXEC` is
//! inherited, because `posix_spawn` as the standard library uses it closes none. Confined commands
//! have neither gap.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod cancel;
mod capture;
mod classify;
#[cfg(target_os = "linux")]
mod command_facts;
mod confined;
mod connections;
mod credential_requests;
pub mod environment;
mod error;
mod exit;
mod git_reports;
mod leader;
mod lookup;
mod missing;
mod output_mask;
mod output_pipe;
mod patch_reports;
pub mod process;
mod report;
mod request;
#[cfg(target_os = "linux")]
pub mod root_fork;
mod run;
mod running_command;
pub mod screen;
mod sink;
mod spawn;
mod split;
#[cfg(target_os = "macos")]
mod temporary;
#[cfg(target_os = "linux")]
mod traffic;

pub use cancel::{Cancel, CancelSource, Waker};
pub use capture::Output;
pub use command_facts::CommandFacts;
pub use connections::{
    Bytes, Connection, Connections, HostAnswer, HostQuestions, HostRules, Lead, Opening, Openings,
    Refusal, Verdict,
};
pub use credential_requests::{CredentialRequests, RequestRefusal, TlsEnd};
pub use error::{ExecError, SpawnReason};
pub use exit::{Exit, signal_number};
pub use git_reports::{GitNote, GitReport, GitReports, RefusedGit};
pub use missing::{Missing, Requirement};
pub use output_mask::OutputMask;
pub use patch_reports::{NotedFile, PatchEnd, PatchRefusal, PatchReport, PatchReports};
pub use report::report;
pub use request::{ExecEnv, ExecRequest, Sandbox, Streams};
pub use run::{Finished, GRACE, run, run_streaming};
pub use sink::{Chunk, Sink, Stream};
pub use split::{Head, Overflow, Split, StoppedBy};

/// Ends the processes that wait for more commands of plans that grant something at `directory` or below
/// it, before it is removed. Commands that still run end as they would have.
pub fn release_directory(directory: &std::path::Path) {
    #[cfg(target_os = "linux")]
    confined::release_directory(directory);
    #[cfg(not(target_os = "linux"))]
    let _ = directory;
}
