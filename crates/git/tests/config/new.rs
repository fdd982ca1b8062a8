//! The configuration of a repository that a command has made.

use std::path::Path;

use toolwright_git::config::{ConfigError, New, Policy, Scope, fresh};

fn made(view: &str, new: &New<'_>) -> Result<(String, Vec<String>), ConfigError> {
    let policy = Policy {
        scope: Scope::Repository,
        top: Some(Path::new("/root/x")),
        is_writable: &|path| path.starts_with("/root"),
        is_readable: &|_| true,
        holds_worktree_config: true,
        is_strict: true,
        others: &[],
    };
    let (text, refused) = fresh(view.as_bytes(), new, &policy)?;
    Ok((String::from_utf8(text).unwrap(), refused))
}

const INIT: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

#[test]
fn a_new_repository_is_as_git_makes_it() {
    let (text, refused) = made(INIT, &New::default()).unwrap();
    assert_eq!((&*text, refused.len()), (INIT, 0));
    // Whatever the command says of it.
    for view in [
        "",
        "[core]\n\tbare = true\n\tfilemode = false\n\trepositoryformatversion = 1\n\tworktree = /",
        "[extensions]\n\tobjectFormat = sha1\n\trefStorage = files\n",
    ] {
        assert_eq!(made(view, &New::default()), Ok((INIT.to_owned(), Vec::new())), "{view}");
    }
    let bare = made(INIT, &New { is_bare: true, ..New::default() }).unwrap().0;
    assert!(bare.contains("\tbare = true\n"));
}

#[test]
fn a_clone_keeps_its_origin_and_nothing_dangerous() {
    let clone = format!(
        "{INIT}[remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
         [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
    );
    assert_eq!(made(&clone, &New::default()), Ok((clone.clone(), Vec::new())));
    let hostile = format!(
        "{clone}[core]\n\tfsmonitor = x\n\thooksPath = y\n[extensions]\n\tpartialClone = origin\n"
    );
    let (text, refused) = made(&hostile, &New::default()).unwrap();
    assert_eq!(text, clone);
    assert_eq!(refused, ["core.fsmonitor", "core.hookspath", "extensions.partialclone"]);
    // A clone of a directory that commands write has no remote outside.
    let local = clone.replace("https://example.org/a.git", "/root/other");
    let (text, refused) = made(&local, &New::default()).unwrap();
    assert_eq!(text, format!("{INIT}[branch \"main\"]\n\tmerge = refs/heads/main\n"));
    assert_eq!(refused.len(), 3);
}

#[test]
fn a_submodule_is_where_the_host_knows_it() {
    let new = New {
        is_bare: false,
        worktree: Some(b"../../../lib"),
        origin: Some(b"https://example.org/lib.git"),
    };
    let view = format!(
        "{INIT}\tworktree = /etc\n[remote \"origin\"]\n\turl = https://evil.example.org/\n"
    );
    let (text, refused) = made(&view, &new).unwrap();
    let remote = "[remote \"origin\"]\n\turl = https://example.org/lib.git\n";
    assert_eq!(text, format!("{INIT}\tworktree = ../../../lib\n{remote}"));
    assert_eq!(refused, ["remote.origin.url"]);
}

#[test]
fn other_formats_are_not_made() {
    for (name, value) in
        [("objectFormat", "sha256"), ("refStorage", "reftable"), ("OBJECTFORMAT", "x")]
    {
        let view = format!("{INIT}[extensions]\n\t{name} = {value}\n");
        assert_eq!(made(&view, &New::default()), Err(ConfigError::Format));
    }
    assert_eq!(made("[core", &New::default()), Err(ConfigError::Unreadable));
    let long = format!("{INIT}# {}", "x".repeat(300_000));
    assert_eq!(made(&long, &New::default()), Err(ConfigError::TooLarge));
}
