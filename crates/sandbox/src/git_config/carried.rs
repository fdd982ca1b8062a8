//! Which settings a command may change on the host.
//!
//! The list is closed: what is not on it runs a program, leads elsewhere, turns a guard off, overwrites
//! branches, or is not known. Each setting has the values that it may get.

use std::path::Path;

use super::change::Change;
use super::local::{is_harmless_remote_name, is_harmless_url};
use super::value::{
    is_boolean, is_branch, is_false, is_fetch, is_one_of, is_plain_name, is_plain_text,
    is_small_number,
};

/// What the answer depends on besides the setting.
pub struct Terms<'t> {
    /// Where relative addresses begin: the top of the working tree, if there is only one.
    pub top: Option<&'t Path>,
    /// Whether commands can write at a path, or make something there.
    pub is_writable: &'t dyn Fn(&Path) -> bool,
    /// Whether a remote of this name has an address in the result.
    pub has_remote: &'t dyn Fn(&[u8]) -> bool,
    /// Whether all files that `extensions.worktreeConfig` has git read are held.
    pub holds_worktree_config: bool,
}

impl std::fmt::Debug for Terms<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terms").field("top", &self.top).finish_non_exhaustive()
    }
}

/// Which values a setting may get.
#[derive(Debug, Clone, Copy)]
enum May {
    Text,
    Boolean,
    /// A boolean, or one of these.
    Or(&'static [&'static str]),
    One(&'static [&'static str]),
    Number,
    Remote,
    Url,
    Fetch,
    Branch,
    WorktreeConfig,
}

/// Settings without a subsection.
const PLAIN: &[(&str, May)] = &[
    ("advice.addembeddedrepo", May::Boolean),
    ("advice.detachedhead", May::Boolean),
    ("advice.skippedcherrypicks", May::Boolean),
    ("apply.whitespace", May::One(&["nowarn", "warn", "fix", "error", "error-all", "strip"])),
    ("author.email", May::Text),
    ("author.name", May::Text),
    ("branch.autosetupmerge", May::Or(&["always", "inherit", "simple"])),
    ("branch.autosetuprebase", May::One(&["never", "local", "remote", "always"])),
    ("checkout.defaultremote", May::Remote),
    ("checkout.guess", May::Boolean),
    ("commit.status", May::Boolean),
    ("commit.verbose", May::Or(&["0", "1", "2"])),
    ("committer.email", May::Text),
    ("committer.name", May::Text),
    ("core.abbrev", May::Or(&["auto", "4", "7", "8", "10", "12", "16", "20", "40"])),
    ("core.autocrlf", May::Or(&["input"])),
    ("core.bare", May::Boolean),
    ("core.bigfilethreshold", May::Number),
    ("core.checkstat", May::One(&["default", "minimal"])),
    ("core.compression", May::Number),
    ("core.eol", May::One(&["lf", "crlf", "native"])),
    ("core.filemode", May::Boolean),
    ("core.ignorecase", May::Boolean),
    ("core.logallrefupdates", May::Or(&["always"])),
    ("core.precomposeunicode", May::Boolean),
    ("core.preloadindex", May::Boolean),
    ("core.quotepath", May::Boolean),
    ("core.repositoryformatversion", May::One(&["0", "1"])),
    ("core.safecrlf", May::Or(&["warn"])),
    ("core.sparsecheckout", May::Boolean),
    ("core.sparsecheckoutcone", May::Boolean),
    ("core.splitindex", May::Boolean),
    ("core.symlinks", May::Boolean),
    ("core.trustctime", May::Boolean),
    ("core.untrackedcache", May::Or(&["keep"])),
    ("core.whitespace", May::Text),
    ("diff.algorithm", May::One(&["default", "myers", "minimal", "patience", "histogram"])),
    ("diff.colormoved", May::Or(&["default", "plain", "blocks", "zebra", "dimmed-zebra"])),
    ("diff.context", May::Number),
    ("diff.mnemonicprefix", May::Boolean),
    ("diff.noprefix", May::Boolean),
    ("diff.renamelimit", May::Number),
    ("diff.renames", May::Or(&["copies", "copy"])),
    ("extensions.objectformat", May::One(&["sha1", "sha256"])),
    ("extensions.refstorage", May::One(&["files", "reftable"])),
    ("extensions.worktreeconfig", May::WorktreeConfig),
    ("fetch.prune", May::Boolean),
    ("fetch.prunetags", May::Boolean),
    ("gc.auto", May::Number),
    ("i18n.commitencoding", May::One(&["utf-8", "UTF-8", "iso-8859-1", "ISO-8859-1"])),
    ("index.skiphash", May::Boolean),
    ("index.sparse", May::Boolean),
    ("index.version", May::One(&["2", "3", "4"])),
    ("init.defaultbranch", May::Branch),
    ("lfs.repositoryformatversion", May::One(&["0"])),
    ("log.date", May::One(&["iso", "iso-strict", "local", "raw", "relative", "rfc", "short"])),
    ("log.decorate", May::Or(&["short", "full", "auto"])),
    ("log.follow", May::Boolean),
    ("maintenance.auto", May::Boolean),
    ("merge.conflictstyle", May::One(&["merge", "diff3", "zdiff3"])),
    ("merge.ff", May::Or(&["only"])),
    ("merge.log", May::Boolean),
    ("merge.renamelimit", May::Number),
    ("merge.renames", May::Boolean),
    ("merge.stat", May::Boolean),
    ("pull.ff", May::Or(&["only"])),
    ("pull.rebase", May::Or(&["merges", "m"])),
    ("push.autosetupremote", May::Boolean),
    (
        "push.default",
        May::One(&["nothing", "current", "upstream", "tracking", "simple", "matching"]),
    ),
    ("push.followtags", May::Boolean),
    ("rebase.abbreviatecommands", May::Boolean),
    ("rebase.autosquash", May::Boolean),
    ("rebase.autostash", May::Boolean),
    ("rebase.rebasemerges", May::Boolean),
    ("rebase.stat", May::Boolean),
    ("rebase.updaterefs", May::Boolean),
    ("remote.pushdefault", May::Remote),
    ("rerere.autoupdate", May::Boolean),
    ("rerere.enabled", May::Boolean),
    ("stash.showpatch", May::Boolean),
    ("status.relativepaths", May::Boolean),
    ("status.showuntrackedfiles", May::One(&["no", "normal", "all"])),
    ("submodule.active", May::Text),
    ("submodule.fetchjobs", May::Number),
    ("submodule.recurse", May::Boolean),
    ("user.email", May::Text),
    ("user.name", May::Text),
    ("user.useconfigonly", May::Boolean),
    ("versionsort.suffix", May::Text),
    ("worktree.guessremote", May::Boolean),
];

/// Settings of a branch, a remote or a submodule.
const NAMED: &[(&str, &str, May)] = &[
    ("branch", "description", May::Text),
    ("branch", "merge", May::Branch),
    ("branch", "pushremote", May::Remote),
    ("branch", "rebase", May::Or(&["merges", "m"])),
    ("branch", "remote", May::Remote),
    ("remote", "fetch", May::Fetch),
    ("remote", "prune", May::Boolean),
    ("remote", "prunetags", May::Boolean),
    ("remote", "pushurl", May::Url),
    ("remote", "skipdefaultupdate", May::Boolean),
    ("remote", "skipfetchall", May::Boolean),
    ("remote", "tagopt", May::One(&["--no-tags", "--tags"])),
    ("remote", "url", May::Url),
    ("submodule", "active", May::Boolean),
    ("submodule", "branch", May::Branch),
    ("submodule", "fetchrecursesubmodules", May::Or(&["on-demand"])),
    ("submodule", "ignore", May::One(&["all", "dirty", "untracked", "none"])),
    ("submodule", "shallow", May::Boolean),
    ("submodule", "update", May::One(&["checkout", "rebase", "merge", "none"])),
    ("submodule", "url", May::Url),
];

const STRUCTURE: [&[u8]; 2] = [b"core.bare", b"core.repositoryformatversion"];

/// Whether a change may reach the host. What had a value before keeps it without being asked for.
#[must_use]
pub fn is_carried(change: &Change, terms: &Terms<'_>) -> bool {
    let Some(may) = may(&change.name) else { return false };
    // What git needs to read the repository at all is never taken away by git.
    let is_structure =
        change.name.starts_with(b"extensions.") || STRUCTURE.contains(&&*change.name);
    if is_structure && change.after.is_empty() {
        return false;
    }
    // `git init` tries out modes on the link that a command sees in the place of the file, and finds that
    // there are none.
    let is_false_now = change.after.iter().flatten().all(|value| value == b"false");
    if change.name == b"core.filemode" && is_false_now && change.before == [Some(b"true".into())] {
        return false;
    }
    let mut new = change.after.iter().filter(|value| !change.before.contains(value));
    new.all(|value| match value {
        Some(value) => fits(may, value, terms),
        // It counts as true.
        None => matches!(may, May::Boolean) || matches!(may, May::Or(_)),
    })
}

/// By the whole name: sections are written in several ways, which git does not distinguish.
fn may(name: &[u8]) -> Option<May> {
    let name = std::str::from_utf8(name).ok()?;
    if let Some((_, may)) = PLAIN.iter().find(|(known, _)| *known == name) {
        return Some(*may);
    }
    let (section, rest) = name.split_once('.')?;
    let (subsection, key) = rest.rsplit_once('.')?;
    let (.., may) = NAMED.iter().find(|(known, its, _)| *known == section && *its == key)?;
    let is_harmless = match section {
        "remote" => is_harmless_remote_name(subsection),
        _ => is_plain_name(subsection),
    };
    is_harmless.then_some(*may)
}

fn fits(may: May, value: &[u8], terms: &Terms<'_>) -> bool {
    let Ok(value) = std::str::from_utf8(value) else { return false };
    match may {
        May::Text => is_plain_text(value),
        May::Boolean => is_boolean(value),
        May::Or(others) => is_boolean(value) || is_one_of(value, others),
        May::One(values) => is_one_of(value, values),
        May::Number => is_small_number(value),
        // A name without an address would be taken for a path.
        May::Remote => {
            value == "." || is_harmless_remote_name(value) && (terms.has_remote)(value.as_bytes())
        }
        May::Url => is_harmless_url(value, terms.top, terms.is_writable),
        May::Fetch => is_fetch(value),
        May::Branch => is_branch(value),
        May::WorktreeConfig => {
            is_boolean(value) && (terms.holds_worktree_config || is_false(value))
        }
    }
}

#[cfg(test)]
mod tests;
