//! The kept processes of an environment, so that none outlives it.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use napi::{Env, Result};

use crate::job::lock;
use crate::kept_process::{KeptProcess, MAX_WAIT, Shared};

/// The place of a process that is being started.
#[derive(Clone)]
pub(crate) struct Place(Arc<Mutex<Kept>>);

enum Kept {
    Starting,
    Running(Weak<Shared>),
    /// The environment has ended.
    Stopped,
}

impl Place {
    /// The environment may have ended during the start.
    pub(crate) fn fill(&self, shared: Shared) -> KeptProcess {
        let shared = Arc::new(shared);
        let mut kept = lock(&self.0);
        match *kept {
            Kept::Stopped => shared.process.kill(),
            _ => *kept = Kept::Running(Arc::downgrade(&shared)),
        }
        drop(kept);
        KeptProcess::new(shared)
    }

    fn stop(&self) -> Option<Arc<Shared>> {
        let kept = std::mem::replace(&mut *lock(&self.0), Kept::Stopped);
        match kept {
            Kept::Running(shared) => shared.upgrade().inspect(|shared| shared.process.kill()),
            Kept::Starting | Kept::Stopped => None,
        }
    }

    fn is_used(&self) -> bool {
        match &*lock(&self.0) {
            Kept::Running(shared) => shared.strong_count() > 0,
            // Whoever starts it has the other reference.
            Kept::Starting => Arc::strong_count(&self.0) > 1,
            Kept::Stopped => false,
        }
    }
}

thread_local! {
    /// Those of this environment: each environment has a thread of its own.
    static KEPT: RefCell<Option<Vec<Place>>> = const { RefCell::new(None) };
}

/// A place for a process, which the end of the environment kills.
pub(crate) fn register(env: &Env) -> Result<Place> {
    let place = Place(Arc::new(Mutex::new(Kept::Starting)));
    KEPT.with_borrow_mut(|places| -> Result<()> {
        if places.is_none() {
            let _ = env.add_env_cleanup_hook((), |()| stop_all())?;
        }
        let places = places.get_or_insert_default();
        places.retain(Place::is_used);
        places.push(place.clone());
        Ok(())
    })?;
    Ok(place)
}

/// Kills every process of this environment and waits until they have ended, for at most a second.
pub(crate) fn stop_all() {
    let places = KEPT.with_borrow_mut(Option::take).unwrap_or_default();
    let stopped: Vec<_> = places.iter().filter_map(Place::stop).collect();
    let started = Instant::now();
    while started.elapsed() < MAX_WAIT && stopped.iter().any(|one| one.process.end().is_none()) {
        std::thread::sleep(Duration::from_millis(1));
    }
}
