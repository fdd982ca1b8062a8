//! What a command printed and how it ended, where every end is a result.

use std::sync::Arc;

use toolwright_exec::{Connection, Exit, OutputMask};

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

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With a code or by a signal.
    Exited(Exit),
    /// By its timeout.
    TimedOut,
}

impl End {
    /// The end of a command that was stopped because its output had no more room.
    pub(super) fn killed() -> Self {
        Self::Exited(Exit::Signal { number: 9, name: "SIGKILL".into() })
    }

    /// Whether its time was up.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        *self == Self::TimedOut
    }

    /// Its exit code, if it ended by itself.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Exited(exit) => exit.code(),
            Self::TimedOut => None,
        }
    }

    /// The number and the name of the signal that ended it.
    #[must_use]
    pub fn signal(&self) -> (Option<i32>, Option<String>) {
        match self {
            Self::Exited(exit) => exit.signal(),
            Self::TimedOut => (None, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_code_a_signal_or_a_timeout() {
        let parts = |end: End| (end.code(), end.signal(), end.is_timeout());
        assert_eq!(parts(End::Exited(Exit::Code(3))), (Some(3), (None, None), false));
        let signal = (Some(9), Some("SIGKILL".to_owned()));
        assert_eq!(parts(End::killed()), (None, signal, false));
        assert_eq!(parts(End::TimedOut), (None, (None, None), true));
    }
}
