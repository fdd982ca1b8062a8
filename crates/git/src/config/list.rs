//! Which settings a command may change in a person's repository.
//!
//! The list is closed. What is not on it runs a program, leads elsewhere, hides files or changes,
//! publishes or removes something, turns a guard off, makes the repository unreadable, or is not known.
//! Each setting has the values that it may get.

use super::address::{is_harmless_remote_name, is_harmless_url};
use super::change::Change;
use super::identity::is_identity;
use super::merge::{Policy, Scope};
use super::value::{
    is_boolean, is_branch, is_count, is_false, is_fetch, is_one_of, is_pathspec, is_plain_name,
    is_plain_text, is_true, is_words,
};

/// Which values a setting may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum May {
    Identity,
    Text,
    Words,
    Boolean,
    True,
    False,
    /// A boolean, or one of these.
    Or(&'static [&'static str]),
    One(&'static [&'static str]),
    Count,
    Remote,
    Url,
    Fetch,
    Branch,
    Pathspec,
    WorktreeConfig,
}

/// Settings that do no harm for the same reason.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// Why a command may change them.
    pub why: &'static str,
    /// By their names in small letters; `*` stands for the name of a branch, a remote or a submodule.
    pub(super) settings: &'static [(&'static str, May)],
}

impl Group {
    /// The names of its settings.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.settings.iter().map(|(name, _)| *name)
    }
}

/// The whole list.
#[must_use]
pub fn groups() -> &'static [Group] {
    GROUPS
}

const GROUPS: &[Group] = &[
    Group {
        why: "Git records them in commits. Characters that mean something to a shell, a terminal or git are left out.",
        settings: &[
            ("author.email", May::Identity),
            ("author.name", May::Identity),
            ("committer.email", May::Identity),
            ("committer.name", May::Identity),
            ("user.email", May::Identity),
            ("user.name", May::Identity),
            ("user.useconfigonly", May::Boolean),
        ],
    },
    Group {
        why: "They decide how much git says, and in which form. Whatever has changed is shown with every value.",
        settings: &[
            ("commit.verbose", May::Or(&["0", "1", "2"])),
            ("core.abbrev", May::One(&["auto", "7", "8", "10", "12", "16", "20", "40", "no"])),
            ("core.quotepath", May::Boolean),
            ("core.whitespace", May::Words),
            ("diff.algorithm", May::One(&["default", "myers", "minimal", "patience", "histogram"])),
            ("diff.colormoved", May::Or(&["default", "plain", "blocks", "zebra", "dimmed-zebra"])),
            ("diff.mnemonicprefix", May::Boolean),
            ("diff.noprefix", May::Boolean),
            ("diff.renamelimit", May::Count),
            ("diff.renames", May::Or(&["copies", "copy"])),
            (
                "log.date",
                May::One(&["iso", "iso-strict", "local", "raw", "relative", "rfc", "short"]),
            ),
            ("log.decorate", May::Or(&["short", "full", "auto"])),
            ("log.follow", May::Boolean),
            ("merge.conflictstyle", May::One(&["merge", "diff3", "zdiff3"])),
            ("merge.log", May::Boolean),
            ("merge.stat", May::Boolean),
            ("rebase.abbreviatecommands", May::Boolean),
            ("rebase.stat", May::Boolean),
            ("stash.showpatch", May::Boolean),
            ("status.relativepaths", May::Boolean),
            ("status.showuntrackedfiles", May::One(&["normal", "all"])),
            ("versionsort.suffix", May::Words),
        ],
    },
    Group {
        why: "They turn colors on and off.",
        settings: &[
            ("color.branch", COLOR),
            ("color.diff", COLOR),
            ("color.grep", COLOR),
            ("color.interactive", COLOR),
            ("color.push", COLOR),
            ("color.showbranch", COLOR),
            ("color.status", COLOR),
            ("color.ui", COLOR),
        ],
    },
    Group {
        why: "They decide what commands do that a person gives, and these say what they have done.",
        settings: &[
            (
                "apply.whitespace",
                May::One(&["nowarn", "warn", "fix", "error", "error-all", "strip"]),
            ),
            ("branch.autosetupmerge", May::Or(&["always", "inherit", "simple"])),
            ("branch.autosetuprebase", May::One(&["never", "local", "remote", "always"])),
            ("checkout.guess", May::Boolean),
            ("fetch.prune", May::Boolean),
            ("i18n.commitencoding", May::One(&["utf-8"])),
            ("init.defaultbranch", May::Branch),
            ("merge.ff", May::Or(&["only"])),
            ("merge.renamelimit", May::Count),
            ("merge.renames", May::Boolean),
            ("pull.ff", May::Or(&["only"])),
            ("pull.rebase", May::Or(&["merges", "m"])),
            ("rebase.autosquash", May::Boolean),
            ("rebase.autostash", May::Boolean),
            ("rebase.rebasemerges", May::Boolean),
            ("rerere.autoupdate", May::Boolean),
            ("rerere.enabled", May::Boolean),
            ("worktree.guessremote", May::Boolean),
        ],
    },
    Group {
        why: "They decide which branches a push takes: never more than the present one.",
        settings: &[
            ("push.autosetupremote", May::Boolean),
            ("push.default", May::One(&["nothing", "current", "simple"])),
        ],
    },
    Group {
        why: "Which files are checked out. A file that is there counts, whatever they say.",
        settings: &[
            ("core.sparsecheckout", May::Boolean),
            ("core.sparsecheckoutcone", May::Boolean),
            ("index.sparse", May::False),
        ],
    },
    Group {
        why: "How lines end in files that are checked out and added.",
        settings: &[
            ("core.autocrlf", May::Or(&["input"])),
            ("core.eol", May::One(&["lf", "crlf", "native"])),
            ("core.safecrlf", May::Or(&["warn"])),
        ],
    },
    Group {
        why: "How git stores and compares. Only values that every git reads, and with which it sees each change.",
        settings: &[
            (
                "core.compression",
                May::One(&["-1", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]),
            ),
            ("core.filemode", May::True),
            ("core.ignorecase", May::False),
            ("core.logallrefupdates", May::One(&["true", "always"])),
            ("core.precomposeunicode", May::True),
            ("core.preloadindex", May::Boolean),
            ("core.splitindex", May::Boolean),
            ("core.symlinks", May::True),
            ("core.untrackedcache", May::One(&["false", "keep"])),
            ("gc.auto", May::One(&["0"])),
            ("index.version", May::One(&["2", "3", "4"])),
            ("lfs.repositoryformatversion", May::One(&["0"])),
            ("maintenance.auto", May::Boolean),
        ],
    },
    Group {
        why: "It has git read one more file, which is held to this list as well.",
        settings: &[("extensions.worktreeconfig", May::WorktreeConfig)],
    },
    Group {
        why: "They name remotes. Each of these has an address in the result; other ones than before are told.",
        settings: &[
            ("branch.*.description", May::Text),
            ("branch.*.merge", May::Branch),
            ("branch.*.pushremote", May::Remote),
            ("branch.*.rebase", May::Or(&["merges", "m"])),
            ("branch.*.remote", May::Remote),
            ("checkout.defaultremote", May::Remote),
            ("remote.pushdefault", May::Remote),
        ],
    },
    Group {
        why: "Remotes: a server or a directory out of reach of commands, and references of their own. Addresses are told.",
        settings: &[
            ("remote.*.fetch", May::Fetch),
            ("remote.*.prune", May::Boolean),
            ("remote.*.pushurl", May::Url),
            ("remote.*.skipdefaultupdate", May::Boolean),
            ("remote.*.skipfetchall", May::Boolean),
            ("remote.*.tagopt", May::One(&["--no-tags", "--tags"])),
            ("remote.*.url", May::Url),
        ],
    },
    Group {
        why: "Submodules, from the same kinds of places. None is left out of a status, a diff or a push.",
        settings: &[
            ("submodule.*.active", May::Boolean),
            ("submodule.*.branch", May::Branch),
            ("submodule.*.fetchrecursesubmodules", May::Or(&["on-demand"])),
            ("submodule.*.ignore", May::One(&["none"])),
            ("submodule.*.shallow", May::Boolean),
            ("submodule.*.update", May::One(&["checkout", "rebase", "merge", "none"])),
            ("submodule.*.url", May::Url),
            ("submodule.active", May::Pathspec),
            ("submodule.fetchjobs", May::Count),
            ("submodule.recurse", May::False),
        ],
    },
];

const COLOR: May = May::Or(&["auto", "always", "never"]);

/// Settings of `config.worktree`. What names remotes, and what git does not read there, is not among
/// them.
const NOT_OF_WORKTREES: [&str; 4] = ["branch.*.", "extensions.", "remote.", "submodule."];

/// A setting as the list has it, and the name that stands in it.
pub(super) struct Listed<'n> {
    pub(super) may: May,
    pub(super) subject: &'n str,
}

/// By the whole name: sections are written in several ways, which git does not distinguish.
pub(super) fn listed(name: &[u8], scope: Scope) -> Option<Listed<'_>> {
    let name = std::str::from_utf8(name).ok()?;
    let (section, rest) = name.split_once('.')?;
    let found = |known: &str| {
        let is_left_out = scope == Scope::Worktree
            && (known == "checkout.defaultremote"
                || NOT_OF_WORKTREES.iter().any(|start| known.starts_with(start)));
        let mut all = GROUPS.iter().flat_map(|group| group.settings).filter(|_| !is_left_out);
        all.find(|(its, _)| *its == known).map(|(_, may)| *may)
    };
    let Some((subject, key)) = rest.rsplit_once('.') else {
        let is_advice = section == "advice" && rest.bytes().all(|it| it.is_ascii_alphanumeric());
        let may = if is_advice { Some(May::Boolean) } else { found(name) };
        return may.map(|may| Listed { may, subject: "" });
    };
    let may = found(&format!("{section}.*.{key}"))?;
    let is_harmless = match section {
        "remote" => is_harmless_remote_name(subject),
        "branch" => is_branch(subject),
        _ => is_plain_name(subject),
    };
    is_harmless.then_some(Listed { may, subject })
}

/// Whether a setting is on the list, whatever its value is.
#[must_use]
pub fn is_known(name: &[u8]) -> bool {
    listed(name, Scope::Repository).is_some()
}

/// Whether a setting may change as it does. Whether it may beside the others is another question.
///
/// A value that a setting had before is not asked for, but the last of several, which counts for most
/// settings, is.
#[must_use]
pub fn is_listed(change: &Change, policy: &Policy<'_>) -> bool {
    let Some(Listed { may, subject }) = listed(&change.name, policy.scope) else { return false };
    // An empty address takes back those before it.
    let adds_up = matches!(may, May::Url | May::Fetch);
    let takes_back = change.before.iter().any(|value| value.as_deref() == Some(b""));
    let is_kept = |index: usize, value| {
        let decides = index + 1 == change.after.len() && change.before.last() != Some(value);
        change.before.contains(value) && if adds_up { !takes_back } else { !decides }
    };
    let mut new = change.after.iter().enumerate().filter(|(index, value)| !is_kept(*index, value));
    new.all(|(_, value)| match value {
        Some(value) => fits(may, value, subject, policy),
        // It counts as true.
        None => matches!(may, May::Boolean | May::True | May::Or(_)),
    })
}

fn fits(may: May, value: &[u8], subject: &str, policy: &Policy<'_>) -> bool {
    let Ok(value) = std::str::from_utf8(value) else { return false };
    match may {
        May::Identity => is_identity(value),
        May::Text => is_plain_text(value),
        May::Words => is_words(value),
        May::Boolean => is_boolean(value),
        May::True => is_true(value),
        May::False => is_false(value),
        May::Or(others) => is_boolean(value) || is_one_of(value, others),
        May::One(values) => is_one_of(value, values),
        May::Count => is_count(value),
        May::Remote => value == "." || is_harmless_remote_name(value),
        May::Url => is_harmless_url(value, policy),
        May::Fetch => is_fetch(value, subject),
        May::Branch => is_branch(value),
        May::Pathspec => is_pathspec(value),
        May::WorktreeConfig => is_false(value) || is_true(value) && policy.holds_worktree_config,
    }
}
