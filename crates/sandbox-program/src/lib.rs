//! The sandbox program: it carries out one plan, with every layer that the kernel grants.
//!
//! The host starts it with an empty environment and a socket as standard input, over which it receives
//! its order. It decides nothing: the plan says what commands may do, and the program says which layers
//! hold. When the host closes the socket, on purpose or by dying, everything ends.
//!
//! # Processes
//!
//! ```text
//! host ── supervisor        namespaces, the tree of files, control groups; one for each plan
//!            └── worker      a process namespace of its own; one command after the other
//!                  └── command   made in advance, confined, waiting for its program
//! ```
//!
//! * The `supervisor` enters the user, IPC, network and mount namespaces, builds the tree of files and
//!   makes workers. While a command runs, it covers again what the host replaces below a protected path.
//! * A `worker` is the first process of a process namespace. It confines itself, starts commands,
//!   collects what they leave behind and kills it.
//! * The process of the next command is made before the command is known (`prefork`): it has given up
//!   its capabilities and entered Landlock and the filter, and has only to execute the program.
//!
//! # Other names
//!
//! Started as `apply_patch`, the program applies a patch and is nothing more: [`apply_patch`]. Commands
//! find it under that name in a directory of their small `/dev`. Started as `toolwright-fork`, it holds a fork of a
//! root for the host and for its supervisors, and runs no command: [`hold_fork`].
//!
//! # Layers
//!
//! | module | layer | who enters it |
//! | --- | --- | --- |
//! | [`namespaces`] | user, IPC, network and process namespaces, capabilities | supervisor, worker |
//! | [`mounts`] | the tree of files, `/proc`, placeholders for absent protected paths | supervisor, worker |
//! | [`rules`] | Landlock | command |
//! | [`filter`] | system calls | worker, command |
//! | [`broker`] | the host's loopback: connections that the worker makes for a command | worker, command |
//! | [`limits`] | control groups and resource limits | worker, command |
//!
//! A layer that the system refuses is recorded with its error number, and the others are used without
//! it. Only a want of processes, descriptors or memory is no finding: the next attempt may succeed.
//!
//! # What this program does not do
//!
//! * It does not decide whether a missing layer matters. The host compares the layers with the plan.
//! * It does not read the output of commands. The pipes go from the host straight to the command.
//! * It trusts nothing that a command could have written: a command reaches none of its sockets, its
//!   memory or its tree.

#![cfg(target_os = "linux")]

mod activity;
pub mod broker;
mod brokered;
mod children;
mod command;
mod environment;
mod errno;
pub mod facts;
pub mod filter;
mod fork_holder;
pub mod limits;
pub mod mounts;
pub mod namespaces;
mod observe;
mod patch_command;
mod prefork;
mod reaped;
pub mod rules;
mod scheduling;
mod signals;
mod start;
mod supervisor;
mod temporary;
mod terminal;
mod transactions;
mod worker;

pub use fork_holder::hold_fork;
pub use patch_command::apply_patch;
pub use supervisor::supervise;
