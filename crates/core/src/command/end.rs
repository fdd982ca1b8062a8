//! How a command ended.

use toolwright_exec::Exit;

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
