//! Protected paths: no write and no edit changes them, whatever leads there.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use support::{NEVER, RESOLVERS, Tree, kind, snapshot};
use toolwright_fs::{FsError, FsErrorKind, Root, UpdateError, WriteOptions, update, write};

const GIT: [&str; 2] = [".git/hooks", ".git/config"];

fn options(protected: &[&str]) -> WriteOptions {
    let protected = protected.iter().map(PathBuf::from).collect();
    WriteOptions { protected, ..WriteOptions::default() }
}

fn edit(root: &Root, path: &str, options: &WriteOptions) -> Result<(), FsError> {
    let edited = update::<()>(root, path, 1000, options, &NEVER, |_| Ok(b"edited".to_vec()));
    edited.map(drop).map_err(|error| match error {
        UpdateError::Fs(error) => error,
        UpdateError::Refused(()) => unreachable!(),
    })
}

/// Names, content and modes, and for each directory the time when an entry was last created or
/// removed.
fn everything(tree: &Tree) -> Vec<String> {
    let mut all = snapshot(tree.base.path());
    for name in tree.listing().iter().map(String::as_str).chain([""]) {
        let meta = tree.root.join(name).symlink_metadata().unwrap();
        all.push(format!("{name} {} {}", meta.mtime(), meta.mtime_nsec()));
    }
    all
}

/// Both calls on each of `paths` are refused because of `by`, without even a temporary file.
#[track_caller]
fn refused(tree: &Tree, protected: &[&str], paths: &[&str], by: &str) {
    let before = everything(tree);
    for (resolver, path) in
        RESOLVERS.iter().flat_map(|one| paths.iter().map(move |path| (one, path)))
    {
        let root = Root::open_with(&tree.root, *resolver).unwrap();
        for allow_in_place in [false, true] {
            let options = WriteOptions { allow_in_place, ..options(protected) };
            let edited = match edit(&root, path, &options) {
                // Its directory does not exist, and an edit creates none.
                Err(FsError { kind: FsErrorKind::NotFound, .. }) => None,
                other => Some(other),
            };
            let written = write(&root, path, b"written", &options, &NEVER);
            for answer in edited.into_iter().chain([written]) {
                let Err(FsError { kind: FsErrorKind::Protected { protected }, path: display_path }) =
                    &answer
                else {
                    panic!("{resolver:?} {path}: {answer:?}")
                };
                assert_eq!(
                    (display_path.as_str(), protected.as_str()),
                    (*path, by),
                    "{resolver:?}"
                );
            }
            assert_eq!(everything(tree), before, "{resolver:?} {path}");
        }
    }
}

/// Both calls on each of `paths` succeed and create what is missing.
#[track_caller]
fn allowed(tree: &Tree, protected: &[&str], paths: &[&str]) {
    for (resolver, path) in
        RESOLVERS.iter().flat_map(|one| paths.iter().map(move |path| (one, path)))
    {
        let root = Root::open_with(&tree.root, *resolver).unwrap();
        for answer in [
            write(&root, path, b"written", &options(protected), &NEVER),
            edit(&root, path, &options(protected)),
        ] {
            assert!(answer.is_ok(), "{resolver:?} {path}: {answer:?}");
        }
        assert_eq!(tree.get(path), b"edited", "{resolver:?} {path}");
    }
}

fn repository() -> Tree {
    let tree = Tree::new();
    tree.put(".git/hooks/pre-commit", "hook");
    tree.put(".git/hooks/deep/er", "hook");
    tree.put(".git/config", "config");
    tree.put("src/file", "text");
    tree
}

#[test]
fn a_protected_file_is_refused_in_every_spelling() {
    let tree = repository();
    let absolute = tree.root.to_str().unwrap();
    let hooks = [
        ".git/hooks/pre-commit",
        ".git/hooks/new",
        ".git/hooks/deep/er",
        ".git/hooks/new/er",
        "./.git//hooks/./pre-commit",
        "src/../.git/hooks/pre-commit",
        ".git/hooks/../hooks/new",
        &format!("{absolute}/.git/hooks/pre-commit"),
        &format!("{absolute}/src/../.git/hooks/new"),
    ];
    refused(&tree, &GIT, &hooks, ".git/hooks");
    refused(&tree, &GIT, &[".git/config", "src/../.git/./config"], ".git/config");
}

#[test]
fn what_is_above_a_protected_path_is_refused() {
    let tree = repository();
    refused(&tree, &GIT, &[".git", ".git/hooks", "src/../.git"], ".git/hooks");
    refused(&tree, &["a/b/c"], &["a", "a/b", "a/b/c"], "a/b/c");
    // A file, as in a worktree. It names the repository.
    let tree = Tree::new();
    tree.put(".git", "gitdir: elsewhere");
    refused(&tree, &GIT, &[".git", "./.git"], ".git/hooks");
}

#[test]
fn links_to_a_protected_path_are_refused() {
    let tree = repository();
    tree.link(".git", "repository");
    tree.link("../.git/hooks", "src/hooks");
    tree.link(tree.root.join(".git/hooks"), "absolute");
    tree.link(".git/hooks/pre-commit", "file");
    tree.link("file", "file-to-file");
    tree.link(".git/hooks/later", "dangling");
    tree.link(".git/config", "config");
    let hooks = [
        "repository/hooks/new",
        "repository/hooks/pre-commit",
        "repository",
        "src/hooks/new",
        "src/hooks/new/er",
        "src/hooks/../hooks/pre-commit",
        "absolute/new",
        "absolute",
        "file",
        "file-to-file",
        "dangling",
    ];
    refused(&tree, &GIT, &hooks, ".git/hooks");
    refused(&tree, &GIT, &["config", "repository/config", "absolute/../config"], ".git/config");
    allowed(&tree, &GIT, &["repository/info/exclude", "src/hooks/../description"]);
}

#[test]
fn where_nothing_is_yet_nothing_is_made() {
    let tree = Tree::new();
    tree.put("src/file", "text");
    tree.link(".git/hooks", "link");
    let hooks = [
        ".git/hooks/x",
        ".git/hooks/deep/er/x",
        ".git/hooks",
        ".git",
        ".git/new/../hooks/x",
        ".git/hooks/../../passing-through",
        "new/../.git/hooks/x",
        "new/../link/x",
        "new/er/../../src/../.git/new/x/../../hooks",
        "src/../.git/hooks/x",
    ];
    refused(&tree, &GIT, &hooks, ".git/hooks");
    refused(&tree, &GIT, &[".git/config", ".git/config/x"], ".git/config");
    allowed(&tree, &GIT, &[".git/info/exclude"]);
    refused(&tree, &GIT, &hooks, ".git/hooks");
}

#[test]
fn names_that_only_look_alike_are_allowed() {
    let tree = repository();
    let alike = [
        ".github/hooks",
        ".gitignore",
        ".git/hooksx",
        ".git/hook",
        ".git/config.lock",
        ".git/hooks.d/pre-commit",
        "a/.git/info/exclude",
        "a/.git/hooks.d/x",
        "a/git/hooks/pre-commit",
        "hooks/pre-commit",
        "config",
        "src/hooks",
        ".git/hooks/../description",
    ];
    allowed(&tree, &GIT, &alike);
    assert_eq!(tree.get(".git/hooks/pre-commit"), b"hook");
    assert!(tree.leftovers().is_empty());
    // With nothing protected, every path is allowed.
    allowed(&tree, &[], &[".git/hooks/pre-commit", ".git/config"]);
}

/// A person who runs git there obeys it.
#[test]
fn repositories_below_the_root_are_protected_by_name() {
    let tree = repository();
    for at in ["a", "a/b/c", "deep/er/than/any/command/looks"] {
        for (path, part) in [
            ("hooks/pre-commit", "hooks"),
            ("hooks", "hooks"),
            ("config", "config"),
            ("config.worktree", "config.worktree"),
            ("commondir", "commondir"),
            ("remotes/x", "remotes"),
            ("modules/m/hooks/x", "modules/m/hooks"),
            ("modules/m/config", "modules/m/config"),
        ] {
            let git = format!("{at}/.git");
            refused(&tree, &GIT, &[&*format!("{git}/{path}")], &format!("{git}/{part}"));
        }
        // A file in its place leads elsewhere.
        refused(&tree, &GIT, &[&*format!("{at}/.git")], &format!("{at}/.git"));
    }
    allowed(&tree, &[".git/hooks"], &["a/.git/config"]);
    refused(&tree, &[".git/hooks"], &["b/.git/hooks/x"], "b/.git/hooks");
    assert!(tree.leftovers().is_empty());
}

#[test]
fn a_protected_path_that_is_a_link_counts_where_it_leads() {
    for target in ["elsewhere", "./x/../elsewhere", "hop", "../root/elsewhere", "ROOT/elsewhere"] {
        for there in [true, false] {
            let tree = Tree::new();
            std::fs::create_dir(tree.root.join("x")).unwrap();
            tree.link("elsewhere", "hop");
            tree.link(target.replace("ROOT", tree.root.to_str().unwrap()), ".git");
            if there {
                tree.put("elsewhere/hooks/pre-commit", "hook");
                tree.put("elsewhere/config", "config");
            }
            let hooks = ["elsewhere", "elsewhere/hooks", "elsewhere/hooks/x", "hop/hooks/deep/x"];
            refused(&tree, &GIT, &hooks, ".git/hooks");
            refused(&tree, &GIT, &["elsewhere/config", "x/../hop/config"], ".git/config");
            if target != "../root/elsewhere" {
                refused(&tree, &GIT, &[".git/hooks/x", ".git"], ".git/hooks");
            }
            allowed(&tree, &GIT, &["elsewhere/info", "x/hooks/x", "elsewherex"]);
        }
    }
}

#[test]
fn every_part_of_a_protected_path_may_be_a_link() {
    let tree = repository();
    std::fs::rename(tree.root.join(".git/hooks"), tree.root.join("scripts")).unwrap();
    std::fs::rename(tree.root.join(".git/config"), tree.root.join("settings")).unwrap();
    tree.link("../scripts", ".git/hooks");
    tree.link(tree.root.join("settings"), ".git/config");
    let hooks = ["scripts/pre-commit", "scripts/new", "scripts", ".git/hooks/new", ".git/hooks"];
    refused(&tree, &GIT, &hooks, ".git/hooks");
    refused(&tree, &GIT, &["settings", ".git/config"], ".git/config");
    allowed(&tree, &GIT, &["scriptsx", "src/scripts"]);
}

#[test]
fn a_protected_path_may_lead_outside_or_in_a_circle_or_to_the_root() {
    let tree = Tree::new();
    tree.link("../outside", ".git");
    std::fs::create_dir(tree.outside.join("hooks")).unwrap();
    let escaped = write(&tree.open(), ".git/hooks/x", b"x", &options(&GIT), &NEVER);
    assert!(
        matches!(escaped, Err(FsError { kind: FsErrorKind::Escape { .. }, .. })),
        "{escaped:?}"
    );
    allowed(&tree, &GIT, &["hooks/x", "config"]);

    let tree = Tree::new();
    tree.link("circle", ".git");
    tree.link(".git", "circle");
    let endless = write(&tree.open(), ".git/hooks/x", b"x", &options(&GIT), &NEVER);
    assert!(
        matches!(endless, Err(FsError { kind: FsErrorKind::PathInvalid { .. }, .. })),
        "{endless:?}"
    );
    allowed(&tree, &GIT, &["hooks/x", "config"]);

    for everything in ["..", "../..", "/"] {
        let tree = Tree::new();
        tree.link(everything, ".git/hooks");
        refused(&tree, &GIT, &["x", "new/x", ".git/info"], ".git/hooks");
    }
}

#[test]
fn a_host_may_write_its_paths_in_other_forms() {
    let tree = repository();
    let absolute = tree.root.join(".git/hooks");
    let absolute = absolute.to_str().unwrap();
    for form in
        ["./.git/hooks/", ".git//hooks", "src/../.git/hooks", "../root/.git/hooks", absolute]
    {
        refused(&tree, &[form], &[".git/hooks/x", ".git/hooks", ".git"], form);
        allowed(&tree, &[form], &["src/file", ".git/config"]);
    }
    refused(&tree, &["."], &["src/file", "new"], ".");
    allowed(&tree, &["..x", "/nowhere", "../outside"], &["src/file"]);
}

#[test]
fn a_hard_link_is_not_recognised_and_its_other_name_keeps_its_bytes() {
    let tree = repository();
    std::fs::hard_link(tree.root.join(".git/config"), tree.root.join("second")).unwrap();
    allowed(&tree, &GIT, &["second"]);
    assert_eq!(tree.get(".git/config"), b"config");
}

#[test]
fn the_answer_says_what_is_protected_and_what_to_do() {
    let tree = repository();
    tree.link(".git/hooks", "link");
    let error = write(&tree.open(), "link/x", b"x", &options(&GIT), &NEVER).unwrap_err();
    assert_eq!(kind(&error), "Protected");
    assert_eq!(error.summary(), "Path is protected");
    assert_eq!(error.to_string(), "Path is protected: `link/x`, by `.git/hooks`");
    assert_eq!((error.path(), error.errno()), (Some("link/x"), None));
}

#[test]
fn a_path_is_resolved_before_it_is_found_protected_and_nothing_else_comes_between() {
    let tree = repository();
    let root = tree.open();
    let kind = |path: &str| kind(&write(&root, path, b"x", &options(&GIT), &NEVER).unwrap_err());
    assert_eq!(kind(""), "PathInvalid");
    assert_eq!(kind(".git/hooks/\0"), "PathInvalid");
    assert_eq!(kind("../root/.git/hooks/x"), "Escape");
    assert_eq!(kind(".git/config/x"), "NotADirectory");
    assert_eq!(kind(".git/hooks/"), "NotAFile");
    assert_eq!(kind(".git/hooks/\u{fffd}"), "Protected");
    assert_eq!(kind(".git/hooks/deep"), "Protected"); // a directory
    let cancelled = AtomicBool::new(true);
    let answer = write(&root, ".git/hooks/x", b"x", &options(&GIT), &cancelled);
    assert!(matches!(answer, Err(FsError { kind: FsErrorKind::Cancelled, .. })), "{answer:?}");
    // A refused edit has read nothing.
    let answer = update::<()>(&root, ".git/config", 1, &options(&GIT), &NEVER, |_| unreachable!());
    assert!(
        matches!(answer, Err(UpdateError::Fs(FsError { kind: FsErrorKind::Protected { .. }, .. }))),
        "{answer:?}"
    );
    assert!(Path::new(&tree.root).join(".git/config").is_file());
}

/// The two protected names stand for everything else that git runs or obeys.
#[test]
fn what_git_reads_beside_hooks_and_configuration_is_protected() {
    let tree = repository();
    for (path, by) in [
        (".git/commondir", ".git/commondir"),
        (".git/commondir/x", ".git/commondir"),
        (".git/config.worktree", ".git/config.worktree"),
        (".git/modules/a/config", ".git/modules/a/config"),
        (".git/modules/a/hooks/post-checkout", ".git/modules/a/hooks"),
        (".git/modules/a/commondir", ".git/modules/a/commondir"),
        (".git/modules/libs/b/hooks/x", ".git/modules/libs/b/hooks"),
        (".git/modules/a/modules/b/config.worktree", ".git/modules/a/modules/b/config.worktree"),
        (".git/worktrees/w/commondir", ".git/worktrees/w/commondir"),
        (".git/worktrees/w/config.worktree", ".git/worktrees/w/config.worktree"),
        ("HEAD", ".git/hooks"),
    ] {
        refused(&tree, &GIT, &[path], by);
    }
    let beside = [
        ".git/info/exclude",
        ".git/modules/hooks/description",
        ".git/worktrees/hooks/x",
        ".git/worktrees/w/hooks/x",
        "commondir",
        "modules/a/hooks/x",
        "src/HEAD",
    ];
    allowed(&tree, &GIT, &beside);
    // Each of the two by itself.
    allowed(&tree, &[".git/hooks"], &[".git/modules/m/config", ".git/config.worktree"]);
    allowed(&tree, &[".git/config"], &[".git/modules/m/hooks/x"]);
    allowed(&tree, &[".git/info"], &[".git/commondir", "HEAD"]);
}

#[test]
fn a_repository_that_git_is_led_to_is_protected() {
    for (text, place) in [
        ("gitdir: .bare\n", ".bare"),
        ("gitdir: ./sub/../.bare\r\n", ".bare"),
        ("gitdir: ROOT/deep/bare", "deep/bare"),
    ] {
        let tree = Tree::new();
        std::fs::create_dir(tree.root.join("sub")).unwrap();
        tree.put(".git", text.replace("ROOT", tree.root.to_str().unwrap()));
        tree.put(&format!("{place}/hooks/x"), "hook");
        tree.put(&format!("{place}/worktrees/w/x"), "");
        let hooks = [format!("{place}/hooks/x"), format!("{place}/hooks/new")];
        refused(&tree, &GIT, &[&*hooks[0], &*hooks[1]], ".git/hooks");
        refused(&tree, &GIT, &[&*format!("{place}/config")], ".git/config");
        let common = format!("{place}/commondir");
        refused(&tree, &GIT, &[&*common], &common);
        allowed(&tree, &GIT, &[&*format!("{place}/description"), "hooks/x", "config"]);
        // The files that it shares with other worktrees.
        tree.put(&common, "../shared\n");
        let shared = Path::new(place).with_file_name("shared");
        let shared = |name: &str| shared.join(name).to_str().unwrap().to_owned();
        refused(&tree, &GIT, &[&*shared("config")], ".git/config");
        refused(&tree, &GIT, &[&*shared("modules/a/config")], &shared("modules/a/config"));
    }
    // A `.git` that leads nowhere, outside, in a circle, or is not a path.
    for text in ["gitdir: ../outside", "gitdir: .git", "gitdir: \0", "gitdir:x", ""] {
        let tree = Tree::new();
        tree.put(".git", text);
        refused(&tree, &GIT, &[".git"], ".git/hooks");
        allowed(&tree, &GIT, &["x/config", "config", "hooks/x"]);
    }
}

#[test]
fn a_root_that_is_a_repository_itself_is_protected() {
    let tree = Tree::new();
    for file in ["HEAD", "objects/x", "refs/x"] {
        tree.put(file, "");
    }
    refused(&tree, &GIT, &["hooks/pre-commit"], ".git/hooks");
    refused(&tree, &GIT, &["config"], ".git/config");
    refused(&tree, &GIT, &["commondir"], "commondir");
    refused(&tree, &GIT, &["modules/a/config"], "modules/a/config");
    allowed(&tree, &GIT, &["info/exclude", "src/config"]);
}

/// A link that is removed or given another name leaves the place free for something else.
#[test]
fn links_on_the_way_to_a_protected_path_are_neither_deleted_nor_renamed() {
    use toolwright_fs::{Deletable, delete, rename};

    let tree = repository();
    tree.put("conf/real/c", "config");
    tree.link("real", "conf/link");
    tree.link("conf/link/c", "settings");
    tree.link("conf", "short");
    let absolute = tree.root.join("short/link").to_string_lossy().into_owned();
    let before = everything(&tree);
    for resolver in RESOLVERS {
        let root = Root::open_with(&tree.root, resolver).unwrap();
        for protected in ["settings", "short/link/c", &absolute] {
            let options = options(&[protected]);
            for path in ["conf/link", "conf", "conf/real"] {
                let deleted = delete(&root, path, Deletable::Trees, &options, &NEVER);
                assert!(deleted.is_err(), "{protected}: {path}");
                assert!(
                    rename(&root, path, "other", &options, &NEVER).is_err(),
                    "{protected}: {path}"
                );
            }
        }
        let named = options(&["settings"]);
        assert!(delete(&root, "settings", Deletable::Files, &named, &NEVER).is_err());
    }
    assert_eq!(everything(&tree), before);
}
