//! What the processes of a command may do to each other, and to nobody else.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod attacks;
mod host;
mod modes;
mod place;
#[path = "../broker/sandbox.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod sandbox;
mod sockets;
mod table;
mod tools;
mod tracing;
