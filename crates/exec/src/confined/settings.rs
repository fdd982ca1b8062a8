//! Which of the changed settings of a configuration may reach the host.

use std::path::Path;

use toolwright_git::config::{Change, Config, Scope, Terms, is_listed};

/// What the answer depends on besides the settings.
pub(super) struct Grounds<'g> {
    /// Where relative addresses begin: the top of the working tree, if there is only one.
    pub(super) top: Option<&'g Path>,
    /// Whether commands can write at a path.
    pub(super) is_writable: &'g dyn Fn(&Path) -> bool,
    /// Whether all files that `extensions.worktreeConfig` has git read are held.
    pub(super) holds_worktree_config: bool,
}

/// The harmless changes, and the others.
pub(super) fn divide(
    all: Vec<Change>,
    after: &Config,
    grounds: &Grounds<'_>,
) -> (Vec<Change>, Vec<Change>) {
    // A remote counts once its own address is harmless, so they come first.
    let mut known: Vec<Vec<u8>> = Vec::new();
    let has_url = |name: &[u8]| [b"remote.", name, b".url"].concat();
    let changed: Vec<&[u8]> = all.iter().map(|change| &*change.name).collect();
    for setting in after.settings() {
        let Some(name) = setting.name.strip_prefix(b"remote.") else { continue };
        let Some(name) = name.strip_suffix(b".url") else { continue };
        if !changed.contains(&&*has_url(name)) {
            known.push(name.to_vec());
        }
    }
    let (mut harmless, mut refused) = (Vec::new(), Vec::new());
    let (addresses, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|change| change.name.ends_with(b".url"));
    for change in addresses.into_iter().chain(others) {
        let terms = Terms {
            scope: Scope::Repository,
            top: grounds.top,
            is_writable: grounds.is_writable,
            is_readable: &|_| true,
            holds_worktree_config: grounds.holds_worktree_config,
            is_strict: false,
            others: &[],
        };
        let is_listed = is_of_new_repository(&change) || is_listed(&change, &terms);
        if !is_listed || names_unknown(&change, &known) || leaves_name(&change, after) {
            refused.push(change);
            continue;
        }
        let remote = change.name.strip_prefix(b"remote.");
        if let Some(name) = remote.and_then(|name| name.strip_suffix(b".url"))
            && !change.after.is_empty()
        {
            known.push(name.to_vec());
        }
        harmless.push(change);
    }
    (harmless, refused)
}

/// What `git init` writes, and what it finds out about the file system.
fn is_of_new_repository(change: &Change) -> bool {
    let [Some(value)] = &*change.after else { return false };
    let is_boolean = matches!(&**value, b"true" | b"false");
    let fits = match &*change.name {
        b"core.bare"
        | b"core.filemode"
        | b"core.ignorecase"
        | b"core.precomposeunicode"
        | b"core.symlinks" => is_boolean,
        b"core.repositoryformatversion" => matches!(&**value, b"0" | b"1"),
        b"extensions.objectformat" => matches!(&**value, b"sha1" | b"sha256"),
        b"extensions.refstorage" => matches!(&**value, b"files" | b"reftable"),
        _ => false,
    };
    fits && (change.before.is_empty() || &*change.name == b"core.repositoryformatversion")
}

/// Whether a change names a remote that has no harmless address.
fn names_unknown(change: &Change, known: &[Vec<u8>]) -> bool {
    let mut new = change.after.iter().filter(|value| !change.before.contains(value)).flatten();
    names_remotes(&change.name) && new.any(|name| name != b"." && !known.contains(name))
}

fn names_remotes(name: &[u8]) -> bool {
    let of_branch = name.ends_with(b".remote") || name.ends_with(b".pushremote");
    name.starts_with(b"branch.") && of_branch
        || matches!(name, b"remote.pushdefault" | b"checkout.defaultremote")
}

/// The names of changed settings, for a report.
pub(super) fn names(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| String::from_utf8_lossy(&change.name).into_owned()).collect()
}

/// Whether a remote loses its address while something still names it: git would take the name for a path.
fn leaves_name(change: &Change, after: &Config) -> bool {
    let remote = change.name.strip_prefix(b"remote.").and_then(|name| name.strip_suffix(b".url"));
    let Some(remote) = remote.filter(|_| change.after.is_empty()) else { return false };
    let mut settings = after.settings().iter();
    settings.any(|one| names_remotes(&one.name) && one.value.as_deref() == Some(remote))
}
