//! Next moves: what a model can do about a failure, at either door.
//!
//! A hint names a move that its reader can make. The tools of a session take no patch, and their
//! host sets `limits`; so they get words of their own where the others would lead nowhere.

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
