//! The operations of toolwright: each is composed here, below every door.
//!
//! The crates below know files, patches, searches, processes and databases, and report typed errors.
//! This crate puts them together and gives every failure its public [`code::Code`], its text and
//! its next move. It knows nothing of JavaScript.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod access;
pub mod apply_patch;
pub mod checkpoints;
pub mod closed_secrets;
pub mod code;
pub mod command;
pub mod contract_code;
pub mod denials;
pub mod directories;
pub mod edit;
mod empty_search;
pub mod entries;
pub mod failure;
pub mod file;
pub mod forks;
pub mod glob;
pub mod grep;
pub mod handles;
pub mod launch_limiter;
pub mod notebook;
pub mod overview;
pub mod read;
mod request_fields;
pub mod rows;
pub mod sandbox_files;
pub mod seen;
pub mod session_search;
pub mod sidecar;
mod sync;
pub mod text;
pub mod thread_pool;
pub mod voice;
pub mod write;
