//! What the kernel has counted of refusals while a command ran.

use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use toolwright_sandbox::background::Facts;

/// The counters of the network that commands of a worker have, and of their control groups.
///
/// They are read between two commands, when nobody waits, and after a command that has failed. Commands of
/// other workers share the network and its counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    network: Vec<File>,
    memory: Option<File>,
    processes: Option<File>,
    /// Where the kernel counts what was started on this machine, and how many processes there may be at once.
    started: Option<(File, u64)>,
    before: Cell<Seen>,
    /// When the kernel was asked last how many were started, and what it said: it adds up all interrupts for that.
    asked: Cell<Option<(Instant, Option<u64>)>>,
}

/// How old that count may be. An older one has more in it, which is no error.
const AGE: Duration = Duration::from_secs(1);

/// How many processes of the worker itself there may be.
const OWN: u64 = 8;

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    network: Option<u32>,
    memory: Option<u32>,
    processes: Option<u32>,
    started: Option<u64>,
}

impl Counters {
    /// Has to be called while the process may still open its own files in `/proc`. `most` is how many processes a
    /// command may have at once where no file counts refusals.
    pub(crate) fn open(
        has_own_network: bool,
        memory: Option<File>,
        processes: Option<File>,
        most: Option<u64>,
    ) -> Self {
        let files: &[&str] =
            if has_own_network { &["/proc/self/net/snmp", "/proc/self/net/snmp6"] } else { &[] };
        let network = files.iter().filter_map(|path| File::open(path).ok()).collect();
        let started = most.and_then(|most| Some((File::open("/proc/stat").ok()?, most)));
        let counters = Self {
            network,
            memory,
            processes,
            started,
            before: Cell::default(),
            asked: Cell::default(),
        };
        counters.settle();
        counters
    }

    /// Begins to count anew.
    pub(crate) fn settle(&self) {
        let asked = self.asked.get().filter(|(at, _)| at.elapsed() < AGE);
        let started = asked.map_or_else(|| self.started(), |(_, started)| started);
        self.before.set(Seen { started, ..self.look() });
    }

    fn started(&self) -> Option<u64> {
        let started = self.started.as_ref().and_then(|(file, _)| started(file));
        self.asked.set(Some((Instant::now(), started)));
        started
    }

    /// What has been counted since then.
    pub(crate) fn since(&self) -> Facts {
        let (before, now) = (self.before.get(), Seen { started: self.started(), ..self.look() });
        let more = |before: Option<u32>, now: Option<u32>| Some(now?.saturating_sub(before?));
        Facts {
            unreachable: more(before.network, now.network),
            memory_kills: more(before.memory, now.memory),
            refused_processes: more(before.processes, now.processes)
                .or_else(|| self.were_few(before, now).then_some(0)),
            served_port: None,
            refused_call: None,
            fork_full: None,
        }
    }

    /// Whether on the whole machine fewer processes and threads were started than there may be at once. Of more than
    /// that this knows nothing.
    fn were_few(&self, before: Seen, now: Seen) -> bool {
        let (Some((_, most)), Some(first), Some(last)) =
            (&self.started, before.started, now.started)
        else {
            return false;
        };
        last.saturating_sub(first) + OWN < *most
    }

    fn look(&self) -> Seen {
        let network = (!self.network.is_empty())
            .then(|| self.network.iter().filter_map(read).map(|text| unreachable(&text)).sum());
        let value = |file: &Option<File>, name: &str| valued(&read(file.as_ref()?)?, name);
        Seen {
            network,
            memory: value(&self.memory, "oom_kill"),
            processes: value(&self.processes, "max"),
            started: None,
        }
    }
}

fn read(file: &File) -> Option<String> {
    let mut bytes = vec![0; 8 << 10];
    let length = file.read_at(&mut bytes, 0).ok()?;
    bytes.truncate(length);
    String::from_utf8(bytes).ok()
}

/// Packets for which there was no way, and answers that a port has no listener, as those of a resolver on this
/// machine. `snmp` has a line of names above each line of numbers, `snmp6` a name and a number in each line.
fn unreachable(text: &str) -> u32 {
    const NAMES: [(&str, &str); 4] =
        [("Ip", "OutNoRoutes"), ("Udp", "NoPorts"), ("", "Ip6OutNoRoutes"), ("", "Udp6NoPorts")];
    let mut sum = 0_u32;
    let mut add = |kind: &str, name: &str, value: &str| {
        if NAMES.contains(&(kind, name)) {
            sum = sum.wrapping_add(value.parse().unwrap_or(0));
        }
    };
    let mut names: Option<&str> = None;
    for line in text.lines() {
        let Some((kind, rest)) = line.split_once(": ") else {
            let mut words = line.split_whitespace();
            if let (Some(name), Some(value)) = (words.next(), words.next()) {
                add("", name, value);
            }
            continue;
        };
        match names.take() {
            None => names = Some(rest),
            Some(names) => {
                for (name, value) in names.split(' ').zip(rest.split(' ')) {
                    add(kind, name, value);
                }
            }
        }
    }
    sum
}

/// Behind the lines of the processors and a long one of interrupts.
fn started(mut file: &File) -> Option<u64> {
    file.rewind().ok()?;
    let mut lines = BufReader::new(file).lines().map_while(Result::ok);
    lines.find_map(|line| line.strip_prefix("processes ")?.parse().ok())
}

/// The number behind a name.
fn valued(text: &str, name: &str) -> Option<u32> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(' ')?;
        (found == name).then(|| value.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_names() {
        let snmp = "Ip: Forwarding OutNoRoutes\nIp: 1 7\nUdp: InDatagrams NoPorts\nUdp: 4 2\n";
        assert_eq!(unreachable(snmp), 9);
        assert_eq!(unreachable("Ip6InReceives 3\nIp6OutNoRoutes \t 5\nUdp6NoPorts 1\n"), 6);
        assert_eq!(unreachable(""), 0);
        assert_eq!(valued("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill"), Some(3));
        assert_eq!(valued("max 2\n", "max"), Some(2));
        assert_eq!(valued("low 0\n", "max"), None);
    }

    /// The network of this process has both files, and nothing of it is counted twice.
    #[test]
    fn what_was_counted_before_is_left_out() {
        let counters = Counters::open(true, None, None, None);
        counters.settle();
        let facts = counters.since();
        assert!(facts.unreachable.is_some());
        assert_eq!((facts.memory_kills, facts.refused_processes), (None, None));
        assert_eq!(Counters::default().since(), Facts::default());
    }

    #[test]
    fn none_was_refused_where_few_were_started() {
        let counters = Counters::open(false, None, None, Some(100));
        let were_few = |first, last| {
            let seen = |number| Seen { started: Some(number), ..Seen::default() };
            counters.were_few(seen(first), seen(last))
        };
        assert!(were_few(300, 300) && were_few(300, 391));
        assert!(!were_few(300, 392), "all of them may have been there at once");
        let many = Counters::open(false, None, None, Some(1 << 40));
        assert_eq!(many.since().refused_processes, Some(0));
        assert_eq!(Counters::open(false, None, None, None).since().refused_processes, None);
    }
}
