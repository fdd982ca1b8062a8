//! The configuration of a repository that a command has made.
//!
//! The host makes it anew: what a repository is, it writes from what it knows, and of the command's
//! settings it takes those that it would take for an existing repository.

use super::change::{Change, changes, with_changes};
use super::merge::{ConfigError, Merged, Policy, Scope, merged, parsed};
use super::parse::{Config, Value};

/// What the host knows of a new repository.
#[derive(Debug, Clone, Copy, Default)]
pub struct New<'n> {
    /// Whether it has no work tree.
    pub is_bare: bool,
    /// `core.worktree`: where the work tree lies, from the git directory of a submodule on.
    pub worktree: Option<&'n [u8]>,
    /// The address of `origin`: the one that the repository above has for a submodule.
    pub origin: Option<&'n [u8]>,
}

/// Makes the whole text, and names what of the command's settings it does not have.
pub fn fresh(
    view: &[u8],
    new: &New<'_>,
    policy: &Policy<'_>,
) -> Result<(Vec<u8>, Vec<String>), ConfigError> {
    let view = parsed(view, ConfigError::Unreadable)?;
    let format =
        [(&b"extensions.objectformat"[..], &b"sha1"[..]), (b"extensions.refstorage", b"files")];
    for (extension, supported) in format {
        if view.values(extension).flatten().any(|value| value != supported) {
            return Err(ConfigError::Format);
        }
    }
    let own = own(new)?;
    let is_own = |change: &Change| {
        // The host has said it, or git has written what it says by itself.
        own.values(&change.name).next().is_some()
            || change.name.starts_with(b"extensions.")
                && change.name != b"extensions.worktreeconfig"
            || change.name == b"core.worktree"
    };
    let (decided, wanted): (Vec<_>, Vec<_>) = changes(&own, &view).into_iter().partition(is_own);
    let policy = Policy { scope: Scope::Repository, is_strict: false, ..*policy };
    let Merged { text, mut refused, .. } = merged(wanted, &own, &policy)?;
    // A submodule of another origin is worth a word.
    let named = decided.iter().filter(|change| {
        change.name.starts_with(b"remote.")
            || change.name.starts_with(b"extensions.") && !is_usual(change)
    });
    refused.extend(named.map(|change| String::from_utf8_lossy(&change.name).into_owned()));
    let text = match text {
        Some(text) => text,
        None => with_changes(&own, &[]).ok_or(ConfigError::NotWritten)?,
    };
    Ok((text, refused))
}

/// A format that a repository has without a word.
fn is_usual(change: &Change) -> bool {
    matches!(&*change.name, b"extensions.objectformat" | b"extensions.refstorage")
}

fn own(new: &New<'_>) -> Result<Config, ConfigError> {
    let bare: &[u8] = if new.is_bare { b"true" } else { b"false" };
    let mut settings: Vec<(&[u8], &[u8], &[u8])> = vec![
        (b"core.repositoryformatversion", b"repositoryformatversion", b"0"),
        (b"core.filemode", b"filemode", b"true"),
        (b"core.bare", b"bare", bare),
    ];
    if !new.is_bare {
        settings.push((b"core.logallrefupdates", b"logallrefupdates", b"true"));
    }
    settings.extend(new.worktree.map(|path| (&b"core.worktree"[..], &b"worktree"[..], path)));
    settings.extend(new.origin.map(|url| (&b"remote.origin.url"[..], &b"url"[..], url)));
    let change = |(name, key, value): (&[u8], &[u8], &[u8])| {
        let after: Vec<Value> = vec![Some(value.to_vec())];
        Change { name: name.to_vec(), key: key.to_vec(), before: Vec::new(), after }
    };
    let all: Vec<Change> = settings.into_iter().map(change).collect();
    let text = with_changes(&Config::default(), &all).ok_or(ConfigError::NotWritten)?;
    Config::parse(&text).ok_or(ConfigError::NotWritten)
}
