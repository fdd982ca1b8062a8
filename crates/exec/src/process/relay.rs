//! A port of a process for the host: connections to an address of the host's loopback interface go to a
//! server of the process.
//!
//! The worker makes each connection in the network of the process, and hands the socket over. So nothing
//! else of that network is in reach, and only servers of this very process are.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use rustix::io::{Errno, ioctl_fionbio};

use super::background::BackgroundProcess;
use super::reactor::{Followed, Part, Reactor, lock};
use super::tunnel::Tunnel;

/// More connections are closed at once.
const MAX_CONNECTIONS: usize = 256;
/// How long connections wait where there is no descriptor for them.
const PAUSE: Duration = Duration::from_millis(100);

/// A port of a process at an address of the host. Dropping it closes the address and its connections. The end of the
/// process closes the address, and each connection once what the process has sent has arrived.
#[derive(Debug)]
pub struct Preview {
    address: SocketAddr,
    relay: Arc<Relay>,
}

impl Preview {
    /// Where the host reaches the port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Preview {
    fn drop(&mut self) {
        self.relay.close();
    }
}

pub(super) struct Relay {
    id: u64,
    reactor: &'static Reactor,
    process: Weak<BackgroundProcess>,
    port: u16,
    state: Mutex<State>,
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("port", &self.port).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    /// `None` once it is closed.
    listener: Option<TcpListener>,
    tunnels: HashMap<u64, Arc<Tunnel>>,
    /// Connections that the worker is still to make.
    pending: usize,
}

pub(super) fn open(
    reactor: &'static Reactor,
    process: &Arc<BackgroundProcess>,
    port: u16,
) -> io::Result<Preview> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let id = reactor.new_id();
    let state = State { listener: Some(listener), ..State::default() };
    let relay =
        Relay { id, reactor, process: Arc::downgrade(process), port, state: Mutex::new(state) };
    let relay = Arc::new(relay);
    reactor.follow(id, Arc::clone(&relay) as Arc<dyn Followed>);
    let is_followed = {
        let state = lock(&relay.state);
        let listener = state.listener.as_ref().map(AsFd::as_fd);
        listener.is_some_and(|listener| reactor.add(id, 0, listener, false))
    };
    let preview = Preview { address, relay };
    if is_followed && process.add_relay(&preview.relay) {
        Ok(preview)
    } else {
        Err(io::ErrorKind::NotConnected.into())
    }
}

impl Relay {
    fn close(&self) {
        for tunnel in self.stop(true) {
            tunnel.close();
        }
    }

    /// The process has ended. What it has sent arrives all the same.
    pub(super) fn finish(&self) {
        for tunnel in self.stop(false) {
            tunnel.finish();
        }
    }

    /// Takes no more connections, and returns those that there are.
    fn stop(&self, forgets: bool) -> Vec<Arc<Tunnel>> {
        let mut state = lock(&self.state);
        if let Some(listener) = state.listener.take() {
            self.reactor.remove(listener.as_fd());
        }
        let tunnels = state.tunnels.values().cloned().collect();
        if forgets {
            state.tunnels.clear();
        }
        drop(state);
        self.reactor.leave(self.id);
        tunnels
    }

    fn accept(&self) -> Option<TcpStream> {
        let mut state = lock(&self.state);
        loop {
            let listener = state.listener.as_ref()?;
            match listener.accept() {
                Ok((client, _)) if state.tunnels.len() + state.pending < MAX_CONNECTIONS => {
                    state.pending += 1;
                    return Some(client);
                }
                // One too many.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                // It has gone already.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // No descriptor is free. The kernel would report the connection again and again.
                Err(_) => {
                    self.reactor.remove(listener.as_fd());
                    self.reactor.set_deadline(self.id, Instant::now() + PAUSE);
                    return None;
                }
            }
        }
    }

    fn connected(self: &Arc<Self>, client: TcpStream, server: Result<OwnedFd, Errno>) {
        let mut state = lock(&self.state);
        state.pending -= 1;
        let Ok(server) = server else { return };
        if state.listener.is_none() || ioctl_fionbio(&client, true).is_err() {
            return;
        }
        let id = self.reactor.new_id();
        let relay = Arc::downgrade(self);
        let ended = move || {
            if let Some(relay) = relay.upgrade() {
                lock(&relay.state).tunnels.remove(&id);
            }
        };
        let tunnel = Tunnel::new(self.reactor, id, [client.into(), server], Box::new(ended));
        state.tunnels.insert(id, Arc::clone(&tunnel));
        // Its first event may come before this thread goes on, and its end needs the lock.
        drop(state);
        tunnel.start();
    }
}

impl Followed for Relay {
    fn on_ready(self: Arc<Self>, _: Part) {
        while let Some(client) = self.accept() {
            let relay = Arc::clone(&self);
            let connected = move |server| relay.connected(client, server);
            match self.process.upgrade() {
                Some(process) => process.connect(self.port, Box::new(connected)),
                None => connected(Err(Errno::CONNREFUSED)),
            }
        }
    }

    /// The pause is over.
    fn on_deadline(self: Arc<Self>) {
        let state = lock(&self.state);
        if let Some(listener) = &state.listener
            && !self.reactor.add(self.id, 0, listener.as_fd(), false)
        {
            self.reactor.set_deadline(self.id, Instant::now() + PAUSE);
        }
    }
}
