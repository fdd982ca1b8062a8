//! The sandbox program: a supervisor for one plan, and its workers.
//!
//! It is started by the host with an empty environment and a socket as standard input, over which it
//! gets its order. When the socket is closed, because the host is done or dead, everything ends.

#![cfg(target_os = "linux")]

mod activity;
pub mod broker;
mod children;
mod command;
pub mod filter;
pub mod limits;
pub mod mounts;
pub mod namespaces;
mod prefork;
pub mod rules;
mod scheduling;
mod signals;
mod start;
mod supervisor;
mod temporary;
mod worker;

pub use supervisor::supervise;
