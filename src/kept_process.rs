//! Processes that run beyond the call that started them.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]
#![expect(
    clippy::option_option,
    reason = "a wait that is over, and a process that has ended, are two answers"
)]

mod commands;
mod values;

use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::{Buffer, Function, PromiseRaw, Uint8Array, spawn};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, Result};
use napi_derive::napi;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use toolwright_core::command::environment;
use toolwright_core::command::process::{self, BackgroundOptions};
use toolwright_core::command::program::Program;
use toolwright_core::command::shell::CommandLine;
use toolwright_core::failure::Unfinished;
use toolwright_exec::process::{InputState, Piece, Preview, Process, TerminalSize, WatchedFacts};
use toolwright_exec::{Stream, signal_number};

use self::values::{FilledPiece, KeepOptions, KeptProcessEnd, OutputPiece, float};
use crate::bytes::Filling;
use crate::cancel::CancelHandle;
use crate::command::{Command, CommandSettings};
use crate::contract::{ContractBashRequest, OpenedTarget};
use crate::job::{self, Promised};
use crate::outcome::Outcome;
use crate::{kept_processes, options, running_commands};

pub(crate) struct Shared {
    pub(crate) process: Process,
    changed: Arc<Notify>,
}

/// What waits for a process listen to, and what wakes them.
fn notifier() -> (Arc<Notify>, impl Fn() + Send + Sync + 'static) {
    let changed = Arc::new(Notify::new());
    let waiters = Arc::clone(&changed);
    (changed, move || waiters.notify_waiters())
}

/// A process that is kept. It is killed when this is collected, and when its environment ends.
#[napi]
pub struct KeptProcess(Arc<Shared>);

/// Starts a program as a process that is kept.
#[napi(catch_unwind, ts_return_type = "Promise<KeptProcess | Unfinished>")]
pub fn start_process(
    env: &Env,
    settings: &CommandSettings,
    command: Command,
    keep: KeepOptions,
    cancel: &CancelHandle,
) -> Result<Promised<KeptProcess>> {
    let running = running_commands::register(env, cancel.for_command())?;
    let place = kept_processes::register(env)?;
    let Command { cmd, args, cwd, host_env, extra_env } = command;
    let host = environment::of_host(host_env, extra_env);
    let (settings, program) = (settings.shared(), Program { cmd, args, cwd, patches: None });
    let keeping = BackgroundOptions::from(keep);
    Ok(job::command(move || {
        let (changed, tell) = notifier();
        let cancel = running.cancel();
        let started = process::start_program(&settings, &program, &keeping, &host, cancel, tell);
        Outcome::from(started.map(|process| place.fill(Shared { process, changed })))
    }))
}

/// Starts a command line in a directory that was opened as `workdir`, as a process that is kept. Neither the
/// timeout of the request nor what it says of output applies.
#[napi(catch_unwind, ts_return_type = "Promise<KeptProcess | Unfinished>")]
pub fn contract_start_process(
    env: &Env,
    workdir: &OpenedTarget,
    mut request: ContractBashRequest,
    keep: KeepOptions,
    cancel: &CancelHandle,
) -> Result<Promised<KeptProcess>> {
    let running = running_commands::register(env, cancel.for_command())?;
    let place = kept_processes::register(env)?;
    let host = environment::of_host(request.host_env.take(), request.extra_env.take());
    let (command, workdir) = (CommandLine::from(request), workdir.target());
    let keeping = BackgroundOptions::from(keep);
    Ok(job::command(move || {
        let (changed, tell) = notifier();
        let cancel = running.cancel();
        let started = workdir.map_err(Unfinished::from).and_then(|workdir| {
            process::start_line(&workdir, &command, &keeping, &host, cancel, tell)
        });
        Outcome::from(started.map(|process| place.fill(Shared { process, changed })))
    }))
}

/// A part of the output, if there is one or the wait is over.
fn read_now(
    process: &Process,
    stream: Stream,
    from: u64,
    max: usize,
    is_over: bool,
) -> Option<Piece> {
    let piece = process.read(stream, from, max);
    let is_there = piece.total > piece.at || piece.is_ended;
    (is_over || is_there).then_some(piece)
}

impl KeptProcess {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// Waits until `look` finds something, the time is over or the wait was cancelled: then nothing.
    fn until<'env, T: 'static + Send + napi::bindgen_prelude::ToNapiValue>(
        &self,
        env: &'env Env,
        wait_ms: f64,
        cancel: &CancelHandle,
        mut look: impl FnMut(&Process, bool) -> Option<T> + Send + 'static,
    ) -> Result<PromiseRaw<'env, Option<T>>> {
        let (shared, cancelled) = (Arc::clone(&self.0), cancel.flag());
        let wait = (wait_ms != f64::INFINITY).then(|| options::milliseconds(wait_ms));
        env.spawn_future(async move {
            let deadline = wait.map(|wait| Instant::now() + wait);
            loop {
                let changed = shared.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                let is_over = cancelled.load(std::sync::atomic::Ordering::Relaxed)
                    || deadline.is_some_and(|deadline| deadline <= Instant::now());
                let found = look(&shared.process, is_over);
                if found.is_some() || is_over {
                    return Ok(found);
                }
                match deadline {
                    None => changed.await,
                    Some(deadline) => drop(timeout_at(deadline, changed).await),
                }
            }
        })
    }
}

#[napi]
impl KeptProcess {
    /// Output from `from` on, at most `max_bytes`. Waits for some for at most `wait_ms`.
    #[napi(catch_unwind, ts_return_type = "Promise<OutputPiece>")]
    pub fn read<'env>(
        &self,
        env: &'env Env,
        stderr: bool,
        from: f64,
        max_bytes: f64,
        wait_ms: f64,
        cancel: &CancelHandle,
    ) -> Result<PromiseRaw<'env, Option<OutputPiece>>> {
        let stream = if stderr { Stream::Stderr } else { Stream::Stdout };
        let (from, max) = (options::bytes(from), options::size(max_bytes));
        self.until(env, wait_ms, cancel, move |process, is_over| {
            read_now(process, stream, from, max, is_over).map(|piece| OutputPiece {
                at: float(piece.at),
                total: float(piece.total),
                is_ended: piece.is_ended,
                bytes: piece.bytes.into(),
            })
        })
    }

    /// As `read`, into `target`, as much as it holds. Nothing else may use its memory meanwhile.
    #[napi(catch_unwind, ts_return_type = "Promise<FilledPiece>")]
    pub fn read_into<'env>(
        &self,
        env: &'env Env,
        stderr: bool,
        target: Uint8Array,
        from: f64,
        wait_ms: f64,
        cancel: &CancelHandle,
    ) -> Result<PromiseRaw<'env, Option<FilledPiece>>> {
        let stream = if stderr { Stream::Stderr } else { Stream::Stdout };
        let (from, max) = (options::bytes(from), target.len());
        let mut target = Some(target);
        self.until(env, wait_ms, cancel, move |process, is_over| {
            let piece = read_now(process, stream, from, max, is_over)?;
            Some(FilledPiece {
                at: float(piece.at),
                total: float(piece.total),
                is_ended: piece.is_ended,
                length: Filling { bytes: piece.bytes, target: target.take()? },
            })
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
        self.0.process.write(&bytes).ok().map(float)
    }

    /// Waits until this much of the input has been taken. `false`: the input was closed before.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean | null>")]
    pub fn written<'env>(
        &self,
        env: &'env Env,
        end: f64,
        cancel: &CancelHandle,
    ) -> Result<PromiseRaw<'env, Option<bool>>> {
        let end = options::bytes(end);
        self.until(env, f64::INFINITY, cancel, move |process, _| {
            let input = process.input();
            if input.written >= end { Some(true) } else { (!input.is_open).then_some(false) }
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
        let number = signal_number(&name);
        number.inspect(|number| self.0.process.signal(*number)).is_some()
    }

    /// Kills the process and all it has started.
    #[napi(catch_unwind)]
    pub fn kill(&self) {
        self.0.process.kill();
    }

    /// How it ended, if it has.
    #[napi(catch_unwind)]
    pub fn end(&self) -> Option<KeptProcessEnd> {
        self.0.process.end().map(Into::into)
    }

    /// Calls back once it has ended. That does not keep the environment alive, as a wait does.
    #[napi(catch_unwind)]
    pub fn on_end(&self, callback: Function<'_, KeptProcessEnd, ()>) -> Result<()> {
        let callback = callback.build_threadsafe_function().weak::<true>().build()?;
        let (shared, changed) = (Arc::downgrade(&self.0), Arc::clone(&self.0.changed));
        spawn(async move {
            loop {
                let changed = changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                let Some(shared) = shared.upgrade() else { return };
                if let Some(end) = shared.process.end() {
                    callback.call(end.into(), ThreadsafeFunctionCallMode::NonBlocking);
                    return;
                }
                drop(shared);
                changed.await;
            }
        });
        Ok(())
    }

    /// Waits until it has ended; nothing when the time is over before.
    #[napi(catch_unwind, ts_return_type = "Promise<KeptProcessEnd | null>")]
    pub fn wait<'env>(
        &self,
        env: &'env Env,
        wait_ms: f64,
        cancel: &CancelHandle,
    ) -> Result<PromiseRaw<'env, Option<KeptProcessEnd>>> {
        self.until(env, wait_ms, cancel, |process, _| process.end().map(Into::into))
    }

    /// Waits until the process listens at `port`, or at any without one. The ports at which it listens, or
    /// nothing when the time is over or the process has ended.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<number> | null>")]
    pub fn listening<'env>(
        &self,
        env: &'env Env,
        port: Option<u16>,
        wait_ms: f64,
        cancel: &CancelHandle,
    ) -> Result<PromiseRaw<'env, Option<Option<Vec<u16>>>>> {
        let watching = self.0.process.watch(WatchedFacts { ports: true, input: false });
        self.until(env, wait_ms, cancel, move |process, _| {
            let _until_then = &watching;
            let ports = process.ports().filter(|ports| match port {
                Some(port) => ports.contains(&port),
                None => !ports.is_empty(),
            });
            if ports.is_none() && process.end().is_some() { Some(None) } else { ports.map(Some) }
        })
    }

    /// Waits until the process waits for input: `waiting`. `unknown` where the system does not say, `busy`
    /// when the time is over, and nothing when the process has ended.
    #[napi(catch_unwind, ts_return_type = "Promise<'waiting' | 'busy' | 'unknown' | null>")]
    pub fn input_state<'env>(
        &self,
        env: &'env Env,
        wait_ms: f64,
        cancel: &CancelHandle,
    ) -> Result<PromiseRaw<'env, Option<Option<&'static str>>>> {
        let watching = self.0.process.watch(WatchedFacts { ports: false, input: true });
        self.until(env, wait_ms, cancel, move |process, is_over| {
            let _until_then = &watching;
            match process.input_state() {
                _ if process.end().is_some() => Some(None),
                Some(InputState::Waiting) => Some(Some("waiting")),
                Some(InputState::Unknown) => Some(Some("unknown")),
                Some(InputState::Busy) => is_over.then_some(Some("busy")),
                // It could not be looked at in time.
                None => is_over.then_some(Some("unknown")),
            }
        })
    }

    /// Opens an address of the host's loopback interface that leads to a port of the process. Nothing: there
    /// is none to be had, or the process has ended.
    #[napi(catch_unwind)]
    pub fn preview(&self, port: u16) -> Option<KeptPreview> {
        let preview = self.0.process.preview(port).ok()?;
        Some(KeptPreview { port: preview.address().port(), preview: Some(preview) })
    }

    /// Has every wait look whether it was cancelled.
    #[napi(catch_unwind)]
    pub fn nudge(&self) {
        self.0.changed.notify_waiters();
    }
}

/// An open port of a process. It is closed when this is collected, and with the process.
#[napi]
pub struct KeptPreview {
    port: u16,
    preview: Option<Preview>,
}

#[napi]
impl KeptPreview {
    /// The port at 127.0.0.1 of the host.
    #[napi(getter, catch_unwind)]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Closes it, and its connections.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.preview = None;
    }
}

/// How long the end of an environment waits for a process to end.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(1);
