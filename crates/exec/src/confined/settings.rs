//! Which of the changed settings of a configuration may reach the host.

use std::path::Path;

use toolwright_sandbox::git_config::{Change, Config, Terms, is_carried};

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
            top: grounds.top,
            is_writable: grounds.is_writable,
            has_remote: &|name| known.iter().any(|known| known == name),
            holds_worktree_config: grounds.holds_worktree_config,
        };
        if !is_carried(&change, &terms) || leaves_name(&change, after) {
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

/// The names of changed settings, for a report.
pub(super) fn names(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| String::from_utf8_lossy(&change.name).into_owned()).collect()
}

/// Whether a remote loses its address while something still names it: git would take the name for a path.
fn leaves_name(change: &Change, after: &Config) -> bool {
    let remote = change.name.strip_prefix(b"remote.").and_then(|name| name.strip_suffix(b".url"));
    let Some(remote) = remote.filter(|_| change.after.is_empty()) else { return false };
    let names = |name: &[u8]| {
        let of_branch = name.ends_with(b".remote") || name.ends_with(b".pushremote");
        name.starts_with(b"branch.") && of_branch
            || matches!(name, b"remote.pushdefault" | b"checkout.defaultremote")
    };
    let mut settings = after.settings().iter();
    settings.any(|one| names(&one.name) && one.value.as_deref() == Some(remote))
}
