//! The native half of `toolwright/contract`: policy, opened targets, structured searches, and
//! command lines.
#![expect(clippy::needless_pass_by_value, reason = "napi hands owned values over")]

use std::path::Path;

mod bash;
mod overview;
mod policy;
mod rules;
mod search;
mod sidecar;
pub(crate) mod target;

pub(crate) use bash::{ContractBashOutput, ContractBashRequest, LiveOutput};
pub(crate) use target::OpenedTarget;

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
