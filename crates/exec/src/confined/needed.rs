//! Which layers a command is not run without.

use std::io;

use rustix::io::Errno;
use toolwright_sandbox::layers::{Layer, Layers};
use toolwright_sandbox::plan::{Files, Network};
use toolwright_sandbox::report;

use crate::missing::{Missing, Requirement};
use crate::request::Sandbox;

/// The first layer that the command may not be run without and that does not hold.
pub(crate) fn missing(sandbox: &Sandbox<'_>, layers: &Layers) -> Option<Missing> {
    let plan = sandbox.plan;
    let missing = |layer, requirement, reason| Some(Missing { layer, requirement, reason });
    if plan.network != Network::Open && !layers.seccomp.holds() {
        return missing("seccomp", Requirement::BlockedNetwork, reason(layers.seccomp));
    }
    if plan.network == Network::Names {
        // Nothing but these keeps a command with names from everything else.
        let layers = [
            ("a network namespace", layers.net),
            ("a loopback interface of its own", layers.loopback),
            ("a resolver of names", layers.resolver),
            ("the broker of connections", layers.broker),
        ];
        if let Some((layer, refused)) = layers.into_iter().find(|(_, layer)| !layer.holds()) {
            return missing(layer, Requirement::NamedHosts, reason(refused));
        }
    }
    if plan.is_git_strict {
        let landlock_abi = layers.landlock_abi;
        let layers = [
            ("a mount namespace", layers.mount),
            ("the broker of names", layers.hidden_git),
            ("the broker of opened files", layers.strict_git),
        ];
        if let Some((layer, refused)) = layers.into_iter().find(|(_, layer)| !layer.holds()) {
            return missing(layer, Requirement::StrictGit, reason(refused));
        }
        // It alone keeps sockets from names that git would take for its own.
        if landlock_abi == 0 {
            let refused = Layer::Refused(Errno::NOSYS.raw_os_error());
            return missing("Landlock", Requirement::StrictGit, reason(refused));
        }
    }
    if !sandbox.required {
        return None;
    }
    // Also where writes are not confined.
    if !plan.protected.is_empty() && !layers.protected.holds() {
        return missing("a mount namespace", Requirement::ProtectedPaths, reason(layers.mount));
    }
    if !plan.closed.is_empty() && !layers.closed.holds() {
        return missing("Landlock", Requirement::ClosedPaths, reason(layers.landlock));
    }
    // Whatever the report calls less than held is missing: no one reads it before each command.
    let (promise, row) = report::shortfall(plan, layers)?;
    let layer = if !layers.mount.holds() {
        "a mount namespace"
    } else if !layers.landlock.holds() && plan.files == Files::Confined {
        "Landlock"
    } else {
        "a process namespace"
    };
    missing(layer, Requirement::Promise(promise), row.mechanism.to_string())
}

/// A host that has not required the layers would not learn of it otherwise.
pub(crate) fn tell_of_open_files(sandbox: &Sandbox<'_>, layers: &Layers) {
    let is_confined = sandbox.plan.files == Files::Confined;
    if is_confined && !layers.mount.holds() && !layers.landlock.holds() {
        (sandbox.on_open_files)(&format!("Landlock: {}", reason(layers.landlock)));
    }
}

fn reason(layer: Layer) -> String {
    match layer {
        Layer::Refused(errno) => io::Error::from_raw_os_error(errno).to_string(),
        Layer::Unused | Layer::Holds => "it was not tried".to_owned(),
    }
}
