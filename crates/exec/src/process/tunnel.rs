//! One connection of a relay: what one socket gets goes to the other.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};

use rustix::io::{Errno, read};
use rustix::net::{SendFlags, Shutdown, send, shutdown};

use super::reactor::{Followed, Part, Reactor, lock};

/// What waits in one direction at most.
const BUFFER: usize = 64 << 10;
/// How much is passed on before others get their turn.
const TURN: usize = 16;

pub(super) struct Tunnel {
    id: u64,
    reactor: &'static Reactor,
    /// `None` once it is closed.
    ends: Mutex<Option<Ends>>,
    ended: Box<dyn Fn() + Send + Sync>,
}

struct Ends {
    sockets: [OwnedFd; 2],
    /// From each socket to the other.
    directions: [Direction; 2],
    /// The process has ended. What it has sent is passed on, and nothing waits for the other side.
    is_last: bool,
}

#[derive(Default)]
struct Direction {
    buffer: Vec<u8>,
    sent: usize,
    is_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Some,
    /// Until one of the sockets has news.
    None,
    Broken,
}

impl Tunnel {
    pub(super) fn new(
        reactor: &'static Reactor,
        id: u64,
        sockets: [OwnedFd; 2],
        ended: Box<dyn Fn() + Send + Sync>,
    ) -> Arc<Self> {
        let directions = [Direction::default(), Direction::default()];
        let ends = Ends { sockets, directions, is_last: false };
        Arc::new(Self { id, reactor, ends: Mutex::new(Some(ends)), ended })
    }

    pub(super) fn start(self: &Arc<Self>) {
        self.reactor.follow(self.id, Arc::clone(self) as Arc<dyn Followed>);
        let ends = lock(&self.ends);
        let is_followed = ends.as_ref().is_some_and(|ends| {
            let parts = ends.sockets.iter().zip(0..);
            parts
                .into_iter()
                .all(|(socket, part)| self.reactor.add_both(self.id, part, socket.as_fd()))
        });
        drop(ends);
        if !is_followed {
            self.close();
            // The relay may have closed it before it was followed.
            self.reactor.leave(self.id);
        }
    }

    /// Passes on what the process has sent before its end, and closes then.
    pub(super) fn finish(self: &Arc<Self>) {
        if let Some(ends) = lock(&self.ends).as_mut() {
            ends.is_last = true;
        }
        Arc::clone(self).on_ready(0);
    }

    pub(super) fn close(&self) {
        if let Some(ends) = lock(&self.ends).take() {
            for socket in &ends.sockets {
                self.reactor.remove(socket.as_fd());
            }
            self.reactor.leave(self.id);
            drop(ends);
            (self.ended)();
        }
    }
}

impl Ends {
    fn pass(&mut self) -> Progress {
        let [one, other] = &self.sockets;
        let [forth, back] = &mut self.directions;
        match (forth.pass(one, other), back.pass(other, one)) {
            (Progress::Broken, _) | (_, Progress::Broken) => Progress::Broken,
            (Progress::None, Progress::None)
                if back.is_over() && (self.is_last || forth.is_over()) =>
            {
                Progress::Broken
            }
            (Progress::None, Progress::None) => Progress::None,
            _ => Progress::Some,
        }
    }
}

impl Direction {
    fn is_over(&self) -> bool {
        self.is_ended && self.sent == self.buffer.len()
    }

    fn pass(&mut self, from: &OwnedFd, to: &OwnedFd) -> Progress {
        let mut progress = Progress::None;
        if self.sent == self.buffer.len() && !self.is_ended {
            self.sent = 0;
            self.buffer.resize(BUFFER, 0);
            let got = read(from, &mut self.buffer[..]);
            self.buffer.truncate(got.unwrap_or(0));
            match got {
                Ok(0) => {
                    self.is_ended = true;
                    // The other direction may go on.
                    let _ = shutdown(to, Shutdown::Write);
                }
                Ok(_) | Err(Errno::INTR) => progress = Progress::Some,
                Err(Errno::AGAIN) => self.buffer = Vec::new(),
                Err(_) => return Progress::Broken,
            }
        }
        if self.sent < self.buffer.len() {
            match send(to, &self.buffer[self.sent..], SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.sent += count;
                    progress = Progress::Some;
                }
                Err(Errno::INTR) => progress = Progress::Some,
                Err(Errno::AGAIN) => {}
                // Nobody reads it. What was sent in the other direction arrives all the same.
                Err(_) => {
                    (self.sent, self.is_ended) = (0, true);
                    self.buffer = Vec::new();
                    let _ = shutdown(from, Shutdown::Read);
                    progress = Progress::Some;
                }
            }
        }
        progress
    }
}

impl Followed for Tunnel {
    /// Passes on what there is. The kernel tells of news once, so nothing may be left over.
    fn on_ready(self: Arc<Self>, _: Part) {
        let mut ends = lock(&self.ends);
        let Some(open) = ends.as_mut() else { return };
        let mut last = Progress::Some;
        for _ in 0..TURN {
            last = open.pass();
            if last != Progress::Some {
                break;
            }
        }
        if last == Progress::Some
            && let [socket, _] = &open.sockets
        {
            self.reactor.tell_again(self.id, 0, socket.as_fd());
        }
        drop(ends);
        if last == Progress::Broken {
            self.close();
        }
    }

    fn on_deadline(self: Arc<Self>) {}
}
