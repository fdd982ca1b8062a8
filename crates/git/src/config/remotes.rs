//! What a configuration says of remotes, and what it must not say.
//!
//! Git takes the name of a remote without an address for a path, and a path leads to hooks that a command
//! has written. So it is the whole configuration that is harmless or not.

use std::collections::{BTreeMap, BTreeSet};

use super::address::is_harmless_url;
use super::change::Change;
use super::merge::{Policy, RemoteChange};
use super::parse::{Config, Value};
use super::value::is_false;

/// Settings and their values.
pub(super) type Settings = BTreeMap<Vec<u8>, Vec<Value>>;

/// Something by which git would come to a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Problem {
    /// A setting names a remote that has no address.
    Nameless { setting: Vec<u8>, remote: Vec<u8> },
    /// A remote has settings and no address.
    NoAddress { remote: Vec<u8> },
    /// A fetch from a remote removes references that are not copies of its branches.
    Removes { remote: Vec<u8> },
}

pub(super) fn settings(config: &Config) -> Settings {
    let owned = |(name, values): (&[u8], Vec<&Value>)| {
        (name.to_vec(), values.into_iter().cloned().collect::<Vec<_>>())
    };
    config.by_name().into_iter().map(owned).collect()
}

/// The settings after some changes.
pub(super) fn changed(before: &Settings, changes: &[Change]) -> Settings {
    let mut settings = before.clone();
    for change in changes {
        if change.after.is_empty() {
            settings.remove(&change.name);
        } else {
            settings.insert(change.name.clone(), change.after.clone());
        }
    }
    settings
}

/// The remote of a setting such as `remote.NAME.url`, and its key.
pub(super) fn remote_of(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = name.strip_prefix(b"remote.")?;
    let dot = rest.iter().rposition(|byte| *byte == b'.')?;
    Some((rest.get(..dot)?, rest.get(dot + 1..)?))
}

/// Whether the values of a setting are names of remotes.
fn names_remotes(name: &[u8]) -> bool {
    let of_branch = name.ends_with(b".remote") || name.ends_with(b".pushremote");
    name.starts_with(b"branch.") && of_branch
        || matches!(
            name,
            b"remote.pushdefault" | b"checkout.defaultremote" | b"extensions.partialclone"
        )
}

fn has_address(settings: &Settings, remote: &[u8]) -> bool {
    let values = settings.get(&[b"remote.", remote, b".url"].concat());
    let last = values.and_then(|values| values.last());
    last.is_some_and(|value| value.as_deref().is_some_and(|url| !url.is_empty()))
}

/// Whether a fetch removes the references that the remote no longer has.
fn prunes(settings: &Settings, remote: &[u8]) -> bool {
    let last = |name: &[u8]| settings.get(name).and_then(|values| values.last());
    let own = last(&[b"remote.", remote, b".prune"].concat());
    match own.or_else(|| last(b"fetch.prune")) {
        Some(Some(value)) => !std::str::from_utf8(value).is_ok_and(is_false),
        Some(None) => true,
        None => false,
    }
}

/// Whether all that is fetched from a remote lies apart from the references of a person.
fn keeps_copies(settings: &Settings, remote: &[u8]) -> bool {
    let values = settings.get(&[b"remote.", remote, b".fetch"].concat());
    values.into_iter().flatten().flatten().all(|value| {
        let colon = value.iter().position(|byte| *byte == b':');
        let to = colon.and_then(|colon| value.get(colon + 1..)).unwrap_or_default();
        to.is_empty() || to.starts_with(b"refs/remotes/")
    })
}

/// All problems of a configuration. `others` are settings of files that git reads beside it.
pub(super) fn problems(settings: &Settings, others: &[Settings]) -> BTreeSet<Problem> {
    let mut problems = BTreeSet::new();
    let all = others.iter().flatten().chain(settings);
    for (name, values) in all.filter(|(name, _)| names_remotes(name)) {
        for value in values {
            let remote = value.as_deref().unwrap_or_default();
            if remote != b"." && !has_address(settings, remote) {
                let (setting, remote) = (name.clone(), remote.to_vec());
                problems.insert(Problem::Nameless { setting, remote });
            }
        }
    }
    for (remote, _) in settings.keys().filter_map(|name| remote_of(name)) {
        if !has_address(settings, remote) {
            problems.insert(Problem::NoAddress { remote: remote.to_vec() });
        }
        if prunes(settings, remote) && !keeps_copies(settings, remote) {
            problems.insert(Problem::Removes { remote: remote.to_vec() });
        }
    }
    problems
}

/// The changes without those that lead to a problem that was not there before. The names of these are
/// added to
/// `refused`.
pub(super) fn without_problems(
    mut wanted: Vec<Change>,
    real: &Settings,
    others: &[Settings],
    refused: &mut Vec<Change>,
) -> Vec<Change> {
    let known = problems(real, others);
    loop {
        let now = problems(&changed(real, &wanted), others);
        let Some(problem) = now.difference(&known).next() else { return wanted };
        let is_named = |change: &Change| match problem {
            Problem::Nameless { setting, .. } => change.name == *setting,
            Problem::NoAddress { .. } => false,
            Problem::Removes { .. } => change.name == b"fetch.prune",
        };
        let (Problem::Nameless { remote, .. }
        | Problem::NoAddress { remote }
        | Problem::Removes { remote }) = problem;
        let is_of_remote =
            |change: &Change| remote_of(&change.name).is_some_and(|(its, _)| its == remote);
        // What names a remote goes first, then everything of the remote, then all.
        let (dropped, kept) = if wanted.iter().any(is_named) {
            wanted.into_iter().partition(|change| is_named(change))
        } else if wanted.iter().any(is_of_remote) {
            wanted.into_iter().partition(|change| is_of_remote(change))
        } else {
            (wanted, Vec::new())
        };
        refused.extend(dropped);
        wanted = kept;
    }
}

/// Whether an address that is harmless by itself stays so where another setting of the person replaces
/// its beginning.
pub(super) fn stays_harmless(url: &[u8], all: &[&Settings], policy: &Policy<'_>) -> bool {
    let rules = all.iter().flat_map(|settings| settings.iter()).filter_map(|(name, values)| {
        let rest = name.strip_prefix(b"url.")?;
        let base = rest.strip_suffix(b".insteadof").or(rest.strip_suffix(b".pushinsteadof"))?;
        Some(values.iter().flatten().map(move |start| (base, start)))
    });
    rules.flatten().all(|(base, start)| match url.strip_prefix(&**start) {
        Some(rest) => std::str::from_utf8(&[base, rest].concat())
            .is_ok_and(|url| is_harmless_url(url, policy)),
        None => true,
    })
}

/// What a person is to know of a change: where a push or a fetch goes that went elsewhere, or nowhere,
/// before.
pub(super) fn remote_change(change: &Change, real: &Settings) -> Option<RemoteChange> {
    let name = &*change.name;
    let has = |remote: &[u8]| has_address(real, remote);
    // Whether the person has had a target that is another one now.
    let is_held = if let Some((remote, key)) = remote_of(name) {
        if !matches!(key, b"url" | b"pushurl") {
            return None;
        }
        // A remote of this name, or the only one, is what git takes where none is named.
        let is_first = !real.keys().any(|name| remote_of(name).is_some());
        if !has(remote) && remote != b"origin" && !is_first {
            return None;
        }
        has(remote)
    } else if name == b"remote.pushdefault" {
        true
    } else {
        let branch = name.strip_prefix(b"branch.")?;
        let dot = branch.iter().rposition(|byte| *byte == b'.')?;
        let (branch, key) = branch.split_at_checked(dot)?;
        let had = !change.before.is_empty();
        match key {
            b".remote" | b".merge" if had && !change.after.is_empty() => true,
            b".pushremote" => had || real.contains_key(&[b"branch.", branch, b".remote"].concat()),
            // A branch that had no remote gets one that is new.
            b".remote" if change.after.iter().flatten().any(|remote| !has(remote)) => false,
            _ => return None,
        }
    };
    let texts = |values: &[Value]| {
        let text =
            |value: &Value| String::from_utf8_lossy(value.as_deref().unwrap_or(b"true")).into();
        values.iter().map(text).collect()
    };
    let setting = String::from_utf8_lossy(name).into_owned();
    let (before, after) = (texts(&change.before), texts(&change.after));
    Some(RemoteChange { setting, before, after, is_held })
}
