//! How a command ended.

use std::borrow::Cow;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

/// The end of a command: by itself with a code, or by a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code; 0 is success.
    Code(i32),
    /// A signal ended it.
    Signal {
        /// The number on this system.
        number: i32,
        /// The name, for example `SIGSEGV`.
        name: Cow<'static, str>,
    },
}

impl Exit {
    /// The code, if it exited by itself.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(*code),
            Self::Signal { .. } => None,
        }
    }

    /// The number and the name of the signal, if one ended it.
    #[must_use]
    pub fn signal(&self) -> (Option<i32>, Option<String>) {
        match self {
            Self::Code(_) => (None, None),
            Self::Signal { number, name } => (Some(*number), Some(name.to_string())),
        }
    }

    pub(crate) fn from_status(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(number)) => Self::Signal { number, name: name(number) },
            // Neither: not an end at all, which waiting for an exit never reports.
            (None, None) => Self::Code(status.into_raw()),
        }
    }
}

const NAMES: [(Signal, &str); 28] = [
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::CHILD, "SIGCHLD"),
    (Signal::CONT, "SIGCONT"),
    (Signal::STOP, "SIGSTOP"),
    (Signal::TSTP, "SIGTSTP"),
    (Signal::TTIN, "SIGTTIN"),
    (Signal::TTOU, "SIGTTOU"),
    (Signal::URG, "SIGURG"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
    (Signal::VTALARM, "SIGVTALRM"),
    (Signal::PROF, "SIGPROF"),
    (Signal::IO, "SIGIO"),
    (Signal::SYS, "SIGSYS"),
];

/// The number of a signal on this system, by its name: `SIGINT`, for example.
#[must_use]
pub fn signal_number(name: &str) -> Option<i32> {
    NAMES.iter().find(|(_, known)| *known == name).map(|(signal, _)| signal.as_raw())
}

fn name(number: i32) -> Cow<'static, str> {
    NAMES
        .iter()
        .find(|(signal, _)| signal.as_raw() == number)
        .map_or_else(|| Cow::Owned(format!("signal {number}")), |(_, name)| Cow::Borrowed(*name))
}
