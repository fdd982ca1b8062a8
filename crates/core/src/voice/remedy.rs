//! What the host can do about a refusal, in the words of what it has: options of tools, or the
//! capabilities of a session.

use super::Door;

/// A change that the host can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remedy {
    tools: &'static str,
    session: &'static str,
}

impl Remedy {
    /// Opens the network.
    pub(crate) const NETWORK: Self = Self {
        tools: "have the host set allowNetwork",
        session: "have the host grant net.hosts ['*']; a narrower one opens web_fetch alone",
    };
    /// Adds a host that commands reach by name.
    pub(crate) const HOSTS: Self = Self::same("have the host add it to sandbox.network.allow");
    /// Grants a host to a session that commands reach by name.
    pub(crate) const GRANTED_HOSTS: Self = Self::same("have the host grant it in net.hosts");
    /// Says where a name leads.
    pub(crate) const HOST_ADDRESSES: Self =
        Self::same("have the host name its address in sandbox.network.addresses");
    /// Lets connections ask for any name.
    pub(crate) const TLS_NAMES: Self =
        Self::same("have the host set sandbox.network.tlsNames to false");
    /// Adds a directory that commands may write.
    pub(crate) const WRITABLE: Self = Self {
        tools: "have the host add sandbox.writableRoots",
        session: "have the host grant fs.write for a whole directory (`dir/**`)",
    };
    /// Adds what commands may read.
    pub(crate) const READABLE: Self = Self {
        tools: "have the host add it to sandbox.readable",
        session: "have the host grant fs.read for it (`dir/**`)",
    };
    /// Passes a variable.
    pub(crate) const VARIABLE: Self = Self::same("have the host name it in env.allow");
    /// Opens the services of the host's machine.
    pub(crate) const LOOPBACK: Self = Self::same("have the host set sandbox.loopback to 'host'");
    /// Drops the protection of a path.
    pub(crate) const PROTECTED: Self = Self::same("have the host change sandbox.denyWrite");
    /// Allows more processes.
    pub(crate) const PROCESSES: Self = Self {
        tools: "or have the host raise sandbox.limits.processes",
        session: "one after the other",
    };

    const fn same(words: &'static str) -> Self {
        Self { tools: words, session: words }
    }

    /// A part of a sentence.
    pub(crate) fn words(self, door: Door) -> &'static str {
        match door {
            Door::Tools => self.tools,
            Door::Session => self.session,
        }
    }
}
