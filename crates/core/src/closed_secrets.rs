//! What of the secrets of this machine commands do not get, and why: never a value.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use toolwright_exec::environment::{Filter, Reason};
use toolwright_sandbox::policy::stores;

use crate::command::environment::Variables;
use crate::command::masks::is_masked;
use crate::command::plan::home_of;
use crate::voice::secrets::{of_store, of_variable};

/// A store that is there, or a variable that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedSecret {
    /// The path, or the name.
    pub subject: OsString,
    /// By which rule it is closed.
    pub rule: String,
    /// Whether its value is masked in outputs.
    pub is_masked: bool,
}

/// The stores that commands with the default options cannot read, and the variables that they do not get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClosedSecrets {
    /// By path.
    pub stores: Vec<ClosedSecret>,
    /// By name.
    pub variables: Vec<ClosedSecret>,
}

/// Looks at the stores of this machine and at these variables.
#[must_use]
pub fn closed_secrets(host: &Arc<Variables>, has_network: bool) -> ClosedSecrets {
    let listed = stores::listed(home_of(host).as_deref(), host);
    let store = |(path, rule): (PathBuf, stores::Rule)| ClosedSecret {
        subject: path.into_os_string(),
        rule: of_store(rule),
        is_masked: false,
    };
    let filter = Filter { network_blocked: !has_network, no_editors: true, ..Filter::default() };
    let withheld = host.iter().filter_map(|(name, value)| {
        let reason = filter.reason(name, value).filter(|reason| *reason != Reason::Invalid)?;
        let is_masked = is_masked(reason, value);
        Some(ClosedSecret {
            subject: name.clone(),
            rule: of_variable(reason).to_owned(),
            is_masked,
        })
    });
    let mut all = ClosedSecrets {
        stores: listed.into_iter().map(store).collect(),
        variables: withheld.collect(),
    };
    for list in [&mut all.stores, &mut all.variables] {
        list.sort_by(|one, other| one.subject.cmp(&other.subject));
        list.dedup_by(|next, kept| next.subject == kept.subject);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_listed_with_their_rules_and_no_value() {
        let variables = [
            ("DEPLOY_TOKEN", "x7Gk29QmZp41"),
            ("AUTH_TYPE", "kerberos"),
            ("PATH", "/bin"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("HTTP_PROXY", "http://proxy.example:3128"),
            ("LD_PRELOAD", "/x7Gk29QmZp41.so"),
        ];
        let host: Variables =
            variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let listed = closed_secrets(&Arc::new(host), false);
        let names: Vec<_> = listed
            .variables
            .iter()
            .map(|one| (one.subject.to_string_lossy(), one.is_masked))
            .collect();
        assert_eq!(
            names,
            [
                ("AUTH_TYPE".into(), false),
                ("DEPLOY_TOKEN".into(), true),
                ("HTTP_PROXY".into(), false),
                ("LD_PRELOAD".into(), false),
                ("SSH_AUTH_SOCK".into(), false)
            ]
        );
        assert!(!format!("{listed:?}").contains("x7Gk"));
        assert!(listed.variables.iter().all(|one| !one.rule.is_empty()));
    }
}
