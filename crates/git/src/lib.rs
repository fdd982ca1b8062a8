//! Git's files as data.
//!
//! A command works on a fork of a repository. What it leaves there is read by this crate, which parses
//! every byte, and writes what it accepts into the repository itself. No process of git takes part, nothing
//! of the fork is copied as it is, and nothing in it is followed or obeyed.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bounds;
pub mod config;
pub mod database;
pub mod directory;
pub mod discovery;
pub mod import;
pub mod incoming;
pub mod index;
mod inflate;
pub mod lfs;
pub mod log;
pub mod loose;
pub mod name;
pub mod object;
mod pack;
pub mod refs;
pub mod repository;
pub mod state;
mod temporary;
pub mod transaction;
pub mod upper;
