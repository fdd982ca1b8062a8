//! The loopback interface of the host, connection by connection; and hosts by name.
//!
//! This is about the first; `names` has the second, which works alike.
//!
//! A command of a plan with [`Network::HostLoopback`](toolwright_sandbox::plan::Network::HostLoopback) lives in
//! the network of the host and may make TCP sockets, but a filter in it makes every `connect`, `bind`
//! and `listen` wait for the [`Broker`] in the worker. The broker copies the address, once, refuses
//! what is not of the loopback interface, takes the socket out of the caller, and makes the call
//! itself on what it has copied. The caller's call is never continued, so rewriting memory,
//! exchanging descriptors or changing flags meanwhile decides nothing.
//!
//! # In the worker
//!
//! The broker has to be the worker: with the usual `ptrace_scope` of 1, only an ancestor may take
//! descriptors. The child shares the worker's memory but not its descriptors, and the worker sleeps
//! until the child has executed the command, so the listener comes as a message that waits.
//!
//! 1. Once, after its own filter: [`program()`], [`Channel::new`], and [`probe()`], which finds out
//!    whether all this works here.
//! 2. In the child, as the last filter: [`install_in_child`]. It allocates nothing.
//! 3. After the child was made, even if it failed: [`Channel::take`], so that no old listener
//!    reaches the next command.
//! 4. Whenever [`Broker`]'s descriptor is readable: [`Broker::handle`]. It does not wait for others.
//! 5. When the command has ended, the broker is dropped. A call that still waits then gets `ENOSYS`.
//!
//! # What is answered
//!
//! | Call | Answer |
//! | --- | --- |
//! | `connect`, `bind` to 127.0.0.0/8, `::1`, `::ffff:127.0.0.0/104` | the kernel's |
//! | to any other internet address, 0.0.0.0 and `::` among them | `EACCES` |
//! | to any other family, also to none (which would dissolve a connection) | `EAFNOSUPPORT` |
//! | `listen` on what is not bound to the loopback interface | `EACCES` |
//! | any of them on another socket than TCP's | `EACCES` |
//! | any of them by a process that may not be looked into (another user, not dumpable) | `EACCES` |
//! | fast open when sending | `EOPNOTSUPP` |
//! | options that lead elsewhere: fast open, source routes, interfaces, shared ports | `ENOPROTOOPT` |
//!
//! A `connect` that has to wait does so here, and others go on meanwhile; since Linux 5.19 a signal
//! that is caught does not interrupt it. The limit that `SO_SNDTIMEO` sets is kept.
//!
//! Every port of the loopback interface is reached, and so is what its servers reach: a proxy there
//! is a way out. That is why the plan has to ask for it.

mod address;
mod caller;
mod channel;
pub(crate) mod files;
pub(crate) mod listener;
mod names;
mod probe;
mod program;
mod request;
mod serve;
mod socket;
mod timer;

pub(crate) use channel::Ends;
pub use channel::{Channel, install_in_child};
pub use files::{FileRules, WaitingNames};
pub(crate) use names::{NamesBroker, Resolver};
pub use probe::probe;
#[cfg(test)]
pub(crate) use program::program_of_on;
pub use program::{Connections, program, program_of};
pub use serve::Broker;
