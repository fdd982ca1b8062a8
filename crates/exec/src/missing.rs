//! What a command is not run without.

use std::{fmt, io};

use toolwright_sandbox::{
    layers::{Layer, Layers},
    plan::{Files, Network},
    step::FailedStep,
};

use crate::request::Sandbox;

/// A layer that is missing and that the command is not run without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The name of the layer.
    pub layer: &'static str,
    /// What it is needed for.
    pub purpose: &'static str,
    /// Why it is missing.
    pub reason: String,
    /// What would help.
    pub remedy: &'static str,
}

impl Missing {
    /// The sandbox program itself does not work.
    pub(crate) fn program(reason: String) -> Self {
        Self {
            layer: "the sandbox program",
            purpose: "confining commands",
            reason,
            remedy: "Let the process run programs of its own: files in memory (memfd), or a \
                     temporary directory that is not mounted noexec.",
        }
    }
}

impl Missing {
    /// A command could not be put behind its layers at this step.
    pub(crate) fn step(step: FailedStep, error: &io::Error) -> Self {
        Self {
            layer: match step {
                FailedStep::Landlock => "Landlock",
                FailedStep::Seccomp => "seccomp",
                FailedStep::Limits => "a resource limit",
                FailedStep::Broker => "the broker of the loopback interface",
                FailedStep::Mounts => "the tree of files",
                FailedStep::Fork => "a process for the command",
                FailedStep::Capabilities => "giving up capabilities",
                FailedStep::Directory
                | FailedStep::Execute
                | FailedStep::Interpreter
                | FailedStep::Other => "the sandbox",
            },
            purpose: "confining commands",
            reason: error.to_string(),
            remedy: "See what the system or its container forbids: `npx toolwright doctor` tells what holds.",
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is missing, which {} needs: {}", self.layer, self.purpose, self.reason)
    }
}

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
