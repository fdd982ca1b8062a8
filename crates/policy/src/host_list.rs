//! Lists of hosts that programs may reach: what is allowed, but for what is denied.

use crate::Host;
use crate::error::CompileError;
use crate::host_pattern::{self, HostPattern};

/// Patterns of hosts. The default allows none.
#[derive(Debug, Clone, Default)]
pub struct HostList {
    allow: Vec<HostPattern>,
    deny: Vec<HostPattern>,
}

impl HostList {
    /// Compiles both lists. `origin` is the name of the option that holds them.
    pub fn compile(origin: &str, allow: &[String], deny: &[String]) -> Result<Self, CompileError> {
        let allow = patterns(origin, "allow", allow)?;
        Ok(Self { allow, deny: patterns(origin, "deny", deny)? })
    }

    /// Compiles the list of the hosts that are asked about first.
    pub fn compile_asked(origin: &str, ask: &[String]) -> Result<Self, CompileError> {
        Ok(Self { allow: patterns(origin, "ask", ask)?, deny: Vec::new() })
    }

    /// Whether a host may be reached; without a port, whether at some port.
    #[must_use]
    pub fn allows(&self, host: &Host) -> bool {
        let allows = |pattern: &HostPattern| match host.port {
            Some(_) => pattern.matches(host),
            None => pattern.matches_some_port(host),
        };
        // A pattern with a port denies no host as a whole.
        self.allow.iter().any(allows) && !self.denies(host)
    }

    /// As [`allows`](Self::allows), but for an address `*` does not count: it has to be listed itself. Who
    /// connects to an address goes around every name that is denied.
    #[must_use]
    pub fn lists(&self, host: &Host) -> bool {
        let is_listed = || {
            let listed =
                |pattern: &HostPattern| !pattern.is_for_all_hosts() && pattern.matches(host);
            self.allow.iter().any(listed)
        };
        self.allows(host) && (host.address().is_none() || is_listed())
    }

    /// Whether a host is denied, whatever is allowed.
    #[must_use]
    pub fn denies(&self, host: &Host) -> bool {
        self.deny.iter().any(|pattern| pattern.covers(host))
    }
}

fn patterns(origin: &str, place: &str, texts: &[String]) -> Result<Vec<HostPattern>, CompileError> {
    let mut all = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let compiled = host_pattern::compile(text)
            .map_err(|problem| problem.at(origin, format!("{place}[{index}]")))?;
        all.extend(compiled);
    }
    Ok(all)
}
