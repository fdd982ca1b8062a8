//! The native surface of toolwright: translation between JavaScript and the crates, and nothing
//! else.
//!
//! Every export takes plain options, a [`call::CancelHandle`] where the work can be stopped, and
//! gives a promise of an [`call::Outcome`]: a result, or why there is none. It never rejects and
//! never throws for what a caller may do wrong: one TypeScript function turns the outcome into a value
//! or an error with a JavaScript stack. No panic passes: a panic in native work becomes
//! `INTERNAL_ERROR`.
#![expect(clippy::trivially_copy_pass_by_ref, reason = "napi hands the environment over so")]
#![expect(unreachable_pub, reason = "napi exports public items of private modules")]

mod bytes;
mod call;
mod checkpoints;
mod closed_secrets;
mod command;
mod command_notes;
mod contract;
mod credential_uses;
mod credentials;
mod cross;
mod entries;
mod files;
mod fork;
mod grants;
mod host_questions;
mod journal;
mod kept_process;
mod masks;
mod network_guard;
mod patches;
mod questions;
mod removal;
mod running;
mod sandbox;
mod sandbox_files;
mod seen;
mod store;
mod text;
mod thread_store;
