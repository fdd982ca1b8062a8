//! Which changes of a command reach a person's configuration.
//!
//! Each change has to be on the list, then the result is judged. A change that the command wanted and did
//! not get hides nothing, because only the person's own text and what was added to it count.

use std::fmt;
use std::path::Path;

use super::MAX_BYTES;
use super::change::{Change, changes, with_changes};
use super::list::is_listed;
use super::parse::Config;
use super::remotes::{self, Settings, remote_of};

/// A command that changes more settings gets none of them.
const MAX_CHANGES: usize = 200;

/// Which file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// `config` of a repository.
    Repository,
    /// `config.worktree` of one work tree.
    Worktree,
}

/// What the answer depends on besides the settings.
#[derive(Clone, Copy)]
pub struct Policy<'t> {
    /// Which file it is.
    pub scope: Scope,
    /// Where relative addresses begin: the top of the work tree, if there is only one.
    pub top: Option<&'t Path>,
    /// Whether commands can write at a path, or make something there.
    pub is_writable: &'t dyn Fn(&Path) -> bool,
    /// Whether commands may read at a path.
    pub is_readable: &'t dyn Fn(&Path) -> bool,
    /// Whether every `config.worktree` that git would read is held to this list.
    pub holds_worktree_config: bool,
    /// Whether existing targets of fetches and pushes stay what they are.
    pub is_strict: bool,
    /// The other files that git reads for this repository. They may name its remotes.
    pub others: &'t [&'t [u8]],
}

impl fmt::Debug for Policy<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Policy");
        shown.field("scope", &self.scope).field("top", &self.top).finish_non_exhaustive()
    }
}

/// A changed target of fetches or pushes.
///
/// All texts are a command's, with whatever characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteChange {
    /// The name of the setting.
    pub setting: String,
    /// Its values before.
    pub before: Vec<String>,
    /// The values that the command has given it.
    pub after: Vec<String>,
    /// Whether the command's change did not reach the person's file ([`Policy::is_strict`]).
    pub is_held: bool,
}

/// What becomes of a command's changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// The new text of the person's file. `None`: it stays as it is.
    pub text: Option<Vec<u8>>,
    /// Names of settings that are not on the list, get another value, or would do harm beside the others.
    pub refused: Vec<String>,
    /// Names of settings that the person has changed as well.
    pub changed_meanwhile: Vec<String>,
    /// Where fetches and pushes go that went elsewhere before.
    pub remotes: Vec<RemoteChange>,
}

/// Why nothing is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A file is longer than [`MAX_BYTES`].
    #[error("it is longer than {MAX_BYTES} bytes")]
    TooLarge,
    /// Git would not read what the command has left.
    #[error("git would not read it")]
    Unreadable,
    /// Git does not read the person's own file.
    #[error("git does not read the person's own file")]
    UnreadableOwn,
    /// There are more changes than a person makes.
    #[error("it has {0} changes")]
    TooMany(usize),
    /// The changes make no text that says exactly what it should.
    #[error("the changes cannot be written")]
    NotWritten,
    /// A new repository has a format that is not supported.
    #[error("it has another format of objects or references")]
    Format,
}

/// Applies what a command has changed, from `snapshot` to `view`, to the person's file `real`.
pub fn merge(
    snapshot: &[u8],
    view: &[u8],
    real: &[u8],
    policy: &Policy<'_>,
) -> Result<Merged, ConfigError> {
    let snapshot = parsed(snapshot, ConfigError::UnreadableOwn)?;
    let view = parsed(view, ConfigError::Unreadable)?;
    let real = parsed(real, ConfigError::UnreadableOwn)?;
    merged(changes(&snapshot, &view), &real, policy)
}

pub(super) fn parsed(text: &[u8], unreadable: ConfigError) -> Result<Config, ConfigError> {
    if text.len() > MAX_BYTES {
        return Err(ConfigError::TooLarge);
    }
    Config::parse(text).ok_or(unreadable)
}

pub(super) fn merged(
    all: Vec<Change>,
    real: &Config,
    policy: &Policy<'_>,
) -> Result<Merged, ConfigError> {
    if all.len() > MAX_CHANGES {
        return Err(ConfigError::TooMany(all.len()));
    }
    let settings = remotes::settings(real);
    let others: Vec<Settings> = policy
        .others
        .iter()
        .filter_map(|text| Config::parse(text))
        .map(|it| remotes::settings(&it))
        .collect();
    let (mut wanted, mut refused, mut meanwhile) = (Vec::new(), Vec::new(), Vec::new());
    for change in all {
        let now = settings.get(&change.name).map_or(&[][..], |values| values);
        if now == change.after || is_without_meaning(&change) {
            continue;
        }
        if !is_listed(&change, policy) || !is_harmless_address(&change, &settings, &others, policy)
        {
            refused.push(change);
        } else if now == change.before {
            wanted.push(change);
        } else {
            meanwhile.push(change);
        }
    }
    let mut remote_changes = Vec::new();
    if policy.is_strict {
        wanted.retain(|change| {
            let held = remotes::remote_change(change, &settings).filter(|change| change.is_held);
            let is_free = held.is_none();
            remote_changes.extend(held);
            is_free
        });
    }
    let wanted = remotes::without_problems(wanted, &settings, &others, &mut refused);
    let news = wanted.iter().filter_map(|change| remotes::remote_change(change, &settings));
    remote_changes.extend(news.map(|change| RemoteChange { is_held: false, ..change }));
    let text = if wanted.is_empty() {
        None
    } else {
        Some(with_changes(real, &wanted).ok_or(ConfigError::NotWritten)?)
    };
    let (refused, changed_meanwhile) = (names(&refused), names(&meanwhile));
    Ok(Merged { text, refused, changed_meanwhile, remotes: remote_changes })
}

/// What git writes by itself and what says nothing outside: the format that it raises together with an
/// extension which it reads in the lower one as well, and modes that it tries out on another file system.
fn is_without_meaning(change: &Change) -> bool {
    let is =
        |values: &[Option<Vec<u8>>], text: &[u8]| matches!(values, [Some(value)] if value == text);
    match &*change.name {
        b"core.repositoryformatversion" => is(&change.before, b"0") && is(&change.after, b"1"),
        b"core.filemode" => is(&change.before, b"true") && is(&change.after, b"false"),
        _ => false,
    }
}

fn is_harmless_address(
    change: &Change,
    real: &Settings,
    others: &[Settings],
    policy: &Policy<'_>,
) -> bool {
    let is_of_submodule = change.name.starts_with(b"submodule.") && change.name.ends_with(b".url");
    let is_of_remote = remote_of(&change.name).is_some_and(|(_, key)| key.ends_with(b"url"));
    if !is_of_submodule && !is_of_remote {
        return true;
    }
    let all: Vec<&Settings> = others.iter().chain([real]).collect();
    let new = change.after.iter().filter(|value| !change.before.contains(value));
    new.flatten().all(|url| remotes::stays_harmless(url, &all, policy))
}

fn names(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| String::from_utf8_lossy(&change.name).into_owned()).collect()
}
