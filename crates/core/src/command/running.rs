//! What an environment has running, so that nothing outlives it.
//!
//! A command has a process group of its own, which no Ctrl-C of a terminal reaches. So when a JavaScript
//! environment ends (the process exits, a worker is terminated), its commands and processes are stopped first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use toolwright_exec::Cancel;

use super::kept::KeptProcess;

/// How long the end of an environment waits for its commands and processes to end.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The commands and processes of one environment.
#[derive(Debug, Default)]
pub struct Running {
    commands: Vec<Weak<RunningCommand>>,
    places: Vec<Place>,
}

/// A running command. The thread that follows it holds this.
#[derive(Debug)]
pub struct RunningCommand(Arc<Cancel>);

impl RunningCommand {
    /// What stops it.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        &self.0
    }
}

/// The place of a process, from before its start on.
#[derive(Debug, Clone, Default)]
pub struct Place(Arc<Mutex<State>>);

#[derive(Debug, Default)]
enum State {
    #[default]
    Starting,
    Running(Weak<KeptProcess>),
    /// The environment has ended.
    Stopped,
}

impl Place {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a process that was started. It is killed if the environment has ended meanwhile.
    pub(super) fn fill(&self, process: Arc<KeptProcess>) -> Arc<KeptProcess> {
        let mut state = self.state();
        match *state {
            State::Stopped => process.process.kill(),
            _ => *state = State::Running(Arc::downgrade(&process)),
        }
        drop(state);
        process
    }

    fn stop(&self) -> Option<Arc<KeptProcess>> {
        match std::mem::replace(&mut *self.state(), State::Stopped) {
            State::Running(process) => process.upgrade().inspect(|kept| kept.process.kill()),
            State::Starting | State::Stopped => None,
        }
    }

    fn is_used(&self) -> bool {
        match &*self.state() {
            State::Running(process) => process.strong_count() > 0,
            // Whoever starts it has the other reference.
            State::Starting => Arc::strong_count(&self.0) > 1,
            State::Stopped => false,
        }
    }
}

impl Running {
    /// Registers a command, which [`Running::stop`] cancels while the result lives.
    pub fn command(&mut self, cancel: Arc<Cancel>) -> Arc<RunningCommand> {
        let running = Arc::new(RunningCommand(cancel));
        self.commands.retain(|command| command.strong_count() > 0);
        self.commands.push(Arc::downgrade(&running));
        running
    }

    /// A place for a process, which [`Running::stop`] kills.
    pub fn place(&mut self) -> Place {
        let place = Place::default();
        self.places.retain(Place::is_used);
        self.places.push(place.clone());
        place
    }

    /// Stops everything and waits until it has ended, for at most a second.
    pub fn stop(self) {
        for command in self.commands.iter().filter_map(Weak::upgrade) {
            command.0.cancel();
        }
        let processes: Vec<_> = self.places.iter().filter_map(Place::stop).collect();
        let started = Instant::now();
        let is_running = || {
            self.commands.iter().any(|command| command.strong_count() > 0)
                || processes.iter().any(|kept| kept.process.end().is_none())
        };
        while started.elapsed() < MAX_WAIT && is_running() {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use toolwright_exec::CancelSource as _;

    use super::*;

    #[test]
    fn the_end_of_an_environment_stops_its_commands_and_waits_for_them() {
        let mut running = Running::default();
        let command = running.command(Arc::new(Cancel::new()));
        let follower = thread::spawn(move || {
            while !command.cancel().is_cancelled() {
                thread::sleep(Duration::from_millis(1));
            }
        });
        running.stop();
        assert!(follower.is_finished() || follower.join().is_ok());
    }

    #[test]
    fn what_has_ended_is_forgotten() {
        let mut running = Running::default();
        drop((running.command(Arc::new(Cancel::new())), running.place()));
        let (_command, _place) = (running.command(Arc::new(Cancel::new())), running.place());
        assert_eq!((running.commands.len(), running.places.len()), (1, 1));
    }
}
