//! What the kernel has counted of refusals while a command ran.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;

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
    before: Cell<Seen>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    network: Option<u32>,
    memory: Option<u32>,
    processes: Option<u32>,
}

impl Counters {
    /// Has to be called while the process may still open its own files in `/proc`.
    pub(crate) fn open(
        has_own_network: bool,
        memory: Option<File>,
        processes: Option<File>,
    ) -> Self {
        let files: &[&str] =
            if has_own_network { &["/proc/self/net/snmp", "/proc/self/net/snmp6"] } else { &[] };
        let network = files.iter().filter_map(|path| File::open(path).ok()).collect();
        let counters = Self { network, memory, processes, before: Cell::default() };
        counters.settle();
        counters
    }

    /// Begins to count anew.
    pub(crate) fn settle(&self) {
        self.before.set(self.look());
    }

    /// What has been counted since then.
    pub(crate) fn since(&self) -> Facts {
        let (before, now) = (self.before.get(), self.look());
        let more = |before: Option<u32>, now: Option<u32>| Some(now?.saturating_sub(before?));
        Facts {
            unreachable: more(before.network, now.network),
            memory_kills: more(before.memory, now.memory),
            refused_processes: more(before.processes, now.processes),
        }
    }

    fn look(&self) -> Seen {
        let network = (!self.network.is_empty())
            .then(|| self.network.iter().filter_map(read).map(|text| unreachable(&text)).sum());
        let value = |file: &Option<File>, name: &str| valued(&read(file.as_ref()?)?, name);
        Seen {
            network,
            memory: value(&self.memory, "oom_kill"),
            processes: value(&self.processes, "max"),
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
        let counters = Counters::open(true, None, None);
        counters.settle();
        let facts = counters.since();
        assert!(facts.unreachable.is_some());
        assert_eq!((facts.memory_kills, facts.refused_processes), (None, None));
        assert_eq!(Counters::default().since(), Facts::default());
    }
}
