//! The tasks of a search by several threads.
//!
//! The queue gives out the earliest task first. A [`ReorderBuffer`] passes results on in path order,
//! so the output is the same as that of one thread. What runs ahead of the output is bounded: a
//! thread gets a new task only while the buffer has room, or if the task is first in order; and a
//! thread with more than a little to pass on waits for its turn. The task that is first in order
//! never waits, so the search always makes progress.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::listing::Task;
use crate::match_buffer::MatchBuffer;
use crate::output::{Output, Unsearched};
use crate::reorder_buffer::{Key, ReorderBuffer};
use crate::stop_signal::{StopSignal, Stopped};

/// How often a waiting thread checks the cancel flag and the clock.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(crate) struct WorkQueue<'a> {
    state: Mutex<State>,
    changed: Condvar,
    pub(crate) stop_signal: StopSignal<'a>,
    /// The longest possible output.
    pub(crate) max_bytes: usize,
}

struct State {
    waiting: BTreeMap<Key, Task>,
    running: BTreeSet<Key>,
    buffer: ReorderBuffer,
    sleeping: usize,
    end: Option<End>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Full,
    Stopped(Stopped),
    Panicked,
}

/// The result of a search.
pub(crate) struct Outcome {
    pub(crate) output: Output,
    pub(crate) unsearched: Unsearched,
    /// Why the search is incomplete, and where it stopped, relative to the root.
    pub(crate) stopped: Option<(Stopped, PathBuf)>,
}

impl<'a> WorkQueue<'a> {
    pub(crate) fn new(max_bytes: usize, max_matches: u64, stop_signal: StopSignal<'a>) -> Self {
        let state = State {
            waiting: BTreeMap::new(),
            running: BTreeSet::new(),
            buffer: ReorderBuffer::new(Output::new(max_bytes, max_matches)),
            sleeping: 0,
            end: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), stop_signal, max_bytes }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock, so a poisoned state is still consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn extend(&self, tasks: Vec<Task>) {
        let tasks = tasks.into_iter().map(|task| (Key::new(&task.path()), task));
        self.state().waiting.extend(tasks);
    }

    /// Waits for a task that may run. `None` when all are done or the search has ended.
    pub(crate) fn pop(&self) -> Option<(Key, Task)> {
        let mut state = self.state();
        loop {
            if state.end.is_some() || state.waiting.is_empty() && state.running.is_empty() {
                return None;
            }
            if state.may_pop() {
                let (key, task) = state.waiting.pop_first()?;
                state.running.insert(key.clone());
                return Some((key, task));
            }
            state = self.wait(state).ok()?;
        }
    }

    /// Takes the results of a task and the tasks that replace it. `opened` counts the files and
    /// directories that it opened.
    pub(crate) fn finish(
        &self,
        key: Key,
        results: MatchBuffer,
        opened: usize,
        children: Vec<Task>,
    ) {
        // Keys are made outside of the lock.
        let children: Vec<_> =
            children.into_iter().map(|task| (Key::new(&task.path()), task)).collect();
        let mut state = self.state();
        state.running.remove(&key);
        state.waiting.extend(children);
        state.buffer.insert(key, results, opened);
        if state.end.is_none() {
            state.flush();
            self.end_if_full(&mut state);
        }
        if state.sleeping > 0 {
            self.changed.notify_all();
        }
    }

    /// Passes on results of an unfinished task, which waits until it is first in order. Returns
    /// false if the output is full.
    pub(crate) fn append(
        &self,
        task: Option<&Key>,
        results: &mut MatchBuffer,
    ) -> Result<bool, Stopped> {
        let mut state = self.state();
        while let Some(key) = task {
            if state.end.is_some() {
                return Err(Stopped::Halted);
            }
            if state.is_first(key) {
                break;
            }
            state = self.wait(state)?;
        }
        state.buffer.append(results);
        let full = state.buffer.output.full;
        self.end_if_full(&mut state);
        Ok(!full)
    }

    /// Ends the search in the middle of `task`, or of the only thread's work.
    pub(crate) fn stop(&self, stopped: Stopped, task: Option<Key>, results: MatchBuffer) {
        let mut state = self.state();
        let key = task.unwrap_or_else(|| Key::new(results.current()));
        state.buffer.insert_interrupted(key, results);
        if stopped != Stopped::Halted {
            state.end.get_or_insert(End::Stopped(stopped));
        }
        self.halt();
    }

    /// Ends the search because a thread has panicked.
    pub(crate) fn abandon(&self) {
        self.state().end.get_or_insert(End::Panicked);
        self.halt();
    }

    fn end_if_full(&self, state: &mut State) {
        if state.buffer.output.full {
            state.end.get_or_insert(End::Full);
            self.halt();
        }
    }

    fn halt(&self) {
        self.stop_signal.halt();
        self.changed.notify_all();
    }

    /// Sleeps until the state has changed, or for one interval.
    fn wait<'s>(&self, mut state: MutexGuard<'s, State>) -> Result<MutexGuard<'s, State>, Stopped> {
        if let Err(stopped) = self.stop_signal.check() {
            if stopped != Stopped::Halted {
                state.end.get_or_insert(End::Stopped(stopped));
                self.halt();
            }
            return Err(stopped);
        }
        state.sleeping += 1;
        let (mut state, _) =
            self.changed.wait_timeout(state, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner);
        state.sleeping -= 1;
        Ok(state)
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let stopped = match state.end {
            Some(End::Stopped(stopped)) => {
                state.flush();
                let waiting = state.waiting.first_key_value().map(|(key, task)| (key, task.path()));
                Some((stopped, state.buffer.end_at_gap(waiting)))
            }
            _ => None,
        };
        let ReorderBuffer { output, unsearched, .. } = state.buffer;
        Outcome { output, unsearched, stopped }
    }
}

impl State {
    /// Whether a thread may take the earliest task.
    fn may_pop(&self) -> bool {
        let Some((next, _)) = self.waiting.first_key_value() else { return false };
        self.buffer.has_room() || self.is_first(next)
    }

    /// Whether everything before `key` is done.
    fn is_first(&self, key: &Key) -> bool {
        first_unfinished(&self.waiting, &self.running).is_none_or(|first| first >= key)
    }

    fn flush(&mut self) {
        let Self { waiting, running, buffer, .. } = self;
        buffer.flush_before(first_unfinished(waiting, running));
    }
}

fn first_unfinished<'k>(
    waiting: &'k BTreeMap<Key, Task>,
    running: &'k BTreeSet<Key>,
) -> Option<&'k Key> {
    waiting.keys().next().into_iter().chain(running.first()).min()
}
