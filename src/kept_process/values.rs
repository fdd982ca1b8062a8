//! What goes in and comes out: options, parts of the output, the end.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use toolwright_core::command::process::{self, BackgroundOptions};
use toolwright_exec::Exit;
use toolwright_exec::process::{ProcessEnd, Stdio, TerminalSize};

use crate::bytes::Filling;
use crate::options;

/// How a process is kept.
#[napi(object)]
pub struct KeepOptions {
    /// `empty`, `pipe` or `terminal`.
    #[napi(ts_type = "'empty' | 'pipe' | 'terminal'")]
    pub input: String,
    /// The width of the terminal, in characters.
    pub columns: Option<u16>,
    /// Its height.
    pub rows: Option<u16>,
    /// Whether stderr is a stream of its own; not with a terminal.
    pub stderr_apart: bool,
    /// How much of the beginning of each stream stays in memory.
    pub head_bytes: f64,
    /// How much of the end of each stream stays in memory.
    pub tail_bytes: f64,
    /// Whether the process waits when that much has not been read.
    pub holds: bool,
    /// How much of each stream goes to a file without a name.
    pub file_bytes: f64,
    /// Where that file is.
    pub file_directory: Option<String>,
}

impl From<KeepOptions> for BackgroundOptions {
    fn from(options: KeepOptions) -> Self {
        let size = TerminalSize {
            columns: options.columns.unwrap_or(80),
            rows: options.rows.unwrap_or(24),
        };
        let stdio = match &*options.input {
            "terminal" => Stdio::Terminal(size),
            input => Stdio::Pipes { has_input: input == "pipe" },
        };
        Self {
            stdio,
            is_stderr_apart: options.stderr_apart && !matches!(stdio, Stdio::Terminal(_)),
            head_bytes: options::size(options.head_bytes),
            tail_bytes: options::size(options.tail_bytes),
            holds: options.holds,
            file_bytes: options::bytes(options.file_bytes),
            file_directory: options.file_directory.map(Into::into),
        }
    }
}

/// A part of the output.
#[napi(object, object_from_js = false)]
pub struct OutputPiece {
    /// The bytes; none where nothing came in time.
    pub bytes: Buffer,
    /// Where they begin. Later than asked for where what comes before has been forgotten.
    pub at: f64,
    /// How much has been written so far.
    pub total: f64,
    /// No more will come.
    pub is_ended: bool,
}

/// A part of the output in memory of the caller.
#[napi(object, object_from_js = false)]
pub struct FilledPiece {
    /// How many bytes it has; none where nothing came in time.
    #[napi(ts_type = "number")]
    pub length: Filling,
    /// Where they begin. Later than asked for where what comes before has been forgotten.
    pub at: f64,
    /// How much has been written so far.
    pub total: f64,
    /// No more will come.
    pub is_ended: bool,
}

/// How a process ended.
#[napi(object, object_from_js = false)]
pub struct KeptProcessEnd {
    /// None when a signal ended it, or it was lost.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// How many processes that it had left running were killed.
    pub left_running: u32,
    /// What of its changes to git's configuration stayed in the sandbox, for a model.
    pub git_notes: Vec<String>,
    /// Processor time in its own code, and in that of its processes.
    pub user_ms: f64,
    /// Processor time in the kernel.
    pub system_ms: f64,
    /// The most memory that one of its processes had in use.
    pub peak_bytes: f64,
    /// From its start on.
    pub duration_ms: f64,
}

impl From<ProcessEnd> for KeptProcessEnd {
    fn from(end: ProcessEnd) -> Self {
        let git_notes = process::git_notes(&end);
        let (exit_code, signal) = match end.exit {
            Some(Exit::Code(code)) => (Some(code), None),
            Some(Exit::Signal { name, .. }) => (None, Some(name.into_owned())),
            None => (None, None),
        };
        Self {
            exit_code,
            signal,
            left_running: end.left_running,
            git_notes,
            user_ms: float(end.usage.user_us) / 1000.0,
            system_ms: float(end.usage.system_us) / 1000.0,
            peak_bytes: float(end.usage.peak_bytes),
            duration_ms: end.duration.as_secs_f64() * 1000.0,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no count here comes near 2^53")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}
