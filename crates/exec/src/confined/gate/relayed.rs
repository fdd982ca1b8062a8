//! Connections whose first bytes are read.

use std::os::fd::OwnedFd;
use std::sync::{Arc, MutexGuard, PoisonError};

use rustix::io::Errno;
use toolwright_sandbox::wire::Answer;

use super::super::host_questions::Caller;
use super::super::relays::{Inbox, Order};
use super::Gate;
use crate::connections::{Connections, Openings, Verdict};
use crate::credential_requests::TlsEnd;

/// The thread of a command, once it has a connection.
#[derive(Default)]
pub(super) struct Relays {
    inbox: Option<Arc<Inbox>>,
    is_over: bool,
}

impl Gate {
    pub(in super::super) fn openings(&self) -> Option<&dyn Openings> {
        self.connections.rules.openings()
    }

    pub(in super::super) fn tls_end(&self, host: &str, port: u16) -> Option<&dyn TlsEnd> {
        self.connections.rules.tls_end(host, port)
    }

    pub(in super::super) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Has a connection carried that was begun on `target`. The caller is answered when it is connected.
    pub(super) fn relay(self: &Arc<Self>, caller: Caller, host: String, target: OwnedFd) {
        let Caller { number, port, is_v6, waits, .. } = caller;
        let order = Order { number, is_v6, waits, host, port, target };
        let Err(order) = self.order(order) else { return };
        let Order { host, target, .. } = &order;
        self.connections.closed(host, port, target, Verdict::Failed);
        self.answer(&Answer::NotDialed(number, Errno::AGAIN.raw_os_error()), None);
    }

    /// Gives the order back if there is no room.
    fn order(self: &Arc<Self>, order: Order) -> Result<(), Order> {
        let inbox = {
            let mut relays = self.relays();
            if relays.inbox.is_none() && !relays.is_over {
                relays.inbox = Inbox::open(self).ok();
            }
            relays.inbox.clone()
        };
        match inbox {
            Some(inbox) => inbox.take(order),
            None => Err(order),
        }
    }

    /// The command has ended.
    pub(super) fn end_relays(&self) {
        let mut relays = self.relays();
        relays.is_over = true;
        if let Some(inbox) = relays.inbox.take() {
            inbox.end();
        }
    }

    fn relays(&self) -> MutexGuard<'_, Relays> {
        self.relays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
