//! `bash` with its output while it runs.
//!
//! The reader pulls: text gathers here until it asks for it, and when enough has gathered the command
//! has to wait. So a slow reader slows the command, and never fills the memory.

use std::sync::{Arc, Mutex, Weak};

use napi::bindgen_prelude::PromiseRaw;
use napi::{Env, Result};
use napi_derive::napi;
use tokio::sync::Notify;
use toolwright_core::failure::commands::no_thread;
use toolwright_core::thread_pool::Completion;
use toolwright_exec::{Cancel, Chunk, Sink, Stream};

use crate::cancel::CancelHandle;
use crate::command::{BashRequest, Command, CommandSettings, FinishedCommand};
use crate::job::{self, lock};
use crate::outcome::Outcome;
use crate::patch_reports::PatchReports;
use crate::running_commands;

/// How much text gathers before the command has to wait.
const GATHERED_BYTES: usize = 256 << 10;

/// A running command.
#[napi]
pub struct BashStream {
    gathered: Arc<Gathered>,
    /// The command alone owns it: it has a descriptor, and this object lives until it is collected.
    cancel: Weak<Cancel>,
}

/// What has happened since the last event.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct BashEvent {
    /// New text, stdout and stderr in the order of arrival.
    pub text: String,
    /// True once there is more output than fits: no more text comes, and the outcome has the
    /// beginning and the end.
    pub cut: bool,
    /// How the command ended; the last event has it.
    #[napi(ts_type = "FinishedCommand | Unfinished")]
    pub outcome: Option<Outcome<FinishedCommand>>,
}

#[derive(Default)]
struct Gathered {
    event: Mutex<BashEvent>,
    changed: Notify,
}

/// The end of the stream that the command writes to.
struct Writer<'a>(&'a Gathered);

impl Sink for Writer<'_> {
    fn ready(&mut self) -> bool {
        lock(&self.0.event).text.len() < GATHERED_BYTES
    }

    fn push(&mut self, chunk: Chunk<'_>) {
        lock(&self.0.event).text.push_str(&String::from_utf8_lossy(chunk.bytes));
        self.0.changed.notify_one();
    }

    fn cut(&mut self, _stream: Stream) {
        lock(&self.0.event).cut = true;
        self.0.changed.notify_one();
    }
}

/// Starts a command in a directory below the root.
#[napi(catch_unwind)]
pub fn bash_stream(
    env: &Env,
    settings: &CommandSettings,
    command: Command,
    cancel: &CancelHandle,
    patches: Option<&PatchReports>,
) -> Result<BashStream> {
    let cancel = cancel.for_command();
    let running = running_commands::register(env, Arc::clone(&cancel))?;
    let outcome = Some(Outcome::from(Err(no_thread(&command.cmd))));
    let request = BashRequest::new(settings, command, patches);
    let gathered = Arc::new(Gathered::default());
    let cancel = Arc::downgrade(&cancel);
    let stream = BashStream { gathered: Arc::clone(&gathered), cancel };
    let mut guard = CompletionGuard { gathered, outcome };
    job::detached_command(move || {
        let mut writer = Writer(&guard.gathered);
        let outcome = job::caught(|| request.run(running.cancel(), Some(&mut writer)));
        guard.outcome = Some(outcome);
        // `stop_commands` does not wait for this command any more.
        drop(running);
        Completion::new(move || drop(guard))
    });
    Ok(stream)
}

/// Delivers the outcome of the command to the reader when it is dropped, whatever happens to the work.
struct CompletionGuard {
    gathered: Arc<Gathered>,
    /// Until the command has run: that there was no thread to run it.
    outcome: Option<Outcome<FinishedCommand>>,
}

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        lock(&self.gathered.event).outcome = self.outcome.take();
        self.gathered.changed.notify_one();
    }
}

#[napi]
impl BashStream {
    /// Waits for the next event. The event with the outcome is the last: another call never settles.
    #[napi(catch_unwind, ts_return_type = "Promise<BashEvent>")]
    pub fn next<'env>(&self, env: &'env Env) -> Result<PromiseRaw<'env, BashEvent>> {
        let (gathered, cancel) = (Arc::clone(&self.gathered), Weak::clone(&self.cancel));
        env.spawn_future(async move {
            loop {
                let changed = gathered.changed.notified();
                let event = {
                    let mut event = lock(&gathered.event);
                    let is_new = !event.text.is_empty() || event.cut || event.outcome.is_some();
                    is_new.then(|| std::mem::take(&mut *event))
                };
                if let Some(event) = event {
                    if let Some(command) = cancel.upgrade() {
                        command.wake(); // there is room again
                    }
                    return Ok(event);
                }
                changed.await;
            }
        })
    }
}

/// No reader waits for the command of a stream that was collected.
impl Drop for BashStream {
    fn drop(&mut self) {
        if let Some(command) = self.cancel.upgrade() {
            command.cancel();
        }
    }
}
