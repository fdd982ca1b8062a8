//! Which layers a command is not run without.

use std::io;

use toolwright_sandbox::{
    layers::{Layer, Layers},
    plan::{Files, Network},
};

use crate::{missing::Missing, request::Sandbox};

/// The first layer that the command may not be run without and that does not hold.
pub(crate) fn missing(sandbox: &Sandbox<'_>, layers: &Layers) -> Option<Missing> {
    let plan = sandbox.plan;
    if plan.network != Network::Open && !layers.seccomp.holds() {
        return Some(Missing {
            layer: "seccomp",
            purpose: "blocking the network",
            reason: reason(layers.seccomp),
            remedy: "Allow the seccomp system call (a container profile may forbid it), or set \
                     allowNetwork.",
        });
    }
    if !sandbox.required {
        return None;
    }
    let files = plan.files == Files::Full || layers.mount.holds() || layers.landlock.holds();
    if !files {
        return Some(Missing {
            layer: "Landlock",
            purpose: "confining files",
            reason: reason(layers.landlock),
            remedy: "Use a kernel with Landlock, allow user namespaces, or unset sandbox.required.",
        });
    }
    if !plan.protected.is_empty() && plan.files == Files::Confined && !layers.protected.holds() {
        return Some(Missing {
            layer: "a mount namespace",
            purpose: "sandbox.denyWrite",
            reason: reason(layers.mount),
            remedy: "Allow user namespaces, set sandbox.denyWrite to [], or unset sandbox.required.",
        });
    }
    if !plan.closed.is_empty() && !layers.closed.holds() {
        return Some(Missing {
            layer: "Landlock",
            purpose: "closing credential stores and sandbox.denyRead",
            reason: reason(layers.landlock),
            remedy: "Use a kernel with Landlock, allow user namespaces, or unset sandbox.required.",
        });
    }
    if !layers.pid.holds() && !layers.seccomp.holds() {
        return Some(Missing {
            layer: "a process namespace",
            purpose: "killing everything a command leaves",
            reason: reason(layers.pid),
            remedy: "Allow user namespaces or seccomp, or unset sandbox.required.",
        });
    }
    None
}

fn reason(layer: Layer) -> String {
    match layer {
        Layer::Refused(errno) => io::Error::from_raw_os_error(errno).to_string(),
        Layer::Unused | Layer::Holds => "it was not tried".to_owned(),
    }
}
