//! The native half of `toolwright/contract`: policy, opened targets, structured searches, and
//! command lines.
#![expect(clippy::needless_pass_by_value, reason = "napi hands owned values over")]

mod bash;
mod policy;
mod rules;
mod search;
mod sidecar;
mod target;
mod target_operations;
