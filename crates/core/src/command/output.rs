//! What a command printed and how it ended, where every end is a result.

use std::sync::Arc;

use toolwright_exec::{Connection, OutputMask};

use super::end::End;
use crate::denials::Denial;
use crate::failure::Failure;
use crate::sidecar::KeptOutput;
use crate::voice::masks;

/// What a command printed, and how it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandOutput {
    /// What it wrote there, as far as it fits.
    pub stdout: String,
    /// What it wrote there, as far as it fits.
    pub stderr: String,
    /// It wrote more than is given back.
    pub truncated: bool,
    /// Where all of it is, in the order of arrival, or why it is nowhere.
    pub sidecar: Option<Result<KeptOutput, Failure>>,
    /// How it ended.
    pub end: End,
    /// What the sandbox seems to have refused.
    pub hint: Option<String>,
    /// How many processes that it had left running were killed.
    pub left_running: u32,
    /// What the sandbox has noted of it.
    pub noted: Noted,
}

/// What the sandbox has noted of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Noted {
    /// What it kept from the command, for a model: changes to git's configuration, and hosts.
    pub notes: Vec<String>,
    /// The hosts that the command asked for.
    pub connections: Vec<Connection>,
    /// What it refused.
    pub denials: Vec<Denial>,
    /// What it has to do with the end of the command, for a model.
    pub hint: Option<String>,
    /// The secrets that are masked in what it printed, by their names, each with how often.
    pub masked: Vec<(String, u64)>,
}

impl Noted {
    /// Adds what was masked in its output.
    pub(super) fn with_masked(mut self, mask: Option<&Arc<OutputMask>>) -> Self {
        let counts = mask.map(|mask| mask.take()).unwrap_or_default();
        self.notes.extend(masks::note(&counts));
        self.masked = counts.list().to_vec();
        self
    }
}
