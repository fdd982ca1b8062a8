//! Runs one program with arguments, without a shell, and hands back what it wrote and how it ended.
//!
//! What makes this more than `std::process::Command::output`:
//!
//! * **The host is never forked.** Only features of `Command` that the standard library carries out
//!   with `posix_spawn` are used (a process group, a directory, no `pre_exec`), and the program is
//!   looked up here, because a lookup in a changed `PATH` would fall back to `fork`. Forking a
//!   process of a gigabyte blocks it for tens of milliseconds.
//! * **The end of the command is the end of the call.** A background child that still holds the
//!   pipe does not delay it: after the command has ended, what is in the pipe is read, late writers
//!   get [`GRACE`], and the whole process group is killed with `SIGKILL`; likewise on timeout and
//!   on cancel.
//! * **The group is killed before its leader is reaped.** Until then its number cannot be given to
//!   anybody else, so no stranger is ever hit.
//! * **Output is bounded.** stdout and stderr share one pipe, in arrival order, or have one each;
//!   of a flood the beginning and the end are kept.
//! * **Output can be had while the command runs**, with backpressure: see [`run_streaming`].
//! * **Nothing is left behind**: no zombie, no descriptor, on any path.
//!
//! Not covered here: a child that leaves the group with `setsid` or `setpgid` survives, unless it is
//! searched for by descent, as on macOS; and a descriptor that the host opened without `O_CLOEXEC` is
//! inherited (none of this crate's is); `posix_spawn` as the standard library uses it closes none. Both
//! take the helper that confines a command, which wraps this crate's launch.
//!
//! ```no_run
//! use std::{path::Path, time::Duration};
//! use toolwright_exec::{Cancel, ExecRequest, run};
//!
//! let args = ["check".to_owned()];
//! let finished = run(&ExecRequest {
//!     cwd: Path::new("/srv/project"),
//!     timeout: Duration::from_secs(60),
//!     cancel: &Cancel::new(),
//!     ..ExecRequest::new("cargo", &args)
//! })?;
//! # Ok::<(), toolwright_exec::ExecError>(())
//! ```

mod cancel;
mod capture;
mod classify;
#[cfg(target_os = "linux")]
mod confined;
pub mod environment;
mod error;
mod exit;
mod leader;
mod lookup;
mod missing;
mod notice;
mod output_pipe;
mod report;
mod request;
mod run;
mod running_command;
mod sink;
mod spawn;
mod split;
#[cfg(target_os = "macos")]
mod temporary;

pub use cancel::{Cancel, CancelSource, Waker};
pub use capture::Output;
pub use error::{ExecError, SpawnReason};
pub use exit::Exit;
pub use missing::{Missing, Requirement};
pub use notice::Notice;
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
