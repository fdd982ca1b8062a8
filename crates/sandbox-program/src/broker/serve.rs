//! The broker.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::listener::Listener;
use super::request::{self, Request};
use super::socket::{Begun, bind_to, connect_shortly, listen_on, set_limit};
use super::timer::Timer;

/// Events handled at once, so that the other descriptors of the worker get their turn. Each may take a
/// tick of the kernel's clock.
const MAX_EVENTS: usize = 8;

/// How many callers may wait for a connection. Each costs the worker a descriptor.
const MAX_WAITING: usize = 256;

// The tokens of descriptors that are ready. Those of waiting callers begin at `FIRST_WAITING`.
const LISTENER: u64 = 0;
const TIMER: u64 = 1;
const FIRST_WAITING: u64 = 2;

/// Answers the calls of one command. See the [module](super) for how a worker uses it.
pub struct Broker {
    listener: Listener,
    timer: Timer,
    /// Everything that [`handle`](Self::handle) reacts to.
    ready: OwnedFd,
    waiting: BTreeMap<u64, Waiting>,
    next: u64,
    /// Whether callers reach the loopback interface alone.
    is_bound: bool,
}

/// A caller whose connection is not there yet.
struct Waiting {
    id: u64,
    socket: OwnedFd,
    address: SocketAddr,
    until: Option<Instant>,
    /// The answer when its time is over.
    then: Errno,
}

impl Broker {
    /// Takes over the listener that a filter was installed with.
    pub fn new(listener: OwnedFd) -> io::Result<Self> {
        Self::of(Listener::new(listener), true)
    }

    pub(crate) fn of(listener: Listener, is_bound: bool) -> io::Result<Self> {
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = Timer::new()?;
        for (source, name) in [(listener.as_fd(), LISTENER), (timer.as_fd(), TIMER)] {
            epoll::add(&ready, source, epoll::EventData::new_u64(name), epoll::EventFlags::IN)?;
        }
        Ok(Self { listener, timer, ready, waiting: BTreeMap::new(), next: FIRST_WAITING, is_bound })
    }

    /// Answers the calls that can be answered now. To be called whenever the descriptor is readable;
    /// comes back soon, even if more are waiting. After an error the broker is to be dropped.
    pub fn handle(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(MAX_EVENTS);
        let now = Timespec::default();
        match epoll::wait(&self.ready, rustix::buffer::spare_capacity(&mut events), Some(&now)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events {
            let (name, flags) = (event.data.u64(), event.flags);
            match name {
                LISTENER if flags.contains(epoll::EventFlags::IN) => self.take_in()?,
                // No process is left that could call.
                LISTENER => epoll::delete(&self.ready, &self.listener)?,
                TIMER => self.give_up_late(),
                name => self.look_after(name),
            }
        }
        self.timer.set(self.waiting.values().filter_map(|waiting| waiting.until).min())
    }

    fn take_in(&mut self) -> io::Result<()> {
        let Some(notification) = self.listener.receive()? else { return Ok(()) };
        let id = notification.id;
        match request::read(&notification, self.is_bound) {
            // The data is the caller's only if the caller still waits. If not, nothing is answered.
            _ if !self.listener.is_valid(id) => self.listener.answer(id, Err(Errno::NOSYS)),
            Ok((socket, request)) => self.make(id, socket, request),
            Err(error) => self.listener.answer(id, Err(error)),
        }
        Ok(())
    }

    fn make(&mut self, id: u64, socket: OwnedFd, request: Request) {
        let result = match request {
            Request::Connect(address) => match connect_shortly(&socket, &address) {
                Begun::Done(result) => result,
                Begun::Waits(limit, then) => {
                    let until = limit.map(|limit| Instant::now() + limit);
                    match self.keep(Waiting { id, socket, address, until, then }) {
                        Ok(()) => return,
                        Err(error) => Err(error),
                    }
                }
            },
            Request::Bind(address) => bind_to(&socket, &address),
            Request::Listen(backlog) => listen_on(&socket, backlog),
            Request::SetLimit(option, value) => set_limit(&socket, option, &value),
        };
        self.listener.answer(id, result);
    }

    fn keep(&mut self, waiting: Waiting) -> Result<(), Errno> {
        if self.waiting.len() >= MAX_WAITING {
            self.forget_the_dead();
        }
        if self.waiting.len() >= MAX_WAITING {
            return Err(Errno::AGAIN);
        }
        let name = self.next;
        self.next += 1;
        // Errors and closed ends are always reported.
        let flags = epoll::EventFlags::OUT;
        epoll::add(&self.ready, &waiting.socket, epoll::EventData::new_u64(name), flags)?;
        self.waiting.insert(name, waiting);
        Ok(())
    }

    fn look_after(&mut self, name: u64) {
        let Some(waiting) = self.waiting.get(&name) else { return };
        let result = match connect_shortly(&waiting.socket, &waiting.address) {
            Begun::Waits(..) => return,
            // Another thread waited for the same connection, and took its error.
            Begun::Done(Err(Errno::ISCONN)) => Ok(()),
            // The caller has made the socket non-blocking, and no longer waits.
            Begun::Done(result) => result,
        };
        self.end(name, result);
    }

    fn give_up_late(&mut self) {
        let now = Instant::now();
        let late: Vec<_> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.until.is_some_and(|until| until <= now))
            .map(|(&name, waiting)| (name, waiting.then))
            .collect();
        for (name, error) in late {
            self.end(name, Err(error));
        }
    }

    fn forget_the_dead(&mut self) {
        let is_dead = |waiting: &Waiting| !self.listener.is_valid(waiting.id);
        let dead: Vec<_> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| is_dead(waiting))
            .map(|(&name, _)| name)
            .collect();
        for name in dead {
            self.end(name, Ok(()));
        }
    }

    fn end(&mut self, name: u64, result: Result<(), Errno>) {
        if let Some(waiting) = self.waiting.remove(&name) {
            // The caller holds the same socket, so closing ours would not end the watch.
            let _ = epoll::delete(&self.ready, &waiting.socket);
            self.listener.answer(waiting.id, result);
        }
    }
}

impl AsFd for Broker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}
