//! One thing that is held, or is not, and why.

use std::fmt;

/// How well something is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// By the kernel.
    Kernel,
    /// As well as can be done without; it can be got around.
    BestEffort,
    /// Not at all.
    None,
}

/// One thing that is held, or is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// How well.
    pub level: Level,
    /// By what, or why not.
    pub mechanism: Mechanism,
    /// What would make it better, if anything would.
    pub advice: Option<Advice>,
}

/// By what something is held, or why it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mechanism {
    /// By this, or for this reason not.
    Means(String),
    /// By this, but for some gaps.
    Gaps(String, Vec<Gap>),
    /// The host has chosen to leave it open.
    Opened(Choice),
}

/// What a mechanism leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// Closed paths can be read.
    ClosedPaths,
    /// An open journal or thread store can be read and changed.
    OpenStores,
    /// Commands can write protected paths.
    ProtectedPaths,
    /// Files can be cut to nothing.
    Truncation,
}

/// A choice of the host that opens something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Files are not confined.
    Files,
    /// The network is open.
    Network,
    /// Both.
    NetworkAndFiles,
    /// Commands reach the loopback interface of the host.
    Loopback,
    /// No limits are set.
    Limits,
    /// Commands inherit the environment.
    Environment,
    /// What git obeys is not protected.
    Git,
}

/// What would make a row better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Allow user namespaces.
    Namespaces,
    /// Use a kernel that has the calls for mounts, and a container that knows them.
    Mounts,
    /// Have the container hide nothing of `/proc`, so that a process namespace can have its own.
    Processes,
    /// Use a kernel with overlays in memory, and allow them.
    Overlays,
    /// Use a kernel with Landlock, and allow it.
    Landlock,
    /// Allow what the broker of the loopback interface needs.
    Broker,
    /// Allow seccomp.
    Seccomp,
    /// Delegate control groups, or use user namespaces.
    ControlGroups,
    /// Let the sandbox program run.
    Program,
    /// Choose otherwise.
    Choice(Choice),
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Means(mechanism) => f.write_str(mechanism),
            Self::Gaps(mechanism, gaps) => {
                f.write_str(mechanism)?;
                gaps.iter().try_for_each(|gap| write!(f, "; {gap}"))
            }
            Self::Opened(choice) => write!(f, "the host has opened it ({choice:?})"),
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClosedPaths => "closed paths can be read",
            Self::OpenStores => "an open journal or thread store can be read and changed",
            Self::ProtectedPaths => "protected paths can be written",
            Self::Truncation => "files can be cut to nothing",
        })
    }
}
