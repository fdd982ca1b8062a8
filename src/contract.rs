//! The native half of `toolwright/contract`: policy, opened targets, structured searches, and
//! command lines.
#![expect(clippy::needless_pass_by_value, reason = "napi hands owned values over")]

mod bash;
mod policy;
mod rules;
mod search;
mod target;

pub(crate) use bash::ContractBashRequest;
pub(crate) use target::OpenedTarget;
