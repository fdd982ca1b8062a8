//! Git's files as data.
//!
//! A command works on a fork of a repository. What it leaves there is read by this crate, which parses
//! every byte, and writes what it accepts into the repository itself. No process of git takes part, nothing
//! of the fork is copied as it is, and nothing in it is followed or obeyed.
//!
//! Forks are overlays of Linux, so other systems have only what names and settings need.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod config;
pub mod directory;
pub mod name;
pub mod note;
pub mod repository;

#[cfg(target_os = "linux")]
mod bounds;
#[cfg(target_os = "linux")]
pub mod database;
#[cfg(target_os = "linux")]
pub mod discovery;
#[cfg(target_os = "linux")]
pub mod import;
#[cfg(target_os = "linux")]
pub mod incoming;
#[cfg(target_os = "linux")]
pub mod index;
#[cfg(target_os = "linux")]
mod inflate;
#[cfg(target_os = "linux")]
pub mod lfs;
#[cfg(target_os = "linux")]
pub mod log;
#[cfg(target_os = "linux")]
pub mod loose;
#[cfg(target_os = "linux")]
pub mod object;
#[cfg(target_os = "linux")]
mod pack;
#[cfg(target_os = "linux")]
pub mod refs;
#[cfg(target_os = "linux")]
pub mod state;
#[cfg(target_os = "linux")]
mod temporary;
#[cfg(target_os = "linux")]
pub mod transaction;
#[cfg(target_os = "linux")]
pub mod upper;
