//! The host's end of a gate: it answers what a worker asks about hosts, and connects.
//!
//! A name is looked up once for each time that a command asks for it, and its addresses are checked then.
//! Each that passes gets a synthetic address, which stands for this name at this address as long as the
//! command runs. So what is dialled is what was checked, whatever the name leads to later.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with, socketpair,
};
use toolwright_sandbox::wire::{
    Answer, Ask, NO_LEAD, Resolved, SYNTHETIC, receive_from_gate, send_to_gate,
};

use crate::connections::{Connections, Lead, Refusal, Verdict};

/// How many addresses of one name are answered.
const MAX_ADDRESSES: usize = 8;
/// How many pairs of a name and an address a command may have.
const MAX_LEADS: usize = 4096;
/// How many names a command may ask for, and how many bytes they may have together: what a name says
/// reaches those who answer for it.
const MAX_NAMES: usize = 1024;
const MAX_NAME_BYTES: usize = 32 << 10;
/// How many names are looked up at once, each on a thread of its own.
const MAX_LOOKUPS: usize = 32;
const STACK: usize = 256 << 10;

/// Opens a gate for one command, and returns the worker's end. A thread answers until that is closed.
pub(super) fn open(connections: &Arc<Connections>) -> io::Result<OwnedFd> {
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let gate = Arc::new(Gate {
        socket: ours,
        connections: Arc::clone(connections),
        leads: Mutex::default(),
        lookups: AtomicUsize::new(0),
    });
    thread::Builder::new()
        .name("toolwright-gate".to_owned())
        .stack_size(STACK)
        .spawn(move || gate.serve())?;
    Ok(theirs)
}

struct Gate {
    socket: OwnedFd,
    connections: Arc<Connections>,
    leads: Mutex<Leads>,
    /// How many names are being looked up.
    lookups: AtomicUsize,
}

/// What synthetic addresses stand for, in the order in which they were given out.
#[derive(Default)]
struct Leads {
    given: Vec<(String, Lead)>,
    numbers: HashMap<(String, IpAddr), usize>,
    names: HashSet<String>,
    name_bytes: usize,
}

impl Leads {
    /// Whether one more name may be asked for.
    fn admit(&mut self, name: &str) -> bool {
        if self.names.contains(name) {
            return true;
        }
        let bytes = self.name_bytes + name.len();
        let has_room = self.names.len() < MAX_NAMES && bytes <= MAX_NAME_BYTES;
        if has_room {
            self.name_bytes = bytes;
            self.names.insert(name.to_owned());
        }
        has_room
    }

    fn synthetic(&mut self, name: &str, lead: Lead) -> Option<u32> {
        let key = (name.to_owned(), lead.address);
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None if self.given.len() < MAX_LEADS => {
                let number = self.given.len();
                self.given.push((name.to_owned(), lead));
                self.numbers.insert(key, number);
                number
            }
            None => return None,
        };
        // The first one is that of the interface.
        u32::from(SYNTHETIC.0).checked_add(u32::try_from(number + 1).ok()?)
    }

    fn lead(&self, address: IpAddr) -> Option<&(String, Lead)> {
        let IpAddr::V4(address) = address else { return None };
        let number = u32::from(address).checked_sub(u32::from(SYNTHETIC.0))?.checked_sub(1)?;
        self.given.get(usize::try_from(number).ok()?)
    }
}

impl Gate {
    fn serve(self: Arc<Self>) {
        loop {
            self.wait();
            let Ok(Some((packet, _))) = receive_from_gate(&self.socket, true) else { return };
            match Ask::read_packet(&packet) {
                Ok(Ask::Resolve(number, name)) => self.resolve(number, name),
                Ok(Ask::Check(number, name)) => {
                    let resolved = match self.check(&name) {
                        Ok(()) => Resolved::Addresses(Vec::new()),
                        Err(resolved) => resolved,
                    };
                    self.answer(&Answer::Resolved(number, resolved), None);
                }
                Ok(Ask::Dial(number, address, port, is_v6)) => {
                    match self.dial(address, port, is_v6) {
                        Ok(socket) => self.answer(&Answer::Dialed(number), Some(&socket)),
                        Err(error) => {
                            self.answer(&Answer::NotDialed(number, error.raw_os_error()), None);
                        }
                    }
                }
                // The other end is not of this build.
                Err(_) => return,
            }
        }
    }

    /// Waits for a question, and hears meanwhile of connections that are gone.
    fn wait(&self) {
        loop {
            let Some(news) = self.connections.news() else { return };
            let mut polled =
                [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&*news, PollFlags::IN)];
            if poll(&mut polled, None).is_err() {
                return;
            }
            let [asked, heard] = polled.map(|polled| !polled.revents().is_empty());
            if heard {
                self.connections.hear();
            }
            if asked {
                return;
            }
        }
    }

    fn answer(&self, answer: &Answer, socket: Option<&OwnedFd>) {
        // A worker that takes no answers has its callers wait; it is gone, or is being killed.
        let _ = send_to_gate(&self.socket, &answer.packet(), socket.map(AsFd::as_fd));
    }

    fn leads(&self) -> MutexGuard<'_, Leads> {
        self.leads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a name may be asked for. If not, what is answered.
    fn check(&self, name: &str) -> Result<(), Resolved> {
        if let Some(refusal) = self.connections.rules.refusal(name, None) {
            self.connections.note(name, None, Verdict::Refused(refusal));
            return Err(Resolved::Nothing);
        }
        if !self.leads().admit(name) {
            self.connections.note("", None, Verdict::TooMany);
            return Err(Resolved::Failed);
        }
        Ok(())
    }

    fn resolve(self: &Arc<Self>, number: u64, name: String) {
        if let Err(resolved) = self.check(&name) {
            return self.answer(&Answer::Resolved(number, resolved), None);
        }
        if let Some(lead) = self.connections.rules.lead(&name) {
            let resolved = self.give_out(&name, vec![lead]);
            return self.answer(&Answer::Resolved(number, resolved), None);
        }
        let gate = Arc::clone(self);
        let is_free = self.lookups.fetch_add(1, Ordering::Relaxed) < MAX_LOOKUPS;
        let looks_up = move || {
            let resolved = gate.look_up(&name);
            gate.answer(&Answer::Resolved(number, resolved), None);
            gate.lookups.fetch_sub(1, Ordering::Relaxed);
        };
        let builder = thread::Builder::new().name("toolwright-name".to_owned());
        if !is_free || builder.spawn(looks_up).is_err() {
            self.lookups.fetch_sub(1, Ordering::Relaxed);
            self.answer(&Answer::Resolved(number, Resolved::Failed), None);
        }
    }

    fn look_up(&self, name: &str) -> Resolved {
        let Ok(found) = (name, 0).to_socket_addrs() else {
            self.connections.note(name, None, Verdict::Unknown);
            return Resolved::Nothing;
        };
        let rules = &self.connections.rules;
        let all: Vec<IpAddr> = found.map(|address| plain(address.ip())).collect();
        let open = all.iter().filter(|address| rules.may_lead_to(**address));
        let mut leads: Vec<_> = open.map(|&address| Lead { address, port: None }).collect();
        if leads.is_empty() {
            self.connections.note(name, None, Verdict::Private);
            return Resolved::Nothing;
        }
        // Not every machine that has addresses of IPv6 reaches others by it.
        leads.sort_by_key(|lead| lead.address.is_ipv6());
        leads.truncate(MAX_ADDRESSES);
        self.give_out(name, leads)
    }

    fn give_out(&self, name: &str, leads: Vec<Lead>) -> Resolved {
        let mut given = self.leads();
        let addresses: Vec<u32> =
            leads.into_iter().filter_map(|lead| given.synthetic(name, lead)).collect();
        if addresses.is_empty() { Resolved::Failed } else { Resolved::Addresses(addresses) }
    }

    /// Begins a connection to where an address leads.
    fn dial(&self, address: IpAddr, port: u16, is_v6: bool) -> Result<OwnedFd, Errno> {
        let Connections { rules, .. } = &*self.connections;
        let lead = self.leads().lead(address).cloned();
        let (host, target) = match lead {
            Some((name, lead)) => (name, lead.at(port)),
            None => (written(address), SocketAddr::new(address, port)),
        };
        let denied = || rules.denies(target).then_some(Refusal::Denied);
        if let Some(refusal) = rules.refusal(&host, Some(port)).or_else(denied) {
            self.connections.note(&host, Some(port), Verdict::Refused(refusal));
            return Err(Errno::from_raw_os_error(NO_LEAD));
        }
        let begun = begin(target, is_v6);
        match &begun {
            Ok(socket) => self.connections.opened(&host, port, target, socket),
            Err(_) => self.connections.note(&host, Some(port), Verdict::Failed),
        }
        begun
    }
}

/// An address as it is written in a URL.
fn written(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// A socket that connects, or has connected. It does not block.
fn begin(target: SocketAddr, is_v6: bool) -> Result<OwnedFd, Errno> {
    // A caller with a socket of IPv6 gets one, if this machine has any.
    if let (SocketAddr::V4(v4), true) = (target, is_v6) {
        let mapped = SocketAddrV6::new(Ipv4Addr::to_ipv6_mapped(v4.ip()), v4.port(), 0, 0);
        if let Ok(socket) = try_begin(AddressFamily::INET6, mapped.into()) {
            return Ok(socket);
        }
    }
    let family = if target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    try_begin(family, target)
}

fn try_begin(family: AddressFamily, target: SocketAddr) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    match connect(&socket, &target) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(address: &str) -> Lead {
        Lead { address: address.parse().expect("an address"), port: None }
    }

    #[test]
    fn an_address_stands_for_one_name_at_one_address() {
        let mut leads = Leads::default();
        let first = leads.synthetic("a.example", lead("192.0.2.1")).expect("room");
        let second = leads.synthetic("b.example", lead("192.0.2.1")).expect("room");
        let third = leads.synthetic("a.example", lead("192.0.2.2")).expect("room");
        assert_eq!(leads.synthetic("a.example", lead("192.0.2.1")), Some(first));
        assert!(first != second && second != third && first != third);
        let of = |number: u32| leads.lead(Ipv4Addr::from(number).into()).cloned();
        assert_eq!(of(second), Some(("b.example".to_owned(), lead("192.0.2.1"))));
        assert_eq!(of(third + 1), None);
        assert_eq!(of(u32::from(SYNTHETIC.0)), None);
        assert_eq!(leads.lead("127.0.0.1".parse().expect("an address")), None);
    }

    #[test]
    fn names_are_counted() {
        let mut leads = Leads::default();
        let long = "a".repeat(200);
        let admitted = (0..1000).filter(|number| leads.admit(&format!("{long}{number}"))).count();
        assert!((100..200).contains(&admitted), "{admitted}");
        assert!(leads.admit(&format!("{long}0")), "a known one is no new one");
        let mut leads = Leads::default();
        assert_eq!((0..5000).filter(|number| leads.admit(&number.to_string())).count(), MAX_NAMES);
    }
}
