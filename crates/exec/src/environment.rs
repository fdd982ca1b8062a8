//! Selects the variables of the host that a command gets.
//!
//! A command that a model wrote runs with the user's rights, and its output goes back to the model.
//! So it gets no secrets, no way to an agent that holds secrets, and no variable that runs code in
//! it unasked. All other variables pass, because a command should work as in the user's shell. The
//! selection is a pure function: variables in, variables out.
//!
//! The rules and their reasons: `docs/decisions/2026-11-20-environment-policy.md`.

mod editor;
mod inject;
mod secret;
mod value;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// The variables that a command gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// Everything.
    Inherit,
    /// Everything but what [`reason`] names, with exceptions.
    Filtered(Filter),
}

impl Default for Policy {
    fn default() -> Self {
        Self::Filtered(Filter::default())
    }
}

/// The exceptions, and the state of the network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names that pass despite the rules. Case does not matter; `*` stands for any characters.
    pub allow: Vec<String>,
    /// Variables that are added or replaced. No rule applies to them, because the host chose them.
    pub set: Vec<(OsString, OsString)>,
    /// Whether the command has no network. A proxy is of no use then, and its address a lead.
    pub network_blocked: bool,
    /// Whether an editor ends at once and says what works instead, because nobody could type in it.
    pub no_editors: bool,
}

/// Why a variable is not passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It is named like a secret.
    SecretName,
    /// Its value holds a password or a token.
    SecretValue,
    /// It leads to a process that acts for the user, or to what opens the screen.
    Agent,
    /// It makes programs run code that they were not asked to run.
    Injection,
    /// It belongs to the host process and would mislead another.
    Host,
    /// It names a proxy, and the network is blocked.
    Proxy,
    /// It names an editor, and there is no terminal.
    Editor,
    /// No program can get such a name or value.
    Invalid,
}

impl Policy {
    /// The policy of a command without a terminal, where the host chooses the exceptions.
    #[must_use]
    pub fn filtered(
        allow: Vec<String>,
        set: Vec<(OsString, OsString)>,
        network_blocked: bool,
    ) -> Self {
        Self::Filtered(Filter { allow, set, network_blocked, no_editors: true })
    }

    /// The same for a command with a terminal, in which an editor can be used.
    #[must_use]
    pub fn with_terminal(&self) -> Self {
        match self {
            Self::Inherit => Self::Inherit,
            Self::Filtered(filter) => {
                Self::Filtered(Filter { no_editors: false, ..filter.clone() })
            }
        }
    }

    /// The variables that pass, in their order, followed by those that are set, and editors.
    #[must_use]
    pub fn apply(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let variables = variables.into_iter();
        let Self::Filtered(filter) = self else {
            return variables.filter(|(name, value)| is_valid(name, value)).collect();
        };
        let mut passed: Vec<_> =
            variables.filter(|(name, value)| filter.reason(name, value).is_none()).collect();
        passed.retain(|(name, _)| filter.set.iter().all(|(set, _)| set != name));
        passed.extend_from_slice(&filter.set);
        if filter.no_editors {
            editor::add_to(&mut passed);
        }
        passed
    }
}

impl Filter {
    /// Why a variable does not pass, or `None` if it does. Variables that are set are not checked.
    #[must_use]
    pub fn reason(&self, name: &OsStr, value: &OsStr) -> Option<Reason> {
        if !is_valid(name, value) {
            return Some(Reason::Invalid);
        }
        let bytes = name.as_bytes().to_ascii_uppercase();
        let is_allowed =
            |pattern: &String| matches_pattern(pattern.to_ascii_uppercase().as_bytes(), &bytes);
        if self.allow.iter().any(is_allowed) {
            return None;
        }
        let waits = self.no_editors && editor::is_interactive(&bytes, value);
        reason(name, value)
            .or((self.network_blocked && is_proxy(&bytes)).then_some(Reason::Proxy))
            .or(waits.then_some(Reason::Editor))
    }
}

/// Why a variable is not passed by default, the network aside.
#[must_use]
pub fn reason(name: &OsStr, value: &OsStr) -> Option<Reason> {
    let name = name.as_bytes().to_ascii_uppercase();
    // The most surprising omission comes first.
    if inject::is_injection(&name) {
        Some(Reason::Injection)
    } else if inject::is_of_the_host(&name) {
        Some(Reason::Host)
    } else if secret::is_agent(&name) {
        Some(Reason::Agent)
    } else if secret::is_secret_name(&name) {
        Some(Reason::SecretName)
    } else if value::is_secret_value(value.as_bytes()) {
        Some(Reason::SecretValue)
    } else {
        None
    }
}

/// Whether a variable makes a shell run or read something else than its command line: a startup
/// file, functions in place of commands, other options or another grammar. A shell whose line was
/// judged beforehand does not get it, whether or not the host has set it.
#[must_use]
pub fn is_for_a_shell(name: &OsStr) -> bool {
    inject::is_for_a_shell(name.as_bytes())
}

/// `HTTP_PROXY`, `all_proxy`, `npm_config_https_proxy`; also `NO_PROXY`, which means nothing
/// without them. Not `GOPROXY`: it names the source of modules, and `off` and `file://` count
/// offline.
fn is_proxy(name: &[u8]) -> bool {
    name == b"PROXY" || name.ends_with(b"_PROXY") || name.ends_with(b"_NOPROXY")
}

fn is_valid(name: &OsStr, value: &OsStr) -> bool {
    let name = name.as_bytes();
    !name.is_empty()
        && !name.contains(&b'=')
        && !name.contains(&0)
        && !value.as_bytes().contains(&0)
}

/// Whether a whole name matches a pattern in which `*` stands for any characters.
fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    let mut parts = pattern.split(|&byte| byte == b'*');
    // `split` gives one part at least.
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = find(rest, part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn is_one_of(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|one| one.as_bytes() == name)
}

/// Where `part` first begins in `whole`.
fn find(whole: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    whole.windows(part.len()).position(|window| window == part)
}
