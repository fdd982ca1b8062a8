//! A process that runs beyond the call that started it: a server, a shell, a program that asks.
//!
//! It is a command of a worker that is not given back until the process has ended. So it runs behind the
//! same layers as every command, everything that it starts dies with it, and all of it dies with the
//! host. One thread follows all processes of the host, and sleeps while nothing happens.
//!
//! ```
//! use std::{path::Path, time::{Duration, Instant}};
//! use toolwright_exec::process::{Process, ProcessRequest, Stdio};
//! use toolwright_exec::{ExecRequest, Exit, Sandbox, Stream};
//! use toolwright_sandbox::plan::Plan;
//!
//! # #[cfg(target_os = "linux")] {
//! let root = std::env::temp_dir().canonicalize()?;
//! let plan = Plan { root: root.clone(), ..Plan::default() };
//! let (below, on_open_files) = (Path::new(""), |_: &str| ());
//! let sandbox = Sandbox { plan: &plan, below, required: false, isolated: false, on_open_files };
//! let exec = ExecRequest { cwd: &root, sandbox: Some(sandbox), ..ExecRequest::new("cat", &[]) };
//! let stdio = Stdio::Pipes { has_input: true };
//! let process = Process::start(ProcessRequest { stdio, ..ProcessRequest::new(exec) }, || ())?;
//! process.write(b"hello\n")?;
//! process.close_input();
//! let started = Instant::now();
//! while process.end().is_none() && started.elapsed() < Duration::from_secs(10) {
//!     std::thread::sleep(Duration::from_millis(1));
//! }
//! assert_eq!(process.read(Stream::Stdout, 0, 100).bytes, b"hello\n");
//! assert_eq!(process.end().and_then(|end| end.exit), Some(Exit::Code(0)));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::time::Duration;

pub use toolwright_sandbox::background::{
    CallKind, Facts, InputState, RefusedCall, TerminalSize, Usage, WatchedFacts,
};

use crate::connections::Connection;
use crate::exit::Exit;
use crate::git_reports::GitReport;
use crate::request::ExecRequest;

#[cfg(target_os = "linux")]
mod background;
#[cfg(target_os = "linux")]
mod handle;
#[cfg(target_os = "linux")]
mod input;
mod log;
#[cfg(target_os = "linux")]
mod reactor;
#[cfg(target_os = "linux")]
mod relay;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod tunnel;
#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(target_os = "linux")]
mod watch;

#[cfg(target_os = "linux")]
pub use handle::Process;
pub use log::{LogLimits, Piece, unnamed_file};
#[cfg(target_os = "linux")]
pub use relay::Preview;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Preview, Process, Watching};
#[cfg(target_os = "linux")]
pub use watch::Watching;

/// A process to start.
#[derive(Debug)]
pub struct ProcessRequest<'a> {
    /// The program, and how it is confined: without a sandbox it is not started. The timeout and the limit
    /// of output do not apply; `cancel` ends the start, and not the process.
    pub exec: ExecRequest<'a>,
    /// What it reads from and writes to.
    pub stdio: Stdio,
    /// What is kept of its stdout, or of all its output if that is one stream.
    pub stdout: LogLimits,
    /// What is kept of its stderr.
    pub stderr: LogLimits,
}

impl<'a> ProcessRequest<'a> {
    /// A process without input, of whose output the first and the last 64 KiB are kept.
    #[must_use]
    pub fn new(exec: ExecRequest<'a>) -> Self {
        let limits =
            || LogLimits { head_bytes: 64 << 10, tail_bytes: 64 << 10, ..LogLimits::default() };
        let stdio = Stdio::Pipes { has_input: false };
        Self { exec, stdio, stdout: limits(), stderr: limits() }
    }
}

/// What a process reads from and writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdio {
    /// Pipes. Whether stderr has one of its own is in [`ExecRequest::streams`].
    Pipes {
        /// Without one, stdin is empty.
        has_input: bool,
    },
    /// A terminal of this size, through which all input and output goes.
    Terminal(TerminalSize),
}

impl Stdio {
    /// By the name of what is read: `terminal`, `pipe`, or nothing. A terminal has 80 columns and 24 rows
    /// unless the host says otherwise.
    #[must_use]
    pub fn named(input: &str, columns: Option<u16>, rows: Option<u16>) -> Self {
        match input {
            "terminal" => {
                let (columns, rows) = (columns.unwrap_or(80), rows.unwrap_or(24));
                Self::Terminal(TerminalSize { columns, rows })
            }
            input => Self::Pipes { has_input: input == "pipe" },
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEnd {
    /// The end of the program that was started; the rest was killed. `None`: something killed the
    /// worker, and with it the process.
    pub exit: Option<Exit>,
    /// How many processes that it had left running were killed.
    pub left_running: u32,
    /// What all of its processes used, but for those that were not waited for.
    pub usage: Usage,
    /// From its start on.
    pub duration: Duration,
    /// What it has changed of git's configuration in vain.
    pub git: Vec<GitReport>,
    /// The hosts that it asked for.
    pub connections: Vec<Connection>,
}

/// How far the input has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputProgress {
    /// How many bytes the system has taken from the host.
    pub written: u64,
    /// Whether it takes more.
    pub is_open: bool,
}

/// Why input was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The process was started without input.
    #[error("the process has no input")]
    None,
    /// The input was closed, by the host or by the process, or the process has ended.
    #[error("the input of the process is closed")]
    Closed,
}
