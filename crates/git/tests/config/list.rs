//! Which single changes are merged.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toolwright_git::config::{Config, Group, Merged, Policy, Scope, changes, groups, merge};

use super::refused::REFUSED;

/// A root that commands write, directories beside it, and what commands may not read.
pub(crate) struct Places {
    directory: TempDir,
}

impl Places {
    pub(crate) fn new() -> Self {
        let places = Self { directory: tempfile::tempdir().unwrap() };
        for path in ["root/evil", "beside", "closed/secret"] {
            std::fs::create_dir_all(places.at(path)).unwrap();
        }
        std::os::unix::fs::symlink("/usr", places.at("root/link")).unwrap();
        std::os::unix::fs::symlink(places.at("closed"), places.at("to-closed")).unwrap();
        places
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn carry_with(
        &self,
        [snapshot, view, real]: [&[u8]; 3],
        change: impl FnOnce(&mut Policy<'_>),
    ) -> Merged {
        let (root, closed) = (self.at("root"), self.at("closed"));
        let is_writable = |path: &Path| path.starts_with(&root);
        let is_readable = |path: &Path| !path.starts_with(&closed);
        let mut policy = Policy {
            scope: Scope::Repository,
            top: Some(&root),
            is_writable: &is_writable,
            is_readable: &is_readable,
            holds_worktree_config: true,
            is_strict: false,
            others: &[],
        };
        change(&mut policy);
        merge(snapshot, view, real, &policy).unwrap()
    }

    pub(crate) fn merge_with_others(&self, texts: [&[u8]; 3], others: &[&[u8]]) -> Merged {
        let (root, closed) = (self.at("root"), self.at("closed"));
        let policy = Policy {
            scope: Scope::Repository,
            top: Some(&root),
            is_writable: &|path| path.starts_with(&root),
            is_readable: &|path| !path.starts_with(&closed),
            holds_worktree_config: true,
            is_strict: false,
            others,
        };
        let [snapshot, view, real] = texts;
        merge(snapshot, view, real, &policy).unwrap()
    }

    pub(crate) fn merge(&self, texts: [&[u8]; 3]) -> Merged {
        self.carry_with(texts, |_| {})
    }
}

/// A text in which settings may name a remote.
const ORIGIN: &str = "[remote \"origin\"]\n\turl = https://example.org/o.git\n";

/// Whether what a command adds to a configuration is merged, all or nothing.
fn is_carried(text: &str) -> bool {
    let places = Places::new();
    let view = format!("{ORIGIN}{text}");
    let merged = places.merge([ORIGIN, &view, ORIGIN].map(str::as_bytes));
    assert_eq!(merged.changed_meanwhile, [""; 0]);
    let Some(result) = merged.text else {
        assert!(!merged.refused.is_empty(), "{text}");
        return false;
    };
    assert_eq!(merged.refused, [""; 0], "{text}: not one of them, or all");
    let [view, result] = [view.as_bytes(), &result].map(|text| Config::parse(text).unwrap());
    assert_eq!(changes(&view, &result), [], "{text}");
    true
}

#[test]
fn what_is_harmless_is_carried() {
    for text in [
        "[user]\n\tname = A B\n\temail = a@b\n",
        "[user] name = \"A, 'B' (C) \u{e4}\"",
        "[user]\n\tname = app[bot]\n\temail = 1+app[bot]@users.example.org",
        "[core]\n\tautocrlf = input\n\teol = lf\n\tfileMode\n\tignorecase = FALSE",
        "[remote \"new\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/new/*\n",
        "[remote \"up/stream-1\"]\n\turl = git@example.org:a/b.git\n\tpushurl = ssh://git@example.org:22/a.git\n",
        "[remote.old]\n\turl = http://user:p%40ss@example.org/\n",
        "[remote \"beside\"]\n\turl = ../beside\n",
        "[remote \"usr\"]\n\turl = /usr\n[remote \"two\"]\n\turl = file:///usr\n",
        "[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\tprune = true\n\ttagOpt = --no-tags",
        "[branch \"a.b/c\"]\n\tremote = origin\n\tmerge = refs/heads/x\n\trebase = merges\n\tdescription = one\\ntwo\n",
        "[branch \"x\"]\n\tremote = .\n",
        "[submodule \"a\"]\n\turl = https://example.org/\n\tactive = true\n\tupdate = rebase\n[submodule]\n\tactive = .",
        "[extensions]\n\tworktreeConfig = true\n[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone\n",
        "[pull]\n\trebase = true\n[push]\n\tdefault = current\n[init]\n\tdefaultBranch = main\n",
        "[advice]\n\tdetachedHead = false\n[color]\n\tui = always\n\tdiff = auto",
        "[status]\n\tshowUntrackedFiles = all\n[submodule \"a\"]\n\tignore = none",
        "[gc]\n\tauto = 0\n[rerere]\n\tenabled = true\n[rebase]\n\tautosquash",
    ] {
        assert!(is_carried(text), "{text}");
    }
}

#[test]
fn what_runs_programs_or_leads_elsewhere_is_not() {
    for text in REFUSED {
        assert!(!is_carried(text), "{text}");
    }
}

#[test]
fn addresses_lead_to_servers_or_out_of_reach() {
    for url in [
        "ext::sh -c x",
        "foo::x",
        "foo://x",
        "HTTPS://x",
        "https://",
        "ssh://-oProxyCommand=x/y",
        "ssh://a@-oProxyCommand=x/y",
        "ssh://[-oProxyCommand=x]/y",
        "ssh://%2doProxyCommand=x/y",
        "-oProxyCommand=x:y",
        "[-oProxyCommand=x]:y",
        "--upload-pack=x",
        "evil",
        "./evil",
        ".",
        "link",
        "link/../usr",
        "evil/../../beside",
        "../nowhere",
        "../closed",
        "../closed/secret",
        "../to-closed",
        "file://x/y",
        "file:///%75sr",
        "https://example.org/%0ahost=x",
        "https://example.org/\\n",
        "https://example.org/\u{202e}x",
        "git@example.org:x y",
        "",
    ] {
        for (section, key) in
            [("remote \"origin\"", "pushurl"), ("remote \"n\"", "url"), ("submodule \"s\"", "url")]
        {
            assert!(
                !is_carried(&format!("[{section}]\n\t{key} = \"{url}\"")),
                "{section} {key} {url}"
            );
        }
    }
    // A closed directory by its whole path, and one through a link of a person.
    let places = Places::new();
    for (path, is_open) in
        [("beside", true), ("closed/secret", false), ("to-closed/secret", false), ("root", false)]
    {
        for scheme in ["", "file://"] {
            let text = format!("[remote \"x\"]\n\turl = {scheme}{}", places.at(path).display());
            let merged = places.merge([b"", text.as_bytes(), b""]);
            assert_eq!(merged.text.is_some(), is_open, "{text}");
        }
    }
}

#[test]
fn identities_are_no_lines_of_a_shell_or_a_terminal() {
    for value in [
        "x $(touch X) y",
        "`touch X`",
        "a; touch X",
        "a | x",
        "a & x",
        "a > x",
        "a < x",
        "a\\nb",
        "a\\tb",
        "a\\bb",
        "\u{1b}]52;c;x\u{7}",
        "a\u{9b}b",
        "a\u{202e}b",
        "a\u{200b}b",
        "\\\"x\\\"",
        "a\\\\b",
        "",
        " ",
    ] {
        for key in ["user.name", "user.email", "author.name", "committer.email"] {
            let (section, key) = key.split_once('.').unwrap();
            let text = format!("{ORIGIN}[{section}]\n\t{key} = \"{value}\"");
            let places = Places::new();
            // What git itself refuses is not read at all.
            if Config::parse(text.as_bytes()).is_some() {
                let merged = places.merge([ORIGIN, &text, ORIGIN].map(str::as_bytes));
                assert_eq!((merged.text, merged.refused.len()), (None, 1), "{value:?}");
            }
        }
    }
}

#[test]
fn what_a_repository_is_made_of_is_not_changed() {
    let real = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfilemode = true\n";
    let places = Places::new();
    for (from, to) in [
        ("bare = false", "bare = true"),
        ("\tbare = false\n", ""),
        ("version = 0", "version = 7"),
        ("\trepositoryformatversion = 0\n", ""),
        ("[core]\n", "[core]\n\tworktree = ..\n"),
        ("[core]\n", "[extensions]\n\tobjectFormat = sha1\n[core]\n"),
        ("[core]\n", "[extensions]\n\trefStorage = reftable\n[core]\n"),
        ("[core]\n", "[extensions]\n\tpartialClone = origin\n[core]\n"),
        ("[core]\n", "[extensions]\n\tpreciousObjects = true\n[core]\n"),
    ] {
        let view = real.replace(from, to);
        let merged = places.merge([real, &view, real].map(str::as_bytes));
        assert_eq!((merged.text, merged.refused.len()), (None, 1), "{to}");
    }
    // What git writes by itself is no news.
    for (from, to) in [("version = 0", "version = 1"), ("filemode = true", "filemode = false")] {
        let view = real.replace(from, to);
        let merged = places.merge([real, &view, real].map(str::as_bytes));
        assert_eq!(merged, Merged::default(), "{to}");
    }
}

#[test]
fn an_extension_needs_its_file_to_be_held() {
    let places = Places::new();
    let texts = |text: &'static str| [&b""[..], text.as_bytes(), b""];
    let held = |text, holds| {
        let merged = places.carry_with(texts(text), |policy| policy.holds_worktree_config = holds);
        merged.text.is_some()
    };
    assert!(held("[extensions]\n\tworktreeConfig = true", true));
    assert!(!held("[extensions]\n\tworktreeConfig = true", false));
    assert!(!held("[extensions]\n\tworktreeConfig", true));
    assert!(held("[extensions]\n\tworktreeConfig = no", false));
}

#[test]
fn the_file_of_a_work_tree_names_no_remotes() {
    let places = Places::new();
    let view = "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n\tbare = false\n\
                [user]\n\tname = A\n[branch \"m\"]\n\tremote = origin\n[remote \"origin\"]\n\turl = https://x/\n\
                [extensions]\n\tworktreeConfig = true\n[remote]\n\tpushDefault = origin\n[submodule]\n\tactive = .\n";
    let merged =
        places.carry_with([b"", view.as_bytes(), b""], |policy| policy.scope = Scope::Worktree);
    assert_eq!(
        String::from_utf8(merged.text.unwrap()).unwrap(),
        "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n[user]\n\tname = A\n"
    );
    assert_eq!(merged.refused.len(), 6);
}

#[test]
fn what_a_fetch_removes_is_a_copy() {
    let places = Places::new();
    let origin = "[remote \"origin\"]\n\turl = https://example.org/\n";
    let mirror = format!("{origin}\tfetch = +refs/*:refs/*\n");
    for setting in ["[fetch]\n\tprune = true\n", "[remote \"origin\"]\n\tprune\n"] {
        for (real, is_carried) in [(origin, true), (&*mirror, false)] {
            let view = format!("{real}{setting}");
            let merged = places.merge([real, &view, real].map(str::as_bytes));
            assert_eq!(merged.text.is_some(), is_carried, "{view}");
        }
    }
}

#[test]
fn each_group_has_a_reason_and_no_setting_is_there_twice() {
    let mut names: Vec<_> = groups().iter().flat_map(Group::names).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(groups().iter().all(|group| group.why.ends_with('.')));
    assert!(names.iter().all(|name| *name == name.to_lowercase()));
}
