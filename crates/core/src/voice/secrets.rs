//! By which rule something is closed to commands, in words.

use toolwright_exec::environment::Reason;
use toolwright_sandbox::policy::stores::Rule;

/// For a store.
pub(crate) fn of_store(rule: Rule) -> String {
    match rule {
        Rule::Known => "a known store in a home directory".to_owned(),
        Rule::System => "a file of the system that only root may read".to_owned(),
        Rule::Service => "a place for secrets of services and sessions".to_owned(),
        Rule::Moved(variable) => format!("named by {variable}"),
    }
}

/// For a variable.
pub(crate) fn of_variable(reason: Reason) -> &'static str {
    match reason {
        Reason::SecretName => "named like a secret",
        Reason::SecretValue => "its value holds a password or a token",
        Reason::Agent => "leads to a program that acts for the user",
        Reason::Injection => "has programs run code that they were not asked to run",
        Reason::Host => "belongs to the host process",
        Reason::Proxy => "names a proxy, and the network is blocked",
        Reason::Editor => "names an editor, in which nobody could type",
        Reason::Invalid => "no program can get it",
    }
}
