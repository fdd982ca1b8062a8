//! The tasks of a search by several threads, and the order in which their findings are taken.
//!
//! A task is known by its path. The earliest one waiting is always the next to be given out, and
//! findings are taken only when nothing earlier is waiting or being worked on. So the output is the
//! same as that of one thread. What is ahead of it is bounded: a thread gets a new task only while
//! the findings that are held fit into the output and into [`HELD`], or if the task is the first
//! in order; and a thread that has more than a little to hand over waits for its turn. The first
//! in order never waits, so somebody always goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::findings::Findings;
use crate::output::{Output, Skipped};
use crate::tree::Task;
use crate::watch::{Stopped, Watch};

/// The findings held for their turn take no more than this, and a little per thread.
const HELD: usize = 4 << 20;
/// So many files and directories may be opened ahead of the output.
const WORK_AHEAD: usize = 4096;
/// A thread that waits looks at the cancel flag and at the clock this often.
const NAP: Duration = Duration::from_millis(10);

/// A path with the separators as zero bytes: compared byte by byte, it is in the order of a walk.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(Vec<u8>);

impl Key {
    fn new(path: &Path) -> Self {
        let bytes = path.as_os_str().as_bytes().iter();
        Self(bytes.map(|&byte| if byte == b'/' { 0 } else { byte }).collect())
    }
}

pub(crate) struct Board<'a> {
    state: Mutex<State>,
    changed: Condvar,
    watch: Watch<'a>,
    /// The one that `watch` looks at.
    halt: &'a AtomicBool,
    limit: usize,
}

struct State {
    waiting: BTreeMap<Key, Task>,
    running: BTreeSet<Key>,
    done: BTreeMap<Key, Done>,
    /// What the threads had in hand when the search was stopped, and where they were.
    cut: BTreeMap<Key, (Findings, PathBuf)>,
    held: Held,
    sleeping: usize,
    output: Output,
    skipped: Skipped,
    end: Option<End>,
}

struct Done {
    findings: Findings,
    held: Held,
}

/// How much there is ahead of the output.
#[derive(Clone, Copy, Default)]
struct Held {
    bytes: usize,
    output: usize,
    lines: u64,
    work: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Full,
    Stopped(Stopped),
    Abandoned,
}

/// What became of a search.
pub(crate) struct Outcome {
    pub(crate) output: Output,
    pub(crate) skipped: Skipped,
    /// Why it is not complete, and where it was then, relative to the root.
    pub(crate) stopped: Option<(Stopped, PathBuf)>,
}

impl<'a> Board<'a> {
    /// `halt` is the flag that `watch` looks at.
    pub(crate) fn new(
        limit: usize,
        match_limit: u64,
        watch: Watch<'a>,
        halt: &'a AtomicBool,
    ) -> Self {
        let state = State {
            waiting: BTreeMap::new(),
            running: BTreeSet::new(),
            done: BTreeMap::new(),
            cut: BTreeMap::new(),
            held: Held::default(),
            sleeping: 0,
            output: Output::new(limit, match_limit),
            skipped: Skipped::default(),
            end: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), watch, halt, limit }
    }

    /// The text is no longer than this.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panics holds no lock then, but it does no harm to go on in any case.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings in the tasks that one thread has left.
    pub(crate) fn load(&self, tasks: Vec<Task>) {
        let tasks = tasks.into_iter().map(|task| (Key::new(&task.path()), task));
        self.state().waiting.extend(tasks);
    }

    /// The next task, when there is room for what it finds; `None` when all is done or the search
    /// has ended.
    pub(crate) fn claim(&self) -> Option<(Key, Task)> {
        let mut state = self.state();
        loop {
            if state.end.is_some() || state.waiting.is_empty() && state.running.is_empty() {
                return None;
            }
            if state.may_go_on() {
                let (key, task) = state.waiting.pop_first()?;
                state.running.insert(key.clone());
                return Some((key, task));
            }
            state = self.wait(state).ok()?;
        }
    }

    /// Takes what a task has found and the tasks in its place.
    pub(crate) fn finish(&self, key: Key, findings: Findings, work: usize, children: Vec<Task>) {
        // Keys are made outside of the lock.
        let children: Vec<_> =
            children.into_iter().map(|task| (Key::new(&task.path()), task)).collect();
        let held = Held {
            bytes: findings.size(),
            output: findings.output_size(),
            lines: findings.lines(),
            work,
        };
        let mut state = self.state();
        state.running.remove(&key);
        state.waiting.extend(children);
        state.held.add(held);
        state.done.insert(key, Done { findings, held });
        if state.end.is_none() {
            state.settle();
            self.end_if_full(&mut state);
        }
        if state.sleeping > 0 {
            self.changed.notify_all();
        }
    }

    /// Hands over the findings of a task that goes on. Waits until it is the first in order.
    /// False: the output is full.
    pub(crate) fn append(
        &self,
        task: Option<&Key>,
        findings: &mut Findings,
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
        let State { output, skipped, .. } = &mut *state;
        findings.move_to(output, skipped);
        let full = output.is_full();
        self.end_if_full(&mut state);
        Ok(!full)
    }

    /// Ends the search in the middle of a task, or with nothing in hand between two.
    pub(crate) fn stop(&self, stopped: Stopped, task: Option<Key>, findings: Findings) {
        let mut state = self.state();
        let at = findings.at().to_owned();
        if let Some(key) = task {
            state.cut.insert(key, (findings, at));
        } else {
            state.cut.insert(Key::new(&at), (findings, at));
        }
        if stopped != Stopped::Halted {
            state.end.get_or_insert(End::Stopped(stopped));
        }
        self.halt_all();
    }

    /// Ends the search before anything was found.
    pub(crate) fn stop_at(&self, stopped: Stopped, path: &Path) {
        let mut findings = Findings::new(0);
        findings.enter(path);
        self.stop(stopped, None, findings);
    }

    /// Ends the search because a thread has panicked.
    pub(crate) fn abandon(&self) {
        self.state().end.get_or_insert(End::Abandoned);
        self.halt_all();
    }

    fn end_if_full(&self, state: &mut State) {
        if state.output.is_full() {
            state.end.get_or_insert(End::Full);
            self.halt_all();
        }
    }

    fn halt_all(&self) {
        self.halt.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Sleeps until something has changed, or for a nap.
    fn wait<'s>(&self, mut state: MutexGuard<'s, State>) -> Result<MutexGuard<'s, State>, Stopped> {
        if let Err(stopped) = self.watch.check() {
            if stopped != Stopped::Halted {
                state.end.get_or_insert(End::Stopped(stopped));
                self.halt_all();
            }
            return Err(stopped);
        }
        state.sleeping += 1;
        let (mut state, _) =
            self.changed.wait_timeout(state, NAP).unwrap_or_else(PoisonError::into_inner);
        state.sleeping -= 1;
        Ok(state)
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let stopped = match state.end {
            Some(End::Stopped(stopped)) => Some((stopped, state.cut_off())),
            _ => None,
        };
        Outcome { output: state.output, skipped: state.skipped, stopped }
    }
}

impl State {
    /// Whether a thread may take the earliest task.
    fn may_go_on(&self) -> bool {
        let Some((next, _)) = self.waiting.first_key_value() else { return false };
        let (bytes, lines) = self.output.room();
        let room = self.held.bytes < HELD
            && self.held.output <= bytes
            && self.held.lines <= lines
            && self.held.work < WORK_AHEAD;
        room || self.is_first(next)
    }

    /// Whether everything before `key` is done.
    fn is_first(&self, key: &Key) -> bool {
        self.waiting.keys().next().is_none_or(|first| first >= key)
            && self.running.first().is_none_or(|first| first >= key)
    }

    /// Takes the findings whose turn it is.
    fn settle(&mut self) {
        while let Some(first) = self.done.first_entry() {
            let key = first.key();
            let earlier = |other: Option<&Key>| other.is_some_and(|other| other < key);
            if self.output.is_full()
                || earlier(self.waiting.keys().next())
                || earlier(self.running.first())
            {
                return;
            }
            let Done { mut findings, held } = first.remove();
            self.held.remove(held);
            findings.move_to(&mut self.output, &mut self.skipped);
        }
    }

    /// Takes what was found before the place where a stopped search has a gap, and says where that
    /// is.
    fn cut_off(&mut self) -> PathBuf {
        self.settle();
        let in_hand = self.cut.pop_first();
        let waiting = self.waiting.first_key_value().map(|(key, task)| (key, task.path()));
        match (in_hand, waiting) {
            (Some((key, _)), Some((waiting, path))) if *waiting < key => path,
            (Some((_, (mut findings, at))), _) => {
                findings.move_to(&mut self.output, &mut self.skipped);
                at
            }
            (None, Some((_, path))) => path,
            (None, None) => PathBuf::new(),
        }
    }
}

impl Held {
    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.output += other.output;
        self.lines += other.lines;
        self.work += other.work;
    }

    fn remove(&mut self, other: Self) {
        self.bytes -= other.bytes;
        self.output -= other.output;
        self.lines -= other.lines;
        self.work -= other.work;
    }
}
