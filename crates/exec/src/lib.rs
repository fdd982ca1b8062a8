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
//! * **Output is bounded.** stdout and stderr share one pipe, in arrival order; of a flood the
//!   beginning and the end are kept.
//! * **Nothing is left behind**: no zombie, no descriptor, on any path.
//!
//! Not covered here: a child that leaves the group with `setsid` or `setpgid` survives. That takes
//! confinement by the kernel, which wraps this crate's launch.
//!
//! ```no_run
//! use std::{path::Path, sync::atomic::AtomicBool, time::Duration};
//! use toolwright_exec::{ExecEnv, ExecRequest, run};
//!
//! let finished = run(&ExecRequest {
//!     cmd: "cargo",
//!     args: &["check".to_owned()],
//!     cwd: Path::new("/srv/project"),
//!     env: ExecEnv::Inherit,
//!     timeout: Duration::from_secs(60),
//!     max_output_bytes: 200_000,
//!     cancel: &AtomicBool::new(false),
//! })?;
//! # Ok::<(), toolwright_exec::ExecError>(())
//! ```

mod capture;
mod classify;
mod error;
mod exit;
mod leader;
mod lookup;
mod request;
mod run;
mod spawn;

pub use capture::Output;
pub use error::{ExecError, SpawnReason};
pub use exit::Exit;
pub use request::{ExecEnv, ExecRequest};
pub use run::{Finished, GRACE, run};
