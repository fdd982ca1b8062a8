//! What a command has started and what has left its process group, found by the process table.

use std::collections::{BTreeMap, BTreeSet};
use std::process;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::ProcessInfo;

#[cfg(test)]
mod tests;

/// The first scan comes after this time, each further one after twice the time of the one before.
const FIRST_SCAN: Duration = Duration::from_millis(5);
/// Reading some hundred processes takes about a millisecond.
const MAX_PAUSE: Duration = Duration::from_millis(500);
/// A command that starts processes faster than they are killed cannot hold the call for longer.
const KILL_LIMIT: Duration = Duration::from_millis(100);
/// The most processes of a command that are remembered, including those that have ended.
const MAX_REMEMBERED: usize = 16_384;

impl ProcessInfo {
    fn kill(&self) {
        // A later process with the same pid is left alone.
        let is_same = |now: ProcessInfo| now.key() == self.key() && !now.has_ended;
        if ProcessInfo::read(self.pid).is_some_and(is_same)
            && let Some(pid) = Pid::from_raw(self.pid)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A command's leader and all known descendants. See [`Descendants`] for the rules.
struct Family {
    /// Of the leader: nothing older is a descendant.
    start: u64,
    host: i32,
    seen: BTreeSet<(i32, u64)>,
    unique_ids: [BTreeSet<u64>; 2],
}

impl Family {
    fn of(leader: &ProcessInfo, host: i32) -> Self {
        let (seen, unique_ids) = Default::default();
        let mut family = Self { start: leader.start, host, seen, unique_ids };
        family.remember(leader);
        family
    }

    fn remember(&mut self, process: &ProcessInfo) {
        self.seen.insert(process.key());
        for (ids, id) in self.unique_ids.iter_mut().zip(process.unique_ids) {
            ids.insert(id);
        }
    }

    /// Finds and remembers the members among all processes.
    fn find<'p>(&mut self, all: &'p [ProcessInfo]) -> Vec<&'p ProcessInfo> {
        let parents: BTreeMap<i32, i32> = all.iter().map(|one| (one.pid, one.parent)).collect();
        // The host and its ancestors. A list that was not taken in one moment may hold a cycle.
        let mut above = BTreeSet::from([0, 1]);
        let mut next = self.host;
        while above.insert(next) {
            next = parents.get(&next).copied().unwrap_or_default();
        }
        let host_session = all.iter().find(|one| one.pid == self.host).map(|host| host.session);
        let mut others: Vec<&ProcessInfo> = all
            .iter()
            .filter(|one| one.start >= self.start && one.pid > 0 && !above.contains(&one.pid))
            .collect();
        // Parents come before their children, so few rounds find all.
        others.sort_by_key(|one| one.start);
        let mut descendants = Vec::new();
        let mut pids = BTreeMap::new();
        let mut sessions = BTreeSet::new();
        loop {
            let before = descendants.len();
            others.retain(|one| {
                let mut starters = one.starter_ids.iter().zip(&self.unique_ids);
                let belongs = self.seen.contains(&one.key())
                    || pids.get(&one.parent).is_some_and(|start| *start <= one.start)
                    || starters.any(|(id, ids)| *id != 0 && ids.contains(id))
                    || pids.contains_key(&one.group)
                    || sessions.contains(&one.session);
                if belongs {
                    descendants.push(*one);
                    pids.insert(one.pid, one.start);
                    if one.session != 0 && host_session.is_some_and(|host| host != one.session) {
                        sessions.insert(one.session);
                    }
                    self.remember(one);
                }
                !belongs
            });
            if descendants.len() == before {
                break;
            }
        }
        if self.seen.len().max(self.unique_ids[1].len()) > MAX_REMEMBERED {
            self.seen.clear();
            self.unique_ids = Default::default();
            for one in &descendants {
                self.remember(one);
            }
        }
        descendants
    }
}

/// The leader of a running command and what descends from it, found by repeated scans of the process
/// table. For systems without pid namespaces, and best effort there.
///
/// A process belongs to the command if its parent, or the process that started it, does; if it is in a
/// group that a member has created; or in a session of a member that is not the host's, because only a
/// descendant can have created that one. A process is missed if its ancestors up to the leader, and all
/// others of its session and group, had ended before a scan saw them.
pub struct Descendants {
    family: Family,
    leader: (i32, u64),
    next_scan: Instant,
    pause: Duration,
}

impl Descendants {
    /// Of the command whose process is `leader`; `None` where the system does not report it.
    #[must_use]
    pub fn of(leader: Pid) -> Option<Self> {
        let leader = ProcessInfo::read(leader.as_raw_pid())?;
        let family = Family::of(&leader, process::id().cast_signed());
        let (leader, next_scan) = (leader.key(), Instant::now() + FIRST_SCAN);
        Some(Self { family, leader, next_scan, pause: FIRST_SCAN })
    }

    /// Scans the process table if it is time to. Call it often while the command runs.
    pub fn scan(&mut self) {
        if Instant::now() >= self.next_scan {
            self.family.find(&ProcessInfo::all());
            self.pause = (self.pause * 2).min(MAX_PAUSE);
            self.next_scan = Instant::now() + self.pause;
        }
    }

    /// Kills all descendants, until no more are found. The table is read before `kill_group` is called,
    /// while all of them still have their parents.
    ///
    /// # Returns
    ///
    /// The number of processes besides the leader.
    pub fn kill(mut self, kill_group: impl Fn()) -> u32 {
        let until = Instant::now() + KILL_LIMIT;
        let mut killed = BTreeSet::new();
        loop {
            let all = ProcessInfo::all();
            let mut descendants = self.family.find(&all);
            descendants.retain(|one| !one.has_ended && killed.insert(one.key()));
            kill_group();
            for one in &descendants {
                one.kill();
            }
            if descendants.is_empty() || Instant::now() >= until {
                let others = killed.iter().filter(|key| **key != self.leader);
                return u32::try_from(others.count()).unwrap_or(u32::MAX);
            }
        }
    }
}
