//! The broker of names.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, socket_domain, socket_timeout};
use rustix::net::{AddressFamily, listen};
use toolwright_sandbox::wire::{Answer, Ask, NO_LEAD, Resolved, receive_from_gate, send_to_gate};

use super::dns::{Found, Packet};
use super::request::{self, Request, Target, is_agent};
use super::resolver::Resolver;
use super::socket::{
    Progress, call_on, connects_again, is_plain, is_tcp, is_unix_stream, own_network, progress,
    take_over, waits,
};
use super::waiting::{Asked, Caller, Waiting, Way};
use crate::broker::caller::Caller as CallingThread;
use crate::broker::listener::Listener;
use crate::broker::socket::{Begun, connect_shortly, is_closed, set_limit};
use crate::broker::timer::Timer;

/// Events handled at once, so that the other descriptors of the worker get their turn.
const MAX_EVENTS: usize = 8;
/// How many questions are taken at once.
const MAX_QUESTIONS: usize = 8;
/// How many callers may wait, for the host or for a connection. Each costs the worker descriptors.
const MAX_WAITING: usize = 256;

// The tokens of descriptors that are ready. Those of waiting callers begin at `FIRST_WAITING`.
const LISTENER: u64 = 0;
const TIMER: u64 = 1;
const RESOLVER: u64 = 2;
const GATE: u64 = 3;
const FIRST_WAITING: u64 = 4;

/// Answers the calls of one command, and its questions about names.
pub(crate) struct NamesBroker<'w> {
    listener: Listener,
    resolver: &'w Resolver,
    /// `None` once the host is gone, or for a command that has none.
    gate: Option<OwnedFd>,
    timer: Timer,
    /// Everything that [`handle`](Self::handle) reacts to.
    ready: OwnedFd,
    /// What the host has been asked.
    asked: BTreeMap<u64, Asked>,
    waiting: BTreeMap<u64, Waiting>,
    next: u64,
}

impl<'w> NamesBroker<'w> {
    /// Takes over what came from the child of a command.
    pub(crate) fn new(
        listener: Listener,
        gate: Option<OwnedFd>,
        resolver: &'w Resolver,
    ) -> io::Result<Self> {
        resolver.clear();
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = Timer::new()?;
        let mut sources = vec![
            (listener.as_fd(), LISTENER),
            (timer.as_fd(), TIMER),
            (resolver.as_fd(), RESOLVER),
        ];
        sources.extend(gate.as_ref().map(|gate| (gate.as_fd(), GATE)));
        for (source, name) in sources {
            epoll::add(&ready, source, epoll::EventData::new_u64(name), epoll::EventFlags::IN)?;
        }
        Ok(Self {
            listener,
            resolver,
            gate,
            timer,
            ready,
            asked: BTreeMap::new(),
            waiting: BTreeMap::new(),
            next: FIRST_WAITING,
        })
    }

    /// Answers what can be answered now. To be called whenever the descriptor is readable; comes back
    /// soon, even if more is waiting. After an error the broker is to be dropped.
    pub(crate) fn handle(&mut self) -> io::Result<()> {
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
                RESOLVER => self.hear_questions()?,
                GATE => self.hear_host()?,
                name => self.look_after(name),
            }
        }
        self.timer.set(self.waiting.values().filter_map(|waiting| waiting.until).min())
    }

    fn take_in(&mut self) -> io::Result<()> {
        let Some(notification) = self.listener.receive()? else { return Ok(()) };
        let id = notification.id;
        let read = CallingThread::new(notification.thread)
            .and_then(|caller| request::read(&notification, &caller));
        match read {
            // The data is the caller's only if the caller still waits. If not, nothing is answered.
            _ if !self.listener.is_valid(id) => self.listener.answer(id, Err(Errno::NOSYS)),
            Ok((socket, place, request)) => {
                match self.make(Caller { id, place, socket }, request) {
                    Ok(None) => {}
                    Ok(Some(())) => self.listener.answer(id, Ok(())),
                    Err(error) => self.listener.answer(id, Err(error)),
                }
            }
            Err(error) => self.listener.answer(id, Err(error)),
        }
        Ok(())
    }

    /// `None`: the caller waits.
    fn make(&mut self, caller: Caller, request: Request) -> Result<Option<()>, Errno> {
        let socket = &caller.socket;
        if let Request::SetLimit(option, value) = request {
            return set_limit(socket, option, &value).map(Some);
        }
        let is_foreign = own_network(socket)? != self.resolver.network;
        match request {
            Request::Connect(_) if is_foreign => Err(connects_again(socket)),
            _ if is_foreign => Err(Errno::INVAL),
            Request::Connect(bytes) if is_tcp(socket)? => self.connect(caller, &bytes),
            Request::Connect(bytes) if is_agent(&bytes) && is_unix_stream(socket)? => {
                let number = self.ask(Ask::Agent)?;
                self.asked.insert(number, Asked::Connection(caller));
                Ok(None)
            }
            _ if !is_plain(socket)? => Err(Errno::AFNOSUPPORT),
            Request::Connect(bytes) => call_on(socket, &bytes, libc::connect).map(Some),
            Request::Bind(bytes) => call_on(socket, &bytes, libc::bind).map(Some),
            Request::Listen(backlog) => listen(socket, backlog).map(Some),
            Request::SetLimit(..) => Err(Errno::INVAL),
        }
    }

    fn connect(&mut self, caller: Caller, bytes: &[u8]) -> Result<Option<()>, Errno> {
        let own = match Target::read(bytes)? {
            Target::None => return call_on(&caller.socket, bytes, libc::connect).map(Some),
            Target::Loopback(address) => address,
            Target::Host(address, port) if is_closed(&caller.socket)? => {
                let is_v6 = socket_domain(&caller.socket)? == AddressFamily::INET6;
                let has_limit = socket_timeout(&caller.socket, Timeout::Send)?.is_some();
                let waits = waits(&caller.socket)? && !has_limit;
                let number = self.ask(|id| Ask::Dial(id, address, port, is_v6, waits))?;
                self.asked.insert(number, Asked::Connection(caller));
                return Ok(None);
            }
            // It is connected, connects or listens, and the kernel says so.
            Target::Host(address, port) => SocketAddr::new(address, port),
        };
        match connect_shortly(&caller.socket, &own) {
            Begun::Done(result) => result.map(Some),
            Begun::Waits(limit, then) => {
                self.keep(caller, Way::Own(own), limit, then)?;
                Ok(None)
            }
        }
    }

    fn ask(&mut self, ask: impl FnOnce(u64) -> Ask) -> Result<u64, Errno> {
        self.make_room()?;
        let gate = self.gate.as_ref().ok_or(Errno::from_raw_os_error(NO_LEAD))?;
        let number = self.next;
        self.next += 1;
        send_to_gate(gate, &ask(number).packet(), None)?;
        Ok(number)
    }

    fn make_room(&mut self) -> Result<(), Errno> {
        if self.waiting.len() + self.asked.len() >= MAX_WAITING {
            self.forget_the_dead();
        }
        if self.waiting.len() + self.asked.len() >= MAX_WAITING {
            Err(Errno::AGAIN)
        } else {
            Ok(())
        }
    }

    fn keep(
        &mut self,
        caller: Caller,
        way: Way,
        limit: Option<Duration>,
        then: Errno,
    ) -> Result<(), Errno> {
        self.make_room()?;
        let name = self.next;
        self.next += 1;
        let until = limit.map(|limit| Instant::now() + limit);
        let waiting = Waiting { caller, way, until, then };
        // Errors and closed ends are always reported.
        let flags = epoll::EventFlags::OUT;
        epoll::add(&self.ready, waiting.watched(), epoll::EventData::new_u64(name), flags)?;
        self.waiting.insert(name, waiting);
        Ok(())
    }

    fn hear_questions(&mut self) -> io::Result<()> {
        for _ in 0..MAX_QUESTIONS {
            let Some((bytes, from)) = self.resolver.receive()? else { return Ok(()) };
            let query = match Packet::read(&bytes) {
                Packet::Query(query) => query,
                Packet::Odd(answer) => {
                    self.resolver.send(&answer, from);
                    continue;
                }
                Packet::Nonsense => continue,
            };
            let name = query.name.clone();
            let asked = if query.wants_addresses {
                self.ask(|id| Ask::Resolve(id, name))
            } else {
                self.ask(|id| Ask::Check(id, name))
            };
            match asked {
                Ok(number) => {
                    self.asked.insert(number, Asked::Name(query, from));
                }
                Err(_) => self.resolver.send(&query.answer(Found::Failed), from),
            }
        }
        Ok(())
    }

    fn hear_host(&mut self) -> io::Result<()> {
        let Some(gate) = &self.gate else { return Ok(()) };
        let (packet, socket) = match receive_from_gate(gate, false) {
            Ok(Some(received)) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Ok(None) | Err(_) => {
                self.lose_host();
                return Ok(());
            }
        };
        match Answer::read_packet(&packet).map_err(io::Error::other)? {
            Answer::Resolved(number, resolved) => {
                if let Some(Asked::Name(query, from)) = self.asked.remove(&number) {
                    let found = match &resolved {
                        Resolved::Addresses(addresses) => Found::Addresses(addresses),
                        Resolved::Nothing => Found::Nothing,
                        Resolved::Failed => Found::Failed,
                    };
                    self.resolver.send(&query.answer(found), from);
                }
            }
            Answer::NotDialed(number, errno) => {
                if let Some(Asked::Connection(caller)) = self.asked.remove(&number) {
                    self.listener.answer(caller.id, Err(Errno::from_raw_os_error(errno)));
                }
            }
            Answer::Dialed(number) => {
                if let Some(Asked::Connection(caller)) = self.asked.remove(&number) {
                    let id = caller.id;
                    // The kernel drops a descriptor that has no place here.
                    let given = socket.ok_or(Errno::MFILE).and_then(|new| self.give(caller, new));
                    if let Err(error) = given {
                        self.listener.answer(id, Err(error));
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives a caller the socket of the host, at once or when it is connected.
    fn give(&mut self, caller: Caller, new: OwnedFd) -> Result<(), Errno> {
        match (progress(&new), waits(&caller.socket)?) {
            (Progress::Failed(error), _) => Err(error),
            (Progress::Connecting, true) => {
                let limit = socket_timeout(&caller.socket, Timeout::Send)?;
                self.keep(caller, Way::Dialed(new), limit, Errno::INPROGRESS)
            }
            (Progress::Connecting, false) => {
                self.replace(&caller, &new, Err(Errno::INPROGRESS));
                Ok(())
            }
            (Progress::Connected, _) => {
                self.replace(&caller, &new, Ok(()));
                Ok(())
            }
        }
    }

    /// Puts the new socket in the place of the caller's, and answers.
    fn replace(&self, caller: &Caller, new: &OwnedFd, result: Result<(), Errno>) {
        let Caller { id, place, socket } = caller;
        let replaced = take_over(new, socket).and_then(|()| {
            self.listener.replace(*id, new.as_fd(), place.descriptor, place.closes_on_exec())
        });
        self.listener.answer(*id, replaced.and(result));
    }

    fn lose_host(&mut self) {
        if let Some(gate) = self.gate.take() {
            let _ = epoll::delete(&self.ready, &gate);
        }
        for asked in std::mem::take(&mut self.asked).into_values() {
            if let Asked::Connection(caller) = asked {
                self.listener.answer(caller.id, Err(Errno::from_raw_os_error(NO_LEAD)));
            }
        }
    }

    fn look_after(&mut self, name: u64) {
        let Some(waiting) = self.waiting.get(&name) else { return };
        let result = match &waiting.way {
            Way::Own(address) => match connect_shortly(&waiting.caller.socket, address) {
                Begun::Waits(..) => return,
                // Another thread waited for the same connection, and took its error.
                Begun::Done(Err(Errno::ISCONN)) => Ok(()),
                // The caller has made the socket non-blocking, and no longer waits.
                Begun::Done(result) => result,
            },
            Way::Dialed(socket) => match progress(socket) {
                Progress::Connecting => return,
                Progress::Connected => Ok(()),
                Progress::Failed(error) => Err(error),
            },
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
        let is_dead = |id: u64| !self.listener.is_valid(id);
        let dead: Vec<_> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| is_dead(waiting.caller.id))
            .map(|(&name, _)| name)
            .collect();
        let unheard: Vec<_> = self
            .asked
            .iter()
            .filter(|(_, asked)| matches!(asked, Asked::Connection(caller) if is_dead(caller.id)))
            .map(|(&number, _)| number)
            .collect();
        for name in dead {
            self.end(name, Err(Errno::INTR));
        }
        for number in unheard {
            self.asked.remove(&number);
        }
    }

    fn end(&mut self, name: u64, result: Result<(), Errno>) {
        let Some(waiting) = self.waiting.remove(&name) else { return };
        // The caller may hold the same socket, so closing ours would not end the watch.
        let _ = epoll::delete(&self.ready, waiting.watched());
        match (&waiting.way, result) {
            (Way::Dialed(new), Ok(())) => self.replace(&waiting.caller, new, Ok(())),
            (_, result) => self.listener.answer(waiting.caller.id, result),
        }
    }
}

impl AsFd for NamesBroker<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}
