//! What the kernel says of a command that runs: where it listens, and whether it waits for input.
//!
//! The worker is the ancestor of every process of the command, so it may look at all of them. It looks only
//! while the host wants to know.

mod blocked;
mod input;
mod listening;
mod processes;
mod sockets;

use std::io;
use std::os::fd::AsFd;

use rustix::event::Timespec;
use rustix::process::Pid;
use toolwright_sandbox::background::{InputState, WatchedFacts};
use toolwright_sandbox::wire::{Inbox, Reply, send};

pub(crate) use input::InputFile;
pub(crate) use listening::{connect, served_port};
pub(crate) use sockets::SocketList;

use listening::Listening;

/// How often ports are looked at, where that is quick and where it is not.
const PORTS_NS: i64 = 4_000_000;
const SLOW_PORTS_NS: i64 = 40_000_000;
/// How often processes are looked at. What holds at two looks in a row is reported.
const INPUT_NS: i64 = 12_000_000;

/// What is watched, and what was reported of it.
#[derive(Default)]
pub(crate) struct Observation {
    watched: WatchedFacts,
    listening: Listening,
    reported_ports: Option<Vec<u16>>,
    seen_input: Option<InputState>,
    reported_input: Option<InputState>,
}

impl Observation {
    /// Begins anew: everything that is watched is reported again.
    pub(crate) fn watch(&mut self, watched: WatchedFacts) {
        (self.watched, self.reported_ports) = (watched, None);
        (self.seen_input, self.reported_input) = (None, None);
    }

    /// How long to wait until the next look.
    pub(crate) fn interval(&self, list: &SocketList) -> Option<Timespec> {
        let tv_nsec = match self.watched {
            WatchedFacts { ports: true, .. } if list.is_quick() => PORTS_NS,
            WatchedFacts { ports: true, .. } => SLOW_PORTS_NS,
            WatchedFacts { input: true, .. } => INPUT_NS,
            WatchedFacts { .. } => return None,
        };
        Some(Timespec { tv_sec: 0, tv_nsec })
    }

    /// Looks, and reports what has changed.
    pub(crate) fn look(
        &mut self,
        leader: Pid,
        (list, is_alone): (&SocketList, bool),
        input: Option<InputFile>,
        host: &Inbox,
    ) -> io::Result<()> {
        if self.watched.ports {
            let ports = self.listening.ports(list, is_alone);
            if self.reported_ports.as_ref() != Some(&ports) {
                send(host.as_fd(), &Reply::Listening(ports.clone()).frame(), &[])?;
                self.reported_ports = Some(ports);
            }
        }
        if self.watched.input {
            let state = input.map_or(InputState::Unknown, |file| file.state(leader, is_alone));
            let is_steady = self.seen_input == Some(state);
            self.seen_input = Some(state);
            if is_steady && self.reported_input != Some(state) {
                send(host.as_fd(), &Reply::Input(state).frame(), &[])?;
                self.reported_input = Some(state);
            }
        }
        Ok(())
    }
}
