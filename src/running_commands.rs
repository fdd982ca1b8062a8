//! The running commands, so that none outlives the JavaScript environment that started it.
//!
//! A command has a process group of its own, which no Ctrl-C of a terminal reaches. When an
//! environment ends (the process exits, a worker is terminated), its commands are stopped first.

use std::cell::RefCell;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use napi::{Env, Result};
use napi_derive::napi;
use toolwright_exec::Cancel;

use crate::kept_processes;

/// How long the end of an environment waits for its commands to end.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// A running command. The thread that follows it holds this.
pub(crate) struct RunningCommand(Arc<Cancel>);

impl RunningCommand {
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.0
    }
}

thread_local! {
    /// The commands of this environment: each environment has a thread of its own.
    static RUNNING: RefCell<Option<Vec<Weak<RunningCommand>>>> = const { RefCell::new(None) };
}

/// Registers a command, which the end of the environment cancels while the result lives.
pub(crate) fn register(env: &Env, cancel: Arc<Cancel>) -> Result<Arc<RunningCommand>> {
    let running = Arc::new(RunningCommand(cancel));
    RUNNING.with_borrow_mut(|commands| -> Result<()> {
        if commands.is_none() {
            let _ = env.add_env_cleanup_hook((), |()| stop_all())?;
        }
        let commands = commands.get_or_insert_default();
        commands.retain(|command| command.strong_count() > 0);
        commands.push(Arc::downgrade(&running));
        Ok(())
    })?;
    Ok(running)
}

/// Stops every command of this environment and waits until they have ended, for at most a second. For
/// the end of a process.
#[napi(catch_unwind)]
pub fn stop_commands() {
    stop_all();
    kept_processes::stop_all();
}

fn stop_all() {
    let commands = RUNNING.with_borrow_mut(Option::take).unwrap_or_default();
    for command in commands.iter().filter_map(Weak::upgrade) {
        command.0.cancel();
    }
    let started = Instant::now();
    while started.elapsed() < MAX_WAIT && commands.iter().any(|one| one.strong_count() > 0) {
        std::thread::sleep(Duration::from_millis(1));
    }
}
