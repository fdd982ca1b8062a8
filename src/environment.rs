//! The environment of a command: the host's variables, as the policy lets them through.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;

use napi_derive::napi;
use toolwright_exec::environment::Filter;
use toolwright_exec::environment::Policy;

pub(crate) type Variables = Vec<(OsString, OsString)>;

/// Which variables a command sees.
#[napi(object)]
#[derive(Debug)]
pub struct EnvironmentOptions {
    /// Pass all of them, whatever they hold.
    pub inherit: bool,
    /// Names that are passed although they look like a secret; `*` stands for any characters.
    pub allow: Vec<String>,
    /// Variables that are added or given another value.
    pub set: HashMap<String, String>,
    /// Leave proxies out as well.
    pub network_blocked: bool,
}

impl EnvironmentOptions {
    fn policy(&self) -> Policy {
        if self.inherit {
            return Policy::Inherit;
        }
        let mut set: Variables =
            self.set.iter().map(|(name, value)| (name.into(), value.into())).collect();
        set.sort();
        let network_blocked = self.network_blocked;
        Policy::Filtered(Filter { allow: self.allow.clone(), set, network_blocked })
    }
}

/// What the host has, or is said to have, and what joins it. Called on the JavaScript thread, where
/// nobody changes it meanwhile.
pub(crate) fn of_host(
    given: Option<HashMap<String, String>>,
    also: Option<HashMap<String, String>>,
) -> Variables {
    let mut host: Variables = match given {
        Some(given) => given.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        None => std::env::vars_os().collect(),
    };
    if let Some(also) = also.filter(|also| !also.is_empty()) {
        host.retain(|(name, _)| name.to_str().is_none_or(|name| !also.contains_key(name)));
        host.extend(also.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    host
}

/// What the command gets to see: the host's variables as the policy says, and where it runs.
pub(crate) fn of_command(options: &EnvironmentOptions, given: Variables, cwd: &Path) -> Variables {
    let mut passed = passed(options.policy(), given);
    passed.push(("PWD".into(), cwd.as_os_str().to_os_string()));
    passed
}

/// The last answer and what it answered. Judging every variable anew takes a tenth of the time of a
/// whole short command, and hosts hardly ever change their environment between two calls.
static LAST: Mutex<Option<(Policy, Variables, Variables)>> = Mutex::new(None);

fn passed(policy: Policy, given: Variables) -> Variables {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((last_policy, last_given, passed)) = &*last
        && *last_policy == policy
        && *last_given == given
    {
        return passed.clone();
    }
    let mut passed = policy.apply(given.iter().cloned());
    passed.retain(|(name, _)| name != "PWD" && name != "OLDPWD");
    *last = Some((policy, given, passed.clone()));
    passed
}
