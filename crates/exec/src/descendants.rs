//! What a command has started and what has left its process group, found by the tree of processes.
//!
//! For systems without a process namespace, and best effort there: see [`Family`] for what is found.
//! The tree is read when the command ends or is ended, and now and then while it runs, so that what
//! has lost its parent by then has been seen with it.

use std::collections::{BTreeMap, BTreeSet};
use std::process;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

mod processes;
#[cfg(test)]
mod tests;

/// Whether commands that are children of this process are treated so. On Linux they are not: there
/// a worker's process namespace holds, and reading `/proc` takes longer than most commands.
pub(crate) const SEARCHED: bool = cfg!(target_os = "macos");

/// The first look comes after this time, each further one after twice the time of the one before.
const FIRST_LOOK: Duration = Duration::from_millis(5);
/// Reading some hundred processes takes about a millisecond.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Something that starts processes faster than they are killed does not hold the call for longer.
const LIMIT: Duration = Duration::from_millis(100);
/// So many processes of a command are remembered, those that have ended included.
const REMEMBERED: usize = 16_384;

/// A process as the system tells it at one moment. What is not known is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: i32,
    /// In a unit of the system; later ones have greater numbers.
    start: u64,
    parent: i32,
    group: i32,
    session: i32,
    /// It is there for its parent to ask how it ended, and for nothing else.
    ended: bool,
    /// Numbers that it has and that are never used again.
    marks: [u64; 2],
    /// Those numbers of the process that started it; another parent does not change them.
    origin: [u64; 2],
}

impl Process {
    /// No other process has these two.
    fn identity(&self) -> (i32, u64) {
        (self.pid, self.start)
    }

    fn kill(&self) {
        // Not its successor of the same number.
        let same = |now: Process| now.identity() == self.identity() && !now.ended;
        if processes::read(self.pid).is_some_and(same)
            && let Some(pid) = Pid::from_raw(self.pid)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A command's leader and all that is known to descend from it.
///
/// A process belongs to it if its parent, or the one that started it, does; if it is in a group that
/// one of the family has begun; or in a session of one of the family that is not the host's, because
/// only a descendant can have begun that one. So none is found whose ancestors up to the leader, and
/// all others of its session and group, had ended before they were seen.
struct Family {
    /// Of the leader: nothing older is a descendant.
    start: u64,
    host: i32,
    seen: BTreeSet<(i32, u64)>,
    marks: [BTreeSet<u64>; 2],
}

impl Family {
    fn of(leader: &Process, host: i32) -> Self {
        let (seen, marks) = Default::default();
        let mut family = Self { start: leader.start, host, seen, marks };
        family.remember(leader);
        family
    }

    fn remember(&mut self, process: &Process) {
        self.seen.insert(process.identity());
        for (marks, mark) in self.marks.iter_mut().zip(process.marks) {
            marks.insert(mark);
        }
    }

    /// Those of all processes that belong to it. They are remembered.
    fn find<'p>(&mut self, all: &'p [Process]) -> Vec<&'p Process> {
        let parents: BTreeMap<i32, i32> = all.iter().map(|one| (one.pid, one.parent)).collect();
        // The host and those above it. A list that is not of one moment may hold a circle.
        let mut above = BTreeSet::from([0, 1]);
        let mut next = self.host;
        while above.insert(next) {
            next = parents.get(&next).copied().unwrap_or_default();
        }
        let host_session = all.iter().find(|one| one.pid == self.host).map(|host| host.session);
        let mut others: Vec<&Process> = all
            .iter()
            .filter(|one| one.start >= self.start && one.pid > 0 && !above.contains(&one.pid))
            .collect();
        // Parents come before their children, so that few rounds find all.
        others.sort_by_key(|one| one.start);
        let mut found = Vec::new();
        let mut pids = BTreeMap::new();
        let mut sessions = BTreeSet::new();
        loop {
            let before = found.len();
            others.retain(|one| {
                let started = one.origin.iter().zip(&self.marks);
                let belongs = self.seen.contains(&one.identity())
                    || pids.get(&one.parent).is_some_and(|start| *start <= one.start)
                    || started.clone().any(|(mark, marks)| *mark != 0 && marks.contains(mark))
                    || pids.contains_key(&one.group)
                    || sessions.contains(&one.session);
                if belongs {
                    found.push(*one);
                    pids.insert(one.pid, one.start);
                    if one.session != 0 && host_session.is_some_and(|host| host != one.session) {
                        sessions.insert(one.session);
                    }
                    self.remember(one);
                }
                !belongs
            });
            if found.len() == before {
                break;
            }
        }
        if self.seen.len().max(self.marks[1].len()) > REMEMBERED {
            self.seen.clear();
            self.marks = Default::default();
            for one in &found {
                self.remember(one);
            }
        }
        found
    }
}

/// The family of a running command.
pub(crate) struct Descendants {
    family: Family,
    leader: (i32, u64),
    next_look: Instant,
    pause: Duration,
}

impl Descendants {
    /// `None`: the system tells nothing of it.
    pub(crate) fn of(leader: Pid) -> Option<Self> {
        let leader = processes::read(leader.as_raw_pid())?;
        let host = i32::try_from(process::id()).ok()?;
        let family = Family::of(&leader, host);
        let (leader, next_look) = (leader.identity(), Instant::now() + FIRST_LOOK);
        Some(Self { family, leader, next_look, pause: FIRST_LOOK })
    }

    /// Looks at the tree if it is time to.
    pub(crate) fn look(&mut self) {
        if Instant::now() >= self.next_look {
            self.family.find(&processes::all());
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            self.next_look = Instant::now() + self.pause;
        }
    }

    /// Kills all of it, until no more are found. The tree is read before `kill_group` is called, as
    /// long as all have their parents. How many there were besides the leader.
    pub(crate) fn kill(mut self, kill_group: impl Fn()) -> u32 {
        let until = Instant::now() + LIMIT;
        let mut killed = BTreeSet::new();
        loop {
            let all = processes::all();
            let mut found = self.family.find(&all);
            found.retain(|one| !one.ended && killed.insert(one.identity()));
            kill_group();
            for one in &found {
                one.kill();
            }
            if found.is_empty() || Instant::now() >= until {
                let others = killed.iter().filter(|identity| **identity != self.leader);
                return u32::try_from(others.count()).unwrap_or(u32::MAX);
            }
        }
    }
}
