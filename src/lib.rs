//! The native surface of toolwright: translation between JavaScript and the crates, and nothing
//! else.
//!
//! Every export takes plain options, a [`cancel::CancelHandle`] where the work can be stopped, and
//! gives a promise of an [`outcome::Outcome`]: a result, or why there is none. It never rejects and
//! never throws for what a caller may do wrong: one TypeScript function turns the outcome into a value
//! or an error with a JavaScript stack. No panic passes: a panic in native work becomes
//! `INTERNAL_ERROR`.
#![expect(clippy::trivially_copy_pass_by_ref, reason = "napi hands the environment over so")]
#![expect(unreachable_pub, reason = "napi exports public items of private modules")]

mod bash_stream;
mod cancel;
mod capture;
mod checkpoints;
mod command;
mod contract;
mod deferred;
mod entries;
mod files;
mod grants;
mod handles;
mod job;
mod journal;
mod kept_process;
mod kept_processes;
mod options;
mod outcome;
mod patch_reports;
mod patches;
mod removal;
mod rows;
mod running_commands;
mod sandbox;
mod sandbox_files;
mod text;
mod thread_store;
