//! The hosts that one command reaches by name: who decides about them, and what became of each.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::credential_requests::{CredentialRequests, TlsEnd};
#[cfg(target_os = "linux")]
use crate::traffic::{Carried, Traffic};

/// How many hosts are noted. What a command adds beyond is not.
#[cfg(target_os = "linux")]
const MAX_NOTED: usize = 200;

/// Decides about the hosts of a command. Names are in small letters, without a dot at their end.
pub trait HostRules: fmt::Debug + Send + Sync {
    /// Why a command may not reach this host, at this port or, without one, at any port. A host is a name,
    /// or an address as it is written in a URL. `None`: it may.
    fn refusal(&self, host: &str, port: Option<u16>) -> Option<Refusal>;

    /// Whether the host program is asked before a command reaches a host that is not refused. Without a port:
    /// whether it is asked whichever the port.
    fn asks(&self, _host: &str, _port: Option<u16>) -> bool {
        false
    }

    /// Whether an address is denied, whichever name leads there.
    fn denies(&self, address: SocketAddr) -> bool;

    /// Where a name leads by a word of the host's own. `None`: where the system says.
    fn lead(&self, name: &str) -> Option<Lead>;

    /// Whether a name may lead to this address: it is one of the public internet.
    fn may_lead_to(&self, address: IpAddr) -> bool;

    /// What reads the first bytes of connections to names. `None`: nothing does.
    fn openings(&self) -> Option<&dyn Openings> {
        None
    }

    /// What ends TLS for a host at a port. `None`: connections there are the command's own.
    fn tls_end(&self, _host: &str, _port: u16) -> Option<&dyn TlsEnd> {
        None
    }

    /// A connection to the SSH agent of the command. `None`: it has none, or there are too many.
    fn agent(&self) -> Option<OwnedFd> {
        None
    }

    /// What became of requests of which TLS has ended, until now.
    fn requests(&self) -> Vec<CredentialRequests> {
        Vec::new()
    }
}

/// Reads what the first bytes of a connection to a name ask for.
pub trait Openings {
    /// Decides about all that the client has sent to this name and port until now. `is_second`: since the
    /// server [asked again](Self::asks_again).
    fn of_client(&self, name: &str, port: u16, bytes: &[u8], is_second: bool) -> Opening;

    /// Whether a server with this answer asks the client to begin again. `None`: more of its bytes are needed.
    fn asks_again(&self, bytes: &[u8]) -> Option<bool>;
}

/// What is known of a connection by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// More of them are needed, and will be there soon.
    Incomplete,
    /// It may go on, and nothing more is to be known of it.
    Open,
    /// It may go on with so many bytes. The answer of the server says whether the client begins again.
    Answerable(usize),
    /// It may not, for this reason.
    Refused(Refusal),
}

/// Why a command may not reach a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// It is not among those that are allowed.
    NotAllowed,
    /// It is denied in spite of that.
    Denied,
    /// It is not among those that are granted to the session.
    NotGranted,
    /// Nobody can be asked about it, or the answer was not there when the command ended.
    Unanswered,
    /// The host program was asked, and did not agree.
    Rejected,
    /// TLS asks for another name than that which the command has connected to.
    OtherName,
    /// TLS asks for no name.
    NoName,
    /// It is not TLS where nothing else may be, or its beginning cannot be read.
    NoTls,
}

/// Asks the host program about hosts that one may reach only if it agrees.
pub trait HostQuestions: fmt::Debug + Send + Sync {
    /// Asks whether a command may reach a host at a port. It does not wait. An answer that is dropped
    /// refuses the host.
    fn ask(&self, question: u64, host: &str, port: u16, answer: HostAnswer);

    /// The command has ended before this question was answered.
    fn give_up(&self, question: u64);
}

/// Takes the answer to one question. Dropped, it is that there is none.
pub struct HostAnswer(Option<Box<dyn FnOnce(Option<bool>) + Send>>);

impl HostAnswer {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no command is run there"))]
    pub(crate) fn new(take: impl FnOnce(Option<bool>) + Send + 'static) -> Self {
        Self(Some(Box::new(take)))
    }

    /// Whether the command may reach the host.
    pub fn give(mut self, agrees: bool) {
        if let Some(take) = self.0.take() {
            take(Some(agrees));
        }
    }
}

impl Drop for HostAnswer {
    fn drop(&mut self) {
        if let Some(take) = self.0.take() {
            take(None);
        }
    }
}

impl fmt::Debug for HostAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HostAnswer")
    }
}

/// Where the host leads a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lead {
    /// The address, which may be any.
    pub address: IpAddr,
    /// The port in place of that which a command asks for.
    pub port: Option<u16>,
}

impl Lead {
    /// What is dialled for this port.
    #[must_use]
    pub fn at(self, port: u16) -> SocketAddr {
        SocketAddr::new(self.address, self.port.unwrap_or(port))
    }
}

/// What became of a host that a command asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Connections were opened.
    Opened,
    /// It may not be reached, for this reason.
    Refused(Refusal),
    /// The name leads to addresses outside of the public internet alone.
    Private,
    /// There is no such name.
    Unknown,
    /// No connection could be begun, or the other end did not take it.
    Failed,
    /// The command has asked for too many names.
    TooMany,
}

impl Verdict {
    /// What it came to: `opened`, `refused` by the sandbox, or `failed` for a reason that is not its own.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Refused(_) | Self::Private | Self::TooMany => "refused",
            Self::Unknown | Self::Failed => "failed",
        }
    }
}

/// A host that a command asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Its name, or its address.
    pub host: String,
    /// The port. `None`: it was only looked up.
    pub port: Option<u16>,
    /// What became of it.
    pub verdict: Verdict,
    /// How often.
    pub count: u32,
    /// What all of them together have carried, if they were opened and the system tells.
    pub bytes: Option<Bytes>,
    /// The requests in them that have had a credential, or should have.
    pub requests: Vec<CredentialRequests>,
}

impl Connection {
    /// Of requests that were made in no connection of a host: an agent was asked for signatures.
    fn without(requests: Vec<CredentialRequests>) -> Option<Self> {
        let first = requests.first()?;
        let (host, port) = (first.host.clone(), (first.port != 0).then_some(first.port));
        let (verdict, count, bytes) = (Verdict::Opened, 0, None);
        Some(Self { host, port, verdict, count, bytes, requests })
    }
}

/// What connections have carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bytes {
    /// To the host.
    pub sent: u64,
    /// From the host. The end of a stream may count as one.
    pub received: u64,
}

type Key = (String, Option<u16>, Verdict);

/// What is known of the connections of one key.
#[derive(Debug, Clone, Copy, Default)]
struct Note {
    count: u32,
    /// Of how many of them the bytes are known.
    known: u32,
    bytes: Bytes,
}

/// The hosts of one command.
#[derive(Debug)]
pub struct Connections {
    pub(crate) rules: Box<dyn HostRules>,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no command is run there"))]
    pub(crate) questions: Option<Arc<dyn HostQuestions>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    noted: BTreeMap<Key, Note>,
    #[cfg(target_os = "linux")]
    traffic: Traffic<(String, u16)>,
}

impl Connections {
    /// None yet.
    #[must_use]
    pub fn new(rules: Box<dyn HostRules>) -> Self {
        Self { rules, questions: None, state: Mutex::default() }
    }

    /// With somebody to ask about hosts.
    #[must_use]
    pub fn asking(self, questions: Option<Arc<dyn HostQuestions>>) -> Self {
        Self { questions, ..self }
    }

    /// Those of a command that has ended, in the order of their names. An allowed name that was only looked
    /// up is not there.
    #[must_use]
    pub fn list(&self) -> Vec<Connection> {
        #[cfg(target_os = "linux")]
        self.take_traffic();
        let mut requests = self.rules.requests();
        let state = self.lock();
        let mut connection = |((host, port, verdict), note): (&Key, &Note)| Connection {
            host: host.clone(),
            port: *port,
            verdict: *verdict,
            count: note.count,
            bytes: (*verdict == Verdict::Opened && note.known == note.count).then_some(note.bytes),
            requests: requests
                .extract_if(.., |one| {
                    *verdict == Verdict::Opened && one.host == *host && Some(one.port) == *port
                })
                .collect(),
        };
        let mut all: Vec<_> = state.noted.iter().map(&mut connection).collect();
        all.extend(Connection::without(requests));
        all
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(target_os = "linux")]
impl Connections {
    /// Takes what has been counted of connections that are still open.
    fn take_traffic(&self) {
        let mut state = self.lock();
        let heard = state.traffic.settle();
        state.take(heard);
    }

    pub(crate) fn note(&self, host: &str, port: Option<u16>, verdict: Verdict) {
        self.lock().note(host, port, verdict);
    }

    /// Notes a connection to `target` that has begun on this socket.
    pub(crate) fn opened(&self, host: &str, port: u16, target: SocketAddr, socket: &OwnedFd) {
        let mut state = self.lock();
        if state.note(host, Some(port), Verdict::Opened) {
            state.traffic.watch(socket, target, (host.to_owned(), port));
        }
    }

    /// Notes that one on this socket, which was opened, has come to something else after all.
    pub(crate) fn closed(&self, host: &str, port: u16, socket: &OwnedFd, verdict: Verdict) {
        self.lock().traffic.forget(socket);
        self.unnote(host, port, Verdict::Opened);
        self.note(host, Some(port), verdict);
    }

    /// Takes back one that was noted.
    pub(crate) fn unnote(&self, host: &str, port: u16, verdict: Verdict) {
        let mut state = self.lock();
        let key = (host.to_owned(), Some(port), verdict);
        let Some(note) = state.noted.get_mut(&key) else { return };
        note.count = note.count.saturating_sub(1);
        if note.count == 0 {
            state.noted.remove(&key);
        }
    }

    /// What is readable when [`hear`](Self::hear) has news.
    pub(crate) fn news(&self) -> Option<Arc<OwnedFd>> {
        self.lock().traffic.socket()
    }

    /// Takes in what is known of connections that are gone.
    pub(crate) fn hear(&self) {
        let mut state = self.lock();
        let heard = state.traffic.hear();
        state.take(heard);
    }
}

#[cfg(target_os = "linux")]
impl State {
    /// `false`: it is not noted, because there are too many others.
    fn note(&mut self, host: &str, port: Option<u16>, verdict: Verdict) -> bool {
        let is_full = self.noted.len() >= MAX_NOTED;
        let key = (host.to_owned(), port, verdict);
        if let Some(note) = self.noted.get_mut(&key) {
            note.count = note.count.saturating_add(1);
        } else if is_full {
            return false;
        } else {
            self.noted.insert(key, Note { count: 1, ..Note::default() });
        }
        true
    }

    fn take(&mut self, heard: Vec<((String, u16), Carried)>) {
        for ((host, port), carried) in heard {
            let key = (host, Some(port), Verdict::Opened);
            let Some(note) = self.noted.get_mut(&key) else { continue };
            if carried.was_open {
                note.known += 1;
                note.bytes.sent += carried.sent;
                note.bytes.received += carried.received;
                continue;
            }
            note.count = note.count.saturating_sub(1);
            if note.count == 0 {
                self.noted.remove(&key);
            }
            self.note(&key.0, key.1, Verdict::Failed);
        }
    }
}
