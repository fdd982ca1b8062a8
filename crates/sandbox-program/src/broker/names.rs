//! Hosts by name: a command in a network of its own that has nothing but loopback asks for names, and for
//! connections to what they lead to, and the host process decides and connects.
//!
//! * A [`Resolver`] answers in the private network. The settings of commands name it. What it answers are
//!   addresses that stand for hosts; no interface leads to them.
//! * `connect`, `bind` and `listen` wait for the [`NamesBroker`]. A connection to loopback is made here, on
//!   the socket itself. For any other address the host is asked, which answers with a socket of its own
//!   network that connects to where the address leads. That one takes the place of the caller's.
//!
//! The caller's call is never continued: a descriptor may have become that of a socket of the host's
//! network, with which no other connection may be made. Such a socket is told by the kernel's number of
//! its network. It can neither connect again, nor be bound, nor listen, nor take options that lead its
//! packets elsewhere.
//!
//! What of a caller's socket is kept: whether it waits, whether it closes on `execve`, and its usual
//! [options](OPTIONS). Its registration in an `epoll` is not: a program that registers a socket before it
//! connects hears nothing of the new one. A second descriptor of the same socket keeps the old one.

mod dns;
pub(super) mod request;
mod resolver;
mod serve;
pub(super) mod socket;
mod waiting;

pub(crate) use resolver::Resolver;
pub(crate) use serve::NamesBroker;
