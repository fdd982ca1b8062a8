//! The environment of a command: the host's variables, as the policy lets them through.

use std::collections::{BTreeMap, HashMap};
#[cfg(target_os = "linux")]
use std::ffi::{CStr, c_char};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi_derive::napi;
use toolwright_exec::environment::{Filter, Policy, is_for_a_shell};

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
) -> Arc<Variables> {
    let nothing_joins = also.as_ref().is_none_or(HashMap::is_empty);
    if given.is_none()
        && nothing_joins
        && let Some(last) = &*lock(&LAST)
        && is_of_process(&last.given)
    {
        return Arc::clone(&last.given);
    }
    let mut host: Variables = match given {
        Some(given) => given.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        None => std::env::vars_os().collect(),
    };
    if let Some(also) = also.filter(|also| !also.is_empty()) {
        host.retain(|(name, _)| name.to_str().is_none_or(|name| !also.contains_key(name)));
        host.extend(also.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    let last = lock(&LAST);
    match &*last {
        Some(last) if *last.given == host => Arc::clone(&last.given),
        _ => Arc::new(host),
    }
}

/// Whether these are the variables of this process, in their order. Compared where they are: copying
/// them takes several times as long.
#[cfg(target_os = "linux")]
fn is_of_process(variables: &Variables) -> bool {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: nobody changes it meanwhile, see `of_host`, and null ends the array.
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

/// Not known: a library finds them in another way there.
#[cfg(not(target_os = "linux"))]
fn is_of_process(_: &Variables) -> bool {
    false
}

/// What the command gets to see: the host's variables as the policy says, and where it runs; sorted,
/// and each name once.
pub(crate) fn of_command(
    options: &EnvironmentOptions,
    given: Arc<Variables>,
    cwd: &Path,
) -> Arc<Variables> {
    let policy = options.policy();
    let last = lock(&LAST);
    if let Some(last) = &*last
        && (Arc::ptr_eq(&last.given, &given) || last.given == given)
        && last.cwd == cwd
        && last.policy == policy
    {
        return Arc::clone(&last.passed);
    }
    drop(last);
    let mut passed: BTreeMap<_, _> = policy.apply(given.iter().cloned()).into_iter().collect();
    passed.remove(OsStr::new("OLDPWD"));
    passed.insert("PWD".into(), cwd.into());
    let passed: Arc<Variables> = Arc::new(passed.into_iter().collect());
    let last = Last { policy, given, cwd: cwd.to_owned(), passed: Arc::clone(&passed) };
    *lock(&LAST) = Some(last);
    passed
}

/// The same for a shell whose line was judged: without what would make it run or read something else.
pub(crate) fn of_shell(
    options: &EnvironmentOptions,
    given: Arc<Variables>,
    cwd: &Path,
) -> Arc<Variables> {
    let passed = of_command(options, given, cwd);
    if !passed.iter().any(|(name, _)| is_for_a_shell(name)) {
        return passed;
    }
    Arc::new(passed.iter().filter(|(name, _)| !is_for_a_shell(name)).cloned().collect())
}

/// The last answer and what it answered. Judging every variable anew, and copying them, takes a tenth
/// of the time of a whole short command, and hosts hardly ever change their environment between two
/// calls.
struct Last {
    policy: Policy,
    given: Arc<Variables>,
    cwd: PathBuf,
    passed: Arc<Variables>,
}

static LAST: Mutex<Option<Last>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
