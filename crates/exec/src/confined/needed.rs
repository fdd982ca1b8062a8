//! Which layers a command is not run without.

use std::io;

use toolwright_sandbox::layers::{Layer, Layers};
use toolwright_sandbox::plan::{Files, Network, Plan};
use toolwright_sandbox::remedy::Remedy;
use toolwright_sandbox::report;

use crate::missing::Missing;
use crate::notice::Notice;
use crate::request::Sandbox;

/// The first layer that the command may not be run without and that does not hold.
pub(crate) fn missing(sandbox: &Sandbox<'_>, layers: &Layers) -> Option<Missing> {
    let plan = sandbox.plan;
    if plan.network != Network::Open && !layers.seccomp.holds() {
        return Some(Missing {
            layer: "seccomp",
            purpose: "blocking the network",
            reason: reason(layers.seccomp),
            remedy: "Allow the seccomp system call (a container profile may forbid it).",
            instead: Some(&Remedy::NETWORK),
        });
    }
    if !sandbox.required {
        return None;
    }
    let missing = |layer, purpose, reason, remedy| {
        Some(Missing { layer, purpose, reason, remedy, instead: None })
    };
    // Also where writes are not confined.
    if !plan.protected.is_empty() && !layers.protected.holds() {
        let remedy =
            "Allow user namespaces, set sandbox.denyWrite to [], or unset sandbox.required.";
        return missing("a mount namespace", "sandbox.denyWrite", reason(layers.mount), remedy);
    }
    if !plan.closed.is_empty() && !layers.closed.holds() {
        let purpose = "closing credential stores and sandbox.denyRead";
        return missing("Landlock", purpose, reason(layers.landlock), LAYERS);
    }
    // Whatever the report calls less than held is missing: nobody reads it before each command.
    let (purpose, row) = report::shortfall(plan, layers)?;
    let layer = if !layers.mount.holds() {
        "a mount namespace"
    } else if !layers.landlock.holds() && plan.files == Files::Confined {
        "Landlock"
    } else {
        "a process namespace"
    };
    missing(layer, purpose, row.mechanism, LAYERS)
}

/// Nobody has asked for that, and nobody would learn of it.
pub(crate) fn tell_of_open_files(plan: &Plan, layers: &Layers) {
    if plan.files == Files::Confined && !layers.mount.holds() && !layers.landlock.holds() {
        Notice::FilesAreOpen(&format!("Landlock: {}", reason(layers.landlock))).say_once();
    }
}

const LAYERS: &str =
    "Use a kernel with Landlock, allow user namespaces, or unset sandbox.required.";

fn reason(layer: Layer) -> String {
    match layer {
        Layer::Refused(errno) => io::Error::from_raw_os_error(errno).to_string(),
        Layer::Unused | Layer::Holds => "it was not tried".to_owned(),
    }
}
