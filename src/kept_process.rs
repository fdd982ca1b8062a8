//! Processes that run beyond the call that started them.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::sync::Arc;

use napi::bindgen_prelude::{Buffer, Function, Uint8Array, spawn};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::command::kept::{KeptProcess as Kept, Wait};
use toolwright_core::command::output::Noted;
use toolwright_core::command::process::{self, BackgroundOptions};
use toolwright_exec::process::{InputState, Piece, Preview, ProcessEnd, Stdio, TerminalSize};
use toolwright_exec::{Exit, Stream};

use crate::bytes::Filling;
use crate::call::{self, Awaited, CancelHandle, Promised};
use crate::command::{Command, CommandSettings};
use crate::command_notes::{HostConnection, SandboxDenial};
use crate::contract::{ContractBashRequest, OpenedTarget};
use crate::cross::{Cross, convert, cross, float, words};
use crate::masks::MaskedOutput;
use crate::running;

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

impl KeepOptions {
    /// For a process that ends with this environment.
    pub(crate) fn background(self, env: &Env) -> Result<BackgroundOptions> {
        Ok(BackgroundOptions {
            place: running::place(env)?,
            stdio: Stdio::named(&self.input, self.columns, self.rows),
            is_stderr_apart: self.stderr_apart,
            head_bytes: self.head_bytes.cross(),
            tail_bytes: self.tail_bytes.cross(),
            holds: self.holds,
            file_bytes: self.file_bytes.cross(),
            file_directory: self.file_directory.cross(),
        })
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

cross! { Piece => OutputPiece { bytes, at, total, is_ended } }

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

impl Cross<FilledPiece> for (Piece, Uint8Array) {
    fn cross(self) -> FilledPiece {
        let (Piece { bytes, at, total, is_ended }, target) = self;
        let (at, total) = (at.cross(), total.cross());
        FilledPiece { length: Filling { bytes, target }, at, total, is_ended }
    }
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
    /// What the sandbox kept from it, for a model: changes to git directories, and hosts.
    pub notes: Vec<String>,
    /// The hosts that it asked for.
    pub connections: Vec<HostConnection>,
    /// What the sandbox refused.
    pub denials: Vec<SandboxDenial>,
    /// Processor time in its own code, and in that of its processes.
    pub user_ms: f64,
    /// Processor time in the kernel.
    pub system_ms: f64,
    /// The most memory that one of its processes had in use.
    pub peak_bytes: f64,
    /// From its start on.
    pub duration_ms: f64,
}

impl Cross<KeptProcessEnd> for ProcessEnd {
    fn cross(self) -> KeptProcessEnd {
        let Noted { notes, connections, denials, .. } = process::noted(&self);
        let Self { exit, left_running, usage, duration, .. } = self;
        KeptProcessEnd {
            exit_code: exit.as_ref().and_then(Exit::code),
            signal: exit.and_then(|exit| exit.signal().1),
            left_running,
            notes,
            connections: connections.cross(),
            denials: denials.cross(),
            user_ms: float(usage.user_us) / 1000.0,
            system_ms: float(usage.system_us) / 1000.0,
            peak_bytes: usage.peak_bytes.cross(),
            duration_ms: duration.as_secs_f64() * 1000.0,
        }
    }
}

words!(InputState);

/// A process that is kept. It is killed when this is collected, and when its environment ends.
#[napi]
pub struct KeptProcess(Arc<Kept>);

convert! { Arc<Kept> => KeptProcess: |process| KeptProcess(process); }

/// Starts a program as a process that is kept.
#[napi(catch_unwind, ts_return_type = "Promise<KeptProcess | Unfinished>")]
pub fn start_process(
    env: &Env,
    settings: &CommandSettings,
    command: Command,
    keep: KeepOptions,
    cancel: &CancelHandle,
) -> Result<Promised<KeptProcess>> {
    let (settings, options) = (settings.shared(), keep.background(env)?);
    let (program, host) = command.program(None);
    call::command(env, cancel, move |cancel| {
        process::start_program(&settings, &program, &options, &host, cancel)
    })
}

/// Starts a command line in a directory that was opened as `workdir`, as a process that is kept. Neither the
/// timeout of the request nor what it says of output applies.
#[napi(catch_unwind, ts_return_type = "Promise<KeptProcess | Unfinished>")]
pub fn contract_start_process(
    env: &Env,
    workdir: &OpenedTarget,
    request: ContractBashRequest,
    keep: KeepOptions,
    cancel: &CancelHandle,
) -> Result<Promised<KeptProcess>> {
    let (workdir, options) = (workdir.target(), keep.background(env)?);
    let (line, host) = request.line(None);
    call::command(env, cancel, move |cancel| {
        process::start_line(&*workdir?, &line, &options, &host, cancel)
    })
}

impl KeptProcess {
    /// What a wait finds; nothing when the time is over before, or the wait was cancelled.
    fn until<T: Send, V: Cross<T>, F: Future<Output = Option<V>> + Send + 'static>(
        &self,
        wait_ms: f64,
        cancel: &CancelHandle,
        wait: impl FnOnce(Arc<Kept>, Wait) -> F,
    ) -> Awaited<Option<T>> {
        let limits = Wait { limit: wait_ms.cross(), cancelled: cancel.flag() };
        call::awaited(wait(Arc::clone(&self.0), limits))
    }
}

#[napi]
impl KeptProcess {
    /// Output from `from` on, at most `max_bytes`. Waits for some for at most `wait_ms`.
    #[napi(catch_unwind, ts_return_type = "Promise<OutputPiece>")]
    pub fn read(
        &self,
        stderr: bool,
        from: f64,
        max_bytes: f64,
        wait_ms: f64,
        cancel: &CancelHandle,
    ) -> Awaited<Option<OutputPiece>> {
        let stream = if stderr { Stream::Stderr } else { Stream::Stdout };
        let (from, max) = (from.cross(), max_bytes.cross());
        self.until(wait_ms, cancel, move |process, wait| async move {
            process.read(stream, from, max, wait).await
        })
    }

    /// As `read`, into `target`, as much as it holds. Nothing else may use its memory meanwhile.
    #[napi(catch_unwind, ts_return_type = "Promise<FilledPiece>")]
    pub fn read_into(
        &self,
        stderr: bool,
        target: Uint8Array,
        from: f64,
        wait_ms: f64,
        cancel: &CancelHandle,
    ) -> Awaited<Option<FilledPiece>> {
        let stream = if stderr { Stream::Stderr } else { Stream::Stdout };
        let (from, max) = (from.cross(), target.len());
        self.until(wait_ms, cancel, move |process, wait| async move {
            process.read(stream, from, max, wait).await.map(|piece| (piece, target))
        })
    }

    /// Closes the files in which its output is; what memory has can still be read.
    #[napi(catch_unwind)]
    pub fn close_files(&self) {
        self.0.process.close_files();
    }

    /// Gives bytes to the process; the result is how much input it will then have been given. Nothing:
    /// the input is closed, or there is none.
    #[napi(catch_unwind)]
    pub fn write(&self, bytes: Buffer) -> Option<f64> {
        self.0.process.write(&bytes).ok().cross()
    }

    /// Waits until this much of the input has been taken. `false`: the input was closed before.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean | null>")]
    pub fn written(&self, end: f64, cancel: &CancelHandle) -> Awaited<Option<bool>> {
        let end = end.cross();
        self.until(f64::INFINITY, cancel, move |process, wait| async move {
            process.written(end, wait).await
        })
    }

    /// Closes the input after what was given.
    #[napi(catch_unwind)]
    pub fn close_input(&self) {
        self.0.process.close_input();
    }

    /// Gives the terminal another size. `false`: there is none.
    #[napi(catch_unwind)]
    pub fn resize(&self, columns: u16, rows: u16) -> bool {
        self.0.process.resize(TerminalSize { columns, rows }).is_ok()
    }

    /// Sends a signal to the process group. `false`: no signal has this name.
    #[napi(catch_unwind)]
    pub fn signal(&self, name: String) -> bool {
        self.0.signal(&name)
    }

    /// Kills the process and all it has started.
    #[napi(catch_unwind)]
    pub fn kill(&self) {
        self.0.process.kill();
    }

    /// How it ended, if it has.
    #[napi(catch_unwind)]
    pub fn end(&self) -> Option<KeptProcessEnd> {
        self.0.process.end().cross()
    }

    /// Calls back once it has ended. That does not keep the environment alive, as a wait does.
    #[napi(catch_unwind)]
    pub fn on_end(&self, callback: Function<'_, KeptProcessEnd, ()>) -> Result<()> {
        let callback = callback.build_threadsafe_function().weak::<true>().build()?;
        let end = self.0.end_of();
        spawn(async move {
            if let Some(end) = end.await {
                callback.call(end.cross(), ThreadsafeFunctionCallMode::NonBlocking);
            }
        });
        Ok(())
    }

    /// Waits until it has ended; nothing when the time is over before.
    #[napi(catch_unwind, ts_return_type = "Promise<KeptProcessEnd | null>")]
    pub fn wait(&self, wait_ms: f64, cancel: &CancelHandle) -> Awaited<Option<KeptProcessEnd>> {
        self.until(wait_ms, cancel, |process, wait| async move { process.ended(wait).await })
    }

    /// Waits until the process listens at `port`, or at any port if none is given. The ports at which it listens, or
    /// nothing when the time is over or the process has ended.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<number> | null>")]
    pub fn listening(
        &self,
        port: Option<u16>,
        wait_ms: f64,
        cancel: &CancelHandle,
    ) -> Awaited<Option<Vec<u16>>> {
        self.until(wait_ms, cancel, move |process, wait| async move {
            process.listening(port, wait).await
        })
    }

    /// Waits until the process waits for input: `waiting`. `unknown` where the system does not say, `busy`
    /// when the time is over, and nothing when the process has ended.
    #[napi(catch_unwind, ts_return_type = "Promise<'waiting' | 'busy' | 'unknown' | null>")]
    pub fn input_state(
        &self,
        wait_ms: f64,
        cancel: &CancelHandle,
    ) -> Awaited<Option<&'static str>> {
        self.until(wait_ms, cancel, |process, wait| async move { process.input_state(wait).await })
    }

    /// Opens an address of the host's loopback interface that leads to a port of the process. Nothing: there
    /// is none to be had, or the process has ended.
    #[napi(catch_unwind)]
    pub fn preview(&self, port: u16) -> Option<KeptPreview> {
        let preview = self.0.process.preview(port).ok()?;
        Some(KeptPreview { port: preview.address().port(), preview: Some(preview) })
    }

    /// What was masked of its output since the last look.
    #[napi(catch_unwind)]
    pub fn take_masked(&self) -> MaskedOutput {
        self.0.take_masked().cross()
    }

    /// Has every wait look whether it was cancelled.
    #[napi(catch_unwind)]
    pub fn recheck(&self) {
        self.0.recheck();
    }
}

/// An open port of a process. It is closed when this is collected, and with the process.
#[napi]
pub struct KeptPreview {
    /// The port at 127.0.0.1 of the host.
    #[napi(readonly)]
    pub port: u16,
    preview: Option<Preview>,
}

#[napi]
impl KeptPreview {
    /// Closes it, and its connections.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.preview = None;
    }
}
