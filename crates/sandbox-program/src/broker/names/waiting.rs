//! Callers that wait, for the host or for a connection.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::io::Errno;

use super::dns::Query;
use super::request::Place;

/// What the host has been asked, and for whom.
pub(super) enum Asked {
    Name(Query, SocketAddr),
    Connection(Caller),
}

/// A caller that wants another host.
pub(super) struct Caller {
    pub(super) id: u64,
    pub(super) place: Place,
    pub(super) socket: OwnedFd,
}

/// A caller whose connection is not there yet.
pub(super) struct Waiting {
    pub(super) caller: Caller,
    pub(super) way: Way,
    pub(super) until: Option<Instant>,
    /// The answer when its time is over.
    pub(super) then: Errno,
}

/// How it connects.
pub(super) enum Way {
    /// The caller's own socket connects.
    Own(SocketAddr),
    /// This one does, which takes its place.
    Dialed(OwnedFd),
}

impl Waiting {
    pub(super) fn watched(&self) -> &OwnedFd {
        match &self.way {
            Way::Own(_) => &self.caller.socket,
            Way::Dialed(socket) => socket,
        }
    }
}
