//! What each JavaScript environment has running, which its end stops.

use std::cell::RefCell;
use std::sync::Arc;

use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::command::running::{Place, Running, RunningCommand};
use toolwright_exec::Cancel;

thread_local! {
    /// Each environment has a thread of its own.
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// Registers a command, which the end of the environment cancels while the result lives.
pub(crate) fn command(env: &Env, cancel: Arc<Cancel>) -> Result<Arc<RunningCommand>> {
    with_running(env, |running| running.command(cancel))
}

/// A place for a process, which the end of the environment kills.
pub(crate) fn place(env: &Env) -> Result<Place> {
    with_running(env, Running::place)
}

fn with_running<T>(env: &Env, register: impl FnOnce(&mut Running) -> T) -> Result<T> {
    RUNNING.with_borrow_mut(|running| {
        if running.is_none() {
            let _ = env.add_env_cleanup_hook((), |()| stop_commands())?;
        }
        Ok(register(running.get_or_insert_default()))
    })
}

/// Stops every command and process of this environment and waits until they have ended, for at most a second.
/// For the end of a process.
#[napi(catch_unwind)]
pub fn stop_commands() {
    if let Some(running) = RUNNING.with_borrow_mut(Option::take) {
        running.stop();
    }
}
