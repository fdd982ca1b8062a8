//! The host's end of a gate: it answers what a worker asks about hosts, and connects.
//!
//! A name is looked up once for each time that a command asks for it, and its addresses are checked then.
//! Each that passes gets a synthetic address, which stands for this name at this address as long as the
//! command runs. So what is dialled is what was checked, whatever the name leads to later.

mod asked;
mod relayed;

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
use toolwright_sandbox::wire::{Answer, Ask, NO_LEAD, Resolved, receive_from_gate, send_to_gate};

use super::host_leads::Leads;
use super::host_questions::{Caller, HostDecisions};
use crate::connections::{Connections, Lead, Refusal, Verdict};
use relayed::Relays;

/// How many addresses of one name are answered.
const MAX_ADDRESSES: usize = 8;
/// How many names are looked up at once, each on a thread of its own.
const MAX_LOOKUPS: usize = 32;
const STACK: usize = 256 << 10;
/// The placeholder address of a name that awaits approval. No name leads there.
const LATER: Lead = Lead { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), port: None };
/// What is noted of a host while nobody has answered.
const UNANSWERED: Verdict = Verdict::Refused(Refusal::Unanswered);

/// Opens a gate for one command, and returns the worker's end. A thread answers until that is closed.
pub(super) fn open(connections: &Arc<Connections>) -> io::Result<OwnedFd> {
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let gate = Arc::new(Gate {
        socket: ours,
        connections: Arc::clone(connections),
        leads: Mutex::default(),
        lookups: AtomicUsize::new(0),
        decisions: Mutex::default(),
        relays: Mutex::default(),
    });
    thread::Builder::new().name("toolwright-gate".to_owned()).stack_size(STACK).spawn(
        move || {
            gate.serve();
            gate.give_up();
            gate.end_relays();
        },
    )?;
    Ok(theirs)
}

pub(super) struct Gate {
    socket: OwnedFd,
    connections: Arc<Connections>,
    leads: Mutex<Leads>,
    /// How many names are being looked up.
    lookups: AtomicUsize,
    /// What was asked about hosts.
    decisions: Mutex<HostDecisions>,
    /// What carries connections whose first bytes are read.
    relays: Mutex<Relays>,
}

impl Gate {
    fn serve(self: &Arc<Self>) {
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
                Ok(Ask::Dial(number, address, port, is_v6, waits)) => {
                    self.dial(Caller { number, address, port, is_v6, waits });
                }
                Ok(Ask::Agent(number)) => {
                    let socket = self.connections.rules.agent();
                    let none = Answer::NotDialed(number, Errno::NOENT.raw_os_error());
                    let answer = socket.as_ref().map_or(none, |_| Answer::Dialed(number));
                    self.answer(&answer, socket.as_ref());
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

    pub(super) fn answer(&self, answer: &Answer, socket: Option<&OwnedFd>) {
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
        let rules = &self.connections.rules;
        if rules.asks(&name, None) && !self.decisions().agreed_to(&name) {
            let resolved = self.give_out(&name, vec![LATER]);
            return self.answer(&Answer::Resolved(number, resolved), None);
        }
        if let Some(lead) = rules.lead(&name) {
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
        match self.leads_of(name) {
            Ok(leads) => self.give_out(name, leads),
            Err(verdict) => {
                self.connections.note(name, None, verdict);
                Resolved::Nothing
            }
        }
    }

    /// Where a name leads by the system's word, if it may lead there.
    fn leads_of(&self, name: &str) -> Result<Vec<Lead>, Verdict> {
        let found = (name, 0).to_socket_addrs().map_err(|_| Verdict::Unknown)?;
        let rules = &self.connections.rules;
        let all: Vec<IpAddr> = found.map(|address| plain(address.ip())).collect();
        let open = all.iter().filter(|address| rules.may_lead_to(**address));
        let mut leads: Vec<_> = open.map(|&address| Lead { address, port: None }).collect();
        if leads.is_empty() {
            return Err(Verdict::Private);
        }
        // Not every machine that has addresses of IPv6 reaches others by it.
        leads.sort_by_key(|lead| lead.address.is_ipv6());
        leads.truncate(MAX_ADDRESSES);
        Ok(leads)
    }

    /// Where a name leads that was agreed to. It is looked up once.
    fn agreed_leads(&self, name: &str) -> Result<Vec<Lead>, Verdict> {
        if let Some(lead) = self.connections.rules.lead(name) {
            return Ok(vec![lead]);
        }
        if let Some(leads) = self.leads().found(name) {
            return Ok(leads.to_vec());
        }
        let leads = self.leads_of(name)?;
        self.leads().find(name, leads.clone());
        Ok(leads)
    }

    fn give_out(&self, name: &str, leads: Vec<Lead>) -> Resolved {
        let mut given = self.leads();
        let addresses: Vec<u32> =
            leads.into_iter().filter_map(|lead| given.synthetic(name, lead)).collect();
        if addresses.is_empty() { Resolved::Failed } else { Resolved::Addresses(addresses) }
    }

    fn decisions(&self) -> MutexGuard<'_, HostDecisions> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host that an address stands for, and where it leads.
    fn host_at(&self, address: IpAddr) -> (String, Option<Lead>) {
        match self.leads().lead(address).cloned() {
            Some((name, lead)) => (name, Some(lead)),
            None => (written(address), None),
        }
    }

    /// Begins a connection that may be made.
    fn connect(self: &Arc<Self>, caller: Caller) {
        let Caller { number, address, port, is_v6, .. } = caller;
        let (host, lead) = self.host_at(address);
        // A program that is given an address as a name asks for none.
        let is_name = lead.is_some() && host.parse::<IpAddr>().is_err();
        let rules = &self.connections.rules;
        let leads = match lead {
            None => Ok(vec![Lead { address, port: None }]),
            Some(lead) if lead == LATER => self.agreed_leads(&host),
            Some(lead) => Ok(vec![lead]),
        };
        let leads = match leads {
            Ok(leads) => leads,
            Err(verdict) => return self.refuse(&host, caller, verdict),
        };
        let targets: Vec<_> = leads.into_iter().map(|lead| lead.at(port)).collect();
        let open: Vec<_> = targets.into_iter().filter(|target| !rules.denies(*target)).collect();
        if open.is_empty() {
            return self.refuse(&host, caller, Verdict::Refused(Refusal::Denied));
        }
        let mut last = Errno::from_raw_os_error(NO_LEAD);
        for target in open {
            match begin(target, is_v6) {
                Ok(socket) => {
                    self.connections.opened(&host, port, target, &socket);
                    let is_read = self.openings().is_some() || self.tls_end(&host, port).is_some();
                    if is_name && is_read {
                        return self.relay(caller, host, socket);
                    }
                    return self.answer(&Answer::Dialed(number), Some(&socket));
                }
                Err(error) => last = error,
            }
        }
        self.connections.note(&host, Some(port), Verdict::Failed);
        self.answer(&Answer::NotDialed(number, last.raw_os_error()), None);
    }

    fn refuse(&self, host: &str, caller: Caller, verdict: Verdict) {
        self.connections.note(host, Some(caller.port), verdict);
        self.answer(&Answer::NotDialed(caller.number, NO_LEAD), None);
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
mod tests;
