//! The commands that run, so that none outlives the JavaScript environment that started it.
//!
//! A command has a process group of its own, which no Ctrl-C of a terminal reaches. When an
//! environment ends (the process exits, a worker is terminated), its commands are stopped first.

use std::cell::RefCell;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use napi::{Env, Result};
use napi_derive::napi;
use toolwright_exec::Cancel;

/// How long the end of the environment waits for its commands to be gone.
const LONGEST: Duration = Duration::from_secs(1);

/// A command that runs; held by the thread that follows it.
#[derive(Debug)]
pub(crate) struct Running(Arc<Cancel>);

impl Running {
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.0
    }
}

thread_local! {
    /// Those of this environment: each has a thread of its own.
    static RUNNING: RefCell<Option<Vec<Weak<Running>>>> = const { RefCell::new(None) };
}

/// Makes `cancel` known to the end of the environment for as long as the result lives.
pub(crate) fn follow(env: &Env, cancel: Arc<Cancel>) -> Result<Arc<Running>> {
    let running = Arc::new(Running(cancel));
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

/// Stops every command of this environment and waits until they are gone, at most a second. For
/// the end of a process: what runs then has nobody left to report to.
#[napi(catch_unwind)]
pub fn stop_commands() {
    stop_all();
}

fn stop_all() {
    let commands = RUNNING.with_borrow_mut(Option::take).unwrap_or_default();
    for command in commands.iter().filter_map(Weak::upgrade) {
        command.0.cancel();
    }
    let started = Instant::now();
    while started.elapsed() < LONGEST && commands.iter().any(|one| one.strong_count() > 0) {
        std::thread::sleep(Duration::from_millis(1));
    }
}
