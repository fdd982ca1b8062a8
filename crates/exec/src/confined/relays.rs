//! Connections whose first bytes are read: the command has one end of a connection over the loopback
//! interface, and the host process carries what is said between its other end and the target.
//!
//! One thread does so for all connections of a command. It begins with the first of them and ends with the
//! command: what that has written is delivered, for a while, and nothing else is.

mod flow;
mod pair;
mod relay;

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::{Errno, read, write};
use toolwright_sandbox::wire::Answer;

use super::gate::Gate;
use crate::connections::{Opening, Openings, Verdict};
use flow::BLOCK;
pub(super) use relay::Order;
use relay::{Event, Relay, Side};

/// How many connections of a command are relayed at once. Each costs the host process two descriptors.
const MAX_RELAYS: usize = 256;
/// How long what a command has written may take to be delivered after its end.
const MAX_LATE: Duration = Duration::from_secs(5);
const STACK: usize = 256 << 10;
const MAX_EVENTS: usize = 64;
/// The token of the descriptor that is written to when there is something in the inbox.
const INBOX: u64 = u64::MAX;

/// What the thread of a command is told.
pub(super) struct Inbox {
    wake: OwnedFd,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    orders: Vec<Order>,
    /// How many connections there are, with those that are ordered.
    count: usize,
    /// The command has ended.
    is_over: bool,
}

impl Inbox {
    /// Begins the thread.
    pub(super) fn open(gate: &Arc<Gate>) -> io::Result<Arc<Self>> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let inbox = Arc::new(Self { wake, state: Mutex::default() });
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let token = epoll::EventData::new_u64(INBOX);
        epoll::add(&epoll, &inbox.wake, token, epoll::EventFlags::IN)?;
        let (gate, ours) = (Arc::clone(gate), Arc::clone(&inbox));
        let builder = thread::Builder::new().name("toolwright-tls".to_owned()).stack_size(STACK);
        builder.spawn(move || {
            let openings = gate.openings().unwrap_or(&Unread);
            let relays = HashMap::new();
            Thread { gate: &gate, openings, inbox: ours, epoll, relays, next: 0, until: None }
                .run();
        })?;
        Ok(inbox)
    }

    /// Gives it back if there are too many, or the command has ended.
    pub(super) fn take(&self, order: Order) -> Result<(), Order> {
        let mut state = self.lock();
        if state.is_over || state.count >= MAX_RELAYS {
            return Err(order);
        }
        state.count += 1;
        state.orders.push(order);
        drop(state);
        self.wake();
        Ok(())
    }

    /// The command has ended.
    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.wake();
    }

    fn wake(&self) {
        let _ = write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Watched {
    relay: Relay,
    /// The events that the target and the client wait for. `None`: that socket is missing, or has hung up.
    wanted: [Option<epoll::EventFlags>; 2],
    is_hung: [bool; 2],
}

struct Thread<'g> {
    gate: &'g Gate,
    openings: &'g dyn Openings,
    inbox: Arc<Inbox>,
    epoll: OwnedFd,
    relays: HashMap<u64, Watched>,
    next: u64,
    /// When it ends, after the command has.
    until: Option<Instant>,
}

impl Thread<'_> {
    fn run(mut self) {
        let mut block = vec![0; BLOCK];
        let mut events = Vec::with_capacity(MAX_EVENTS);
        loop {
            if self.until.is_some_and(|until| self.relays.is_empty() || until <= Instant::now()) {
                return;
            }
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, room, self.rest().as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                match event.data.u64() {
                    INBOX => self.empty_inbox(),
                    token => self.advance(token, event.flags, &mut block),
                }
            }
            self.expire();
        }
    }

    /// The time until the next deadline.
    fn rest(&self) -> Option<Timespec> {
        let times = self.relays.values().filter_map(|watched| watched.relay.until());
        let next = times.chain(self.until).min()?;
        let rest = next.saturating_duration_since(Instant::now());
        // The system may count in milliseconds.
        Timespec::try_from(rest + Duration::from_millis(1)).ok()
    }

    fn empty_inbox(&mut self) {
        let _ = read(&self.inbox.wake, &mut [0_u8; 8]);
        let (orders, is_over) = {
            let mut state = self.inbox.lock();
            (std::mem::take(&mut state.orders), state.is_over)
        };
        for order in orders {
            let number = self.next;
            self.next += 1;
            let watched =
                Watched { relay: Relay::new(order), wanted: [None; 2], is_hung: [false; 2] };
            self.relays.insert(number, watched);
            self.settle(number, &Event::Nothing);
        }
        if is_over && self.until.is_none() {
            self.until = Some(Instant::now() + MAX_LATE);
            let all: Vec<_> = self.relays.keys().copied().collect();
            for number in all {
                if let Some(watched) = self.relays.get_mut(&number) {
                    let event = watched.relay.be_last();
                    self.settle(number, &event);
                }
            }
        }
    }

    /// Gives both ends to who ends TLS for the host. `false`: nobody does.
    fn hand_over(&mut self, number: u64) -> bool {
        let Some(watched) = self.relays.get(&number) else { return false };
        let Order { host, port, .. } = &watched.relay.order;
        let Some(end) = self.gate.tls_end(host, *port) else { return false };
        for side in [Side::Target, Side::Client] {
            let is_watched = watched.wanted[side as usize].is_some();
            if let (true, Some(end)) = (is_watched, watched.relay.end(side)) {
                let _ = epoll::delete(&self.epoll, end);
            }
        }
        if let Some(watched) = self.relays.remove(&number) {
            let (Order { host, port, target, .. }, client) = watched.relay.into_ends();
            if let Some(client) = client {
                end.take(&host, port, client.into(), target.into());
            }
        }
        self.inbox.lock().count -= 1;
        true
    }

    fn advance(&mut self, token: u64, flags: epoll::EventFlags, block: &mut [u8]) {
        let (number, side) = (token / 2, side_of(token % 2));
        let Some(watched) = self.relays.get_mut(&number) else { return };
        let hung = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        if let (true, Some(end)) = (hung, watched.relay.end(side)) {
            // It would be reported again and again.
            let _ = epoll::delete(&self.epoll, end);
            watched.is_hung[side as usize] = true;
            watched.wanted[side as usize] = None;
        }
        let event = watched.relay.advance((side, flags), watched.is_hung, self.openings, block);
        self.settle(number, &event);
    }

    fn expire(&mut self) {
        let now = Instant::now();
        let is_late = |watched: &Watched| watched.relay.until().is_some_and(|until| until <= now);
        let late: Vec<_> =
            self.relays.iter().filter(|(_, one)| is_late(one)).map(|(&number, _)| number).collect();
        for number in late {
            if let Some(watched) = self.relays.get_mut(&number) {
                let event = watched.relay.expire();
                self.settle(number, &event);
            }
        }
    }

    /// Tells what has happened, and waits for what comes next.
    fn settle(&mut self, number: u64, event: &Event) {
        let Some(watched) = self.relays.get_mut(&number) else { return };
        let order = &watched.relay.order;
        let connections = self.gate.connections();
        let is_over = match event {
            Event::Nothing => false,
            Event::Dialed(client) => {
                self.gate.answer(&Answer::Dialed(order.number), Some(client));
                false
            }
            Event::NotDialed(error) => {
                connections.closed(&order.host, order.port, &order.target, Verdict::Failed);
                if let Some(error) = error {
                    let answer = Answer::NotDialed(order.number, error.raw_os_error());
                    self.gate.answer(&answer, None);
                }
                true
            }
            Event::Refused(refusal) => {
                let verdict = Verdict::Refused(*refusal);
                connections.closed(&order.host, order.port, &order.target, verdict);
                true
            }
            Event::Ended => true,
        };
        if !is_over && watched.relay.is_dialed() && self.hand_over(number) {
            return;
        }
        let Some(watched) = self.relays.get_mut(&number) else { return };
        if is_over || !watched.watch(&self.epoll, number) {
            if let Some(watched) = self.relays.remove(&number) {
                watched.relay.close(event);
            }
            self.inbox.lock().count -= 1;
        }
    }
}

/// Used where no rule inspects the first bytes.
struct Unread;

impl Openings for Unread {
    fn of_client(&self, _: &str, _: u16, _: &[u8], _: bool) -> Opening {
        Opening::Open
    }

    fn asks_again(&self, _: &[u8]) -> Option<bool> {
        Some(false)
    }
}

impl Watched {
    /// `false`: that cannot be.
    fn watch(&mut self, epoll: &OwnedFd, number: u64) -> bool {
        for side in [Side::Target, Side::Client] {
            let index = side as usize;
            let wanted = self.relay.wanted(side);
            let Some(end) = self.relay.end(side).filter(|_| !self.is_hung[index]) else { continue };
            let token = epoll::EventData::new_u64(number * 2 + index as u64);
            let done = match self.wanted[index] {
                Some(before) if before == wanted => continue,
                Some(_) => epoll::modify(epoll, end, token, wanted),
                None => epoll::add(epoll, end, token, wanted),
            };
            if done.is_err() {
                return false;
            }
            self.wanted[index] = Some(wanted);
        }
        true
    }
}

fn side_of(index: u64) -> Side {
    if index == 0 { Side::Target } else { Side::Client }
}
