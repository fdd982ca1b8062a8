//! The environment of a command: the host's variables, as the policy lets them through.

use std::collections::{BTreeMap, HashMap};
#[cfg(target_os = "linux")]
use std::ffi::{CStr, c_char};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolwright_exec::environment::{Reason, is_for_a_shell, reason};

pub use toolwright_exec::environment::{Filter, Policy};

/// Names and values.
pub type Variables = Vec<(OsString, OsString)>;

/// The variables of the host. `host_env` replaces those of the process, and `extra_env` is added to
/// them. Must be called on the JavaScript thread, where no other code changes the environment
/// meanwhile.
#[must_use]
#[expect(clippy::implicit_hasher, reason = "the addon has no other maps")]
pub fn of_host(
    host_env: Option<HashMap<String, String>>,
    extra_env: Option<HashMap<String, String>>,
) -> Arc<Variables> {
    CACHE.of_host(host_env, extra_env.unwrap_or_default())
}

/// The variables of a command that runs in `cwd`: those that the policy passes, and where it runs;
/// sorted, and each name once.
#[must_use]
pub fn of_command(policy: &Policy, host: &Arc<Variables>, cwd: &Path) -> Arc<Variables> {
    CACHE.of_command(policy, host, cwd)
}

/// The variables of a shell whose line was judged beforehand: without those that would make it run
/// or read something else.
#[must_use]
pub fn of_shell(policy: &Policy, host: &Arc<Variables>, cwd: &Path) -> Arc<Variables> {
    let passed = of_command(policy, host, cwd);
    if !passed.iter().any(|(name, _)| is_for_a_shell(name)) {
        return passed;
    }
    Arc::new(passed.iter().filter(|(name, _)| !is_for_a_shell(name)).cloned().collect())
}

/// The last value counts, and an empty one is none.
pub(super) fn variable<'e>(
    environment: &'e [(OsString, OsString)],
    name: &str,
) -> Option<&'e OsStr> {
    let entry = environment.iter().rev().find(|(known, _)| known == name);
    entry.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
}

/// The variables of the host, and those of them that a command has.
#[derive(Debug, Clone)]
pub(crate) struct Passage {
    pub(crate) host: Arc<Variables>,
    pub(crate) passed: Arc<Variables>,
}

impl Passage {
    /// The variables that are kept from the command because they are secret, or lead to an agent of the user.
    pub(crate) fn withheld(&self) -> impl Iterator<Item = &OsStr> {
        let is_passed = |name: &OsString| self.passed.iter().any(|(passed, _)| passed == name);
        let kinds = &[Reason::SecretName, Reason::SecretValue, Reason::Agent];
        let secret = self.of_host_for(kinds).map(|(name, _)| name);
        secret.filter(move |name| !is_passed(name)).map(OsString::as_os_str)
    }

    /// The variables of the host that are not passed for one of these reasons, or with another value, each with its own.
    pub(crate) fn kept_values(
        &self,
        reasons: &'static [Reason],
    ) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.of_host_for(reasons)
            .filter(|variable| !self.passed.contains(variable))
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    fn of_host_for(
        &self,
        reasons: &'static [Reason],
    ) -> impl Iterator<Item = &(OsString, OsString)> {
        let is_meant = |reason: Reason| reasons.contains(&reason);
        self.host.iter().filter(move |(name, value)| reason(name, value).is_some_and(is_meant))
    }
}

/// The last answer and its question. Applying the policy to every variable takes a tenth of the time
/// of a short command, and hosts hardly ever change their environment between two calls.
struct Cache(Mutex<Option<Answer>>);

struct Answer {
    policy: Policy,
    host: Arc<Variables>,
    cwd: PathBuf,
    passed: Arc<Variables>,
}

static CACHE: Cache = Cache(Mutex::new(None));

impl Cache {
    fn last(&self) -> MutexGuard<'_, Option<Answer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same variables give the same list, so that comparing them is cheap.
    fn of_host(
        &self,
        host_env: Option<HashMap<String, String>>,
        extra_env: HashMap<String, String>,
    ) -> Arc<Variables> {
        if host_env.is_none()
            && extra_env.is_empty()
            && let Some(last) = &*self.last()
            && is_of_process(&last.host)
        {
            return Arc::clone(&last.host);
        }
        let mut host: Variables = match host_env {
            Some(variables) => into_variables(variables),
            None => std::env::vars_os().collect(),
        };
        host.retain(|(name, _)| name.to_str().is_none_or(|name| !extra_env.contains_key(name)));
        host.extend(into_variables(extra_env));
        match &*self.last() {
            Some(last) if *last.host == host => Arc::clone(&last.host),
            _ => Arc::new(host),
        }
    }

    fn of_command(&self, policy: &Policy, host: &Arc<Variables>, cwd: &Path) -> Arc<Variables> {
        if let Some(last) = &*self.last()
            && (Arc::ptr_eq(&last.host, host) || last.host == *host)
            && last.cwd == cwd
            && last.policy == *policy
        {
            return Arc::clone(&last.passed);
        }
        let mut passed: BTreeMap<_, _> = policy.apply(host.iter().cloned()).into_iter().collect();
        passed.remove(OsStr::new("OLDPWD"));
        passed.insert("PWD".into(), cwd.into());
        let passed: Arc<Variables> = Arc::new(passed.into_iter().collect());
        *self.last() = Some(Answer {
            policy: policy.clone(),
            host: Arc::clone(host),
            cwd: cwd.to_owned(),
            passed: Arc::clone(&passed),
        });
        passed
    }
}

/// Sorted: a map has another order each time, and the same variables have to be the same list.
fn into_variables(variables: HashMap<String, String>) -> Variables {
    let mut all: Variables =
        variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    all.sort_unstable();
    all
}

/// Whether these are the variables of this process, in their order. Compared in place: copying them
/// takes several times as long.
#[cfg(target_os = "linux")]
fn is_of_process(variables: &Variables) -> bool {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: `environ` is null or an array of C strings that null ends, and no other thread changes
    // it meanwhile: see `of_host`.
    unsafe {
        let mut next = environ;
        if next.is_null() {
            return variables.is_empty();
        }
        for (name, value) in variables {
            if (*next).is_null() {
                return false;
            }
            let (name, value) = (name.as_encoded_bytes(), value.as_encoded_bytes());
            let rest = CStr::from_ptr(*next).to_bytes().strip_prefix(name);
            if rest.and_then(|rest| rest.strip_prefix(b"=")) != Some(value) {
                return false;
            }
            next = next.add(1);
        }
        (*next).is_null()
    }
}

/// Unknown: libraries find `environ` in another way here.
#[cfg(not(target_os = "linux"))]
fn is_of_process(_: &Variables) -> bool {
    false
}

#[cfg(test)]
mod tests;
