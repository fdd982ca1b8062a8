//! One connection that is relayed, from the time at which its target is dialled.

use std::mem;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, socket_error};
use rustix::net::{RecvFlags, recv};

use super::flow::Flow;
use super::pair::{self, Late, Pair};
use crate::connections::{Opening, Openings, Refusal};

/// How long a program with a socket that does not wait stands still for a target. Most are connected sooner,
/// and the program hears then why one is not.
const MAX_STILL: Duration = Duration::from_millis(250);
/// How long the first message of TLS may take after its first byte.
const MAX_OPENING_TIME: Duration = Duration::from_secs(10);

/// A target that is being dialled, and for whom.
pub(in crate::confined) struct Order {
    /// The number of the worker's question.
    pub(in crate::confined) number: u64,
    pub(in crate::confined) is_v6: bool,
    /// Whether the caller waits until it is connected.
    pub(in crate::confined) waits: bool,
    /// The name that the command connects to.
    pub(in crate::confined) host: String,
    pub(in crate::confined) port: u16,
    pub(in crate::confined) target: OwnedFd,
}

/// One of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Target,
    Client,
}

/// How far it is.
enum Stage {
    /// The target is not there yet. The command may have its socket, which connects.
    Dialing(Option<Late>),
    /// What the client has sent.
    First(Vec<u8>),
    /// What the server has answered, and what the client has sent before that.
    Answer { seen: Vec<u8>, held: Vec<u8> },
    /// What the client has sent since the server has asked it to begin again.
    Second(Vec<u8>),
    /// Bytes pass unchecked from here on.
    Open,
}

/// What is to be told.
pub(super) enum Event {
    Nothing,
    /// The command gets this socket.
    Dialed(OwnedFd),
    /// There is no connection. The command hears it by an answer, or by the socket that it has.
    NotDialed(Option<Errno>),
    Refused(Refusal),
    /// It is over.
    Ended,
}

pub(super) struct Relay {
    pub(super) order: Order,
    client: Option<OwnedFd>,
    stage: Stage,
    up: Flow,
    down: Flow,
    /// The deadline of the current stage.
    until: Option<Instant>,
    /// The command has ended: what it has said is delivered, and nothing else is waited for.
    is_last: bool,
}

impl Relay {
    pub(super) fn new(order: Order) -> Self {
        let until = (!order.waits).then(|| Instant::now() + MAX_STILL);
        Self {
            order,
            client: None,
            stage: Stage::Dialing(None),
            up: Flow::new(),
            down: Flow::new(),
            until,
            is_last: false,
        }
    }

    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    pub(super) fn end(&self, side: Side) -> Option<&OwnedFd> {
        match side {
            Side::Target => Some(&self.order.target),
            Side::Client => self.client.as_ref(),
        }
    }

    /// Whether both ends are there, and nothing was said.
    pub(super) fn is_dialed(&self) -> bool {
        self.client.is_some() && matches!(&self.stage, Stage::First(said) if said.is_empty())
    }

    pub(super) fn into_ends(self) -> (Order, Option<OwnedFd>) {
        (self.order, self.client)
    }

    /// The events that this side waits for.
    pub(super) fn wanted(&self, side: Side) -> EventFlags {
        let reads = |reads| if reads { EventFlags::IN } else { EventFlags::empty() };
        let writes = |writes| if writes { EventFlags::OUT } else { EventFlags::empty() };
        match (side, &self.stage) {
            (Side::Target, Stage::Dialing(_)) => EventFlags::OUT,
            (Side::Target, _) => reads(self.down.reads()) | writes(self.up.is_blocked()),
            (Side::Client, Stage::Answer { .. } | Stage::Dialing(_)) => {
                writes(self.down.is_blocked())
            }
            (Side::Client, Stage::First(_) | Stage::Second(_)) => {
                EventFlags::IN | writes(self.down.is_blocked())
            }
            (Side::Client, Stage::Open) => reads(self.up.reads()) | writes(self.down.is_blocked()),
        }
    }

    /// Only the rest of the command's output is still delivered.
    pub(super) fn be_last(&mut self) -> Event {
        self.is_last = true;
        self.after(false)
    }

    /// Its time is over.
    pub(super) fn expire(&mut self) -> Event {
        self.until = None;
        match &mut self.stage {
            Stage::Dialing(late @ None) => match Late::open(self.order.is_v6).and_then(|new| {
                let client = new.client.try_clone().map_err(|_| Errno::MFILE)?;
                Ok((new, client))
            }) {
                Ok((new, client)) => {
                    *late = Some(new);
                    Event::Dialed(client)
                }
                Err(error) => Event::NotDialed(Some(error)),
            },
            Stage::First(_) | Stage::Second(_) => Event::Refused(Refusal::NoTls),
            Stage::Dialing(Some(_)) | Stage::Answer { .. } | Stage::Open => Event::Nothing,
        }
    }

    /// Does what can be done now that this is ready. An end that has hung up takes nothing more, and has nothing
    /// more to come than is there.
    pub(super) fn advance(
        &mut self,
        (side, flags): (Side, EventFlags),
        hung: [bool; 2],
        openings: &dyn Openings,
        block: &mut [u8],
    ) -> Event {
        if let Stage::Dialing(late) = &mut self.stage {
            let late = late.take();
            return self.be_dialed(late);
        }
        let Some(client) = &self.client else { return Event::Ended };
        let [target_hung, client_hung] = hung;
        if target_hung {
            self.up.be_unwanted();
        }
        if client_hung {
            self.down.be_unwanted();
        }
        let is = |expected, flag| side == expected && flags.contains(flag);
        if self.down.is_blocked() || target_hung || is(Side::Target, EventFlags::IN) {
            let mut seen = match &mut self.stage {
                Stage::Answer { seen, .. } => Some(seen),
                _ => None,
            };
            let see = |bytes: &[u8]| {
                if let Some(seen) = &mut seen {
                    // Few bytes tell.
                    let room = usize::from(u8::MAX).saturating_sub(seen.len());
                    seen.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
                }
            };
            self.down.pump((&self.order.target, client), target_hung, block, see);
        }
        let can_be_read = side == Side::Client || client_hung;
        if let Some(event) = self.read_opening(can_be_read, openings, block) {
            return event;
        }
        let Some(client) = &self.client else { return Event::Ended };
        if !matches!(self.stage, Stage::Open) {
            self.up.flush(&self.order.target);
        } else if self.up.is_blocked() || client_hung || is(Side::Client, EventFlags::IN) {
            self.up.pump((client, &self.order.target), client_hung, block, |_| {});
        }
        if side == Side::Client && flags.contains(EventFlags::ERR) && self.up.is_blocked() {
            // The client takes back what the target has not taken.
            return Event::Ended;
        }
        self.after(client_hung)
    }

    /// What has become of it.
    fn after(&mut self, client_hung: bool) -> Event {
        let is_over = self.up.is_over() && self.down.is_over();
        let is_lost = self.up.is_lost() || self.down.is_lost();
        let waits_for_nobody = match &self.stage {
            Stage::Dialing(_) => self.is_last,
            // Nobody is there any more who could say the rest, or who reads the answer.
            Stage::Answer { .. } => client_hung,
            Stage::First(_) | Stage::Second(_) => false,
            Stage::Open => self.is_last && self.up.is_over(),
        };
        if is_over || is_lost || waits_for_nobody { Event::Ended } else { Event::Nothing }
    }

    /// The target is connected, or is not to be had.
    fn be_dialed(&mut self, late: Option<Late>) -> Event {
        self.until = None;
        let target = &self.order.target;
        let dialed = socket_error(target).unwrap_or_else(Err).and_then(|()| pair::prepare(target));
        self.stage = Stage::First(Vec::new());
        let (own, event) = match (dialed, late) {
            (Ok(()), None) => match Pair::open(self.order.is_v6) {
                Ok(Pair { client, own }) => (own, Event::Dialed(client)),
                Err(error) => return Event::NotDialed(Some(error)),
            },
            (Ok(()), Some(late)) => match late.complete() {
                Ok(own) => (own, Event::Nothing),
                Err(_) => return Event::NotDialed(None),
            },
            (Err(error), None) => return Event::NotDialed(Some(error)),
            (Err(_), Some(late)) => {
                late.fail();
                return Event::NotDialed(None);
            }
        };
        self.client = Some(own);
        event
    }

    /// Takes in what the client has sent until it is known what that is, and decides.
    fn read_opening(
        &mut self,
        is_client: bool,
        openings: &dyn Openings,
        block: &mut [u8],
    ) -> Option<Event> {
        if let Stage::Answer { seen, held } = &mut self.stage {
            let asks_again = openings.asks_again(seen);
            let is_closed = !self.down.reads() && !self.down.is_blocked();
            if asks_again.is_none() && !is_closed {
                return None;
            }
            let held = mem::take(held);
            if asks_again != Some(true) {
                return self.open(&held);
            }
            self.stage = Stage::Second(held);
            if let Some(event) = self.judge(openings) {
                return Some(event);
            }
        }
        if !is_client {
            return None;
        }
        while let (Some(client), Stage::First(said) | Stage::Second(said)) =
            (&self.client, &mut self.stage)
        {
            let count = match recv(client, &mut *block, RecvFlags::DONTWAIT) {
                Ok((_, count)) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return None,
                Err(_) => return Some(Event::Ended),
            };
            if count == 0 {
                if said.is_empty() && matches!(self.stage, Stage::First(_)) {
                    // It has nothing to say. The end comes once more.
                    return self.open(&[]);
                }
                return Some(Event::Refused(Refusal::NoTls));
            }
            said.extend_from_slice(block.get(..count).unwrap_or_default());
            if let Some(event) = self.judge(openings) {
                return Some(event);
            }
        }
        None
    }

    fn judge(&mut self, openings: &dyn Openings) -> Option<Event> {
        let Order { host, port, .. } = &self.order;
        let (said, is_second) = match &mut self.stage {
            Stage::First(said) => (said, false),
            Stage::Second(said) => (said, true),
            Stage::Dialing(_) | Stage::Answer { .. } | Stage::Open => return None,
        };
        match openings.of_client(host, *port, said, is_second) {
            Opening::Refused(refusal) => Some(Event::Refused(refusal)),
            Opening::Incomplete => {
                if !said.is_empty() && self.until.is_none() {
                    self.until = Some(Instant::now() + MAX_OPENING_TIME);
                }
                None
            }
            Opening::Answerable(length) if !is_second => {
                let mut said = mem::take(said);
                let held = said.split_off(length.min(said.len()));
                self.until = None;
                self.up.begin_with(&said);
                self.stage = Stage::Answer { seen: Vec::new(), held };
                None
            }
            Opening::Answerable(_) | Opening::Open => {
                let said = mem::take(said);
                self.open(&said)
            }
        }
    }

    fn open(&mut self, with: &[u8]) -> Option<Event> {
        self.until = None;
        self.up.begin_with(with);
        self.stage = Stage::Open;
        None
    }

    /// Ends both connections. Those that did not end by themselves are reset.
    pub(super) fn close(self, event: &Event) {
        let is_refused = matches!(event, Event::Refused(_));
        let is_whole = self.up.is_over() && self.down.is_over();
        let is_broken = self.up.is_broken() || self.down.is_broken();
        if is_refused || is_broken || !is_whole {
            for end in [self.client.as_ref(), Some(&self.order.target)].into_iter().flatten() {
                let _ = set_socket_linger(end, Some(Duration::ZERO));
            }
        }
    }
}
