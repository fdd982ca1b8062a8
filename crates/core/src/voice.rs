//! Next moves: what a model can do about a failure, at either door.
//!
//! A hint names a move that its reader can make. The host of `createTools` has options; the host of a
//! session grants capabilities and sets `limits`. A hint that one of them cannot follow has other words
//! for that door.

pub mod access;
pub mod changes;
pub(crate) mod checkpoints;
pub mod commands;
pub(crate) mod forks;
pub(crate) mod git;
pub(crate) mod grants;
pub(crate) mod hosts;
pub mod masks;
pub(crate) mod network_need;
pub(crate) mod notices;
pub mod refusals;
mod remedy;
pub mod report;
pub mod searches;
pub(crate) mod secrets;
pub(crate) mod seen;
pub(crate) mod stores;
pub(crate) mod usage;

use toolwright_exec::{Connection, GitReport};
pub use toolwright_patch_voice::{applied, binary, files, patches};

/// Where a model calls from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Tools whose host has the options of `createTools`.
    Tools,
    /// The tools of a session, whose host grants capabilities.
    Session,
}

/// What the sandbox kept from a command, beside what the end of that explains.
pub(crate) fn notes_of_command(
    git: &[GitReport],
    connections: &[Connection],
    door: Door,
) -> Vec<String> {
    git::notes(git).into_iter().chain(hosts::notes(connections, door)).collect()
}
