//! Something else stands where a fork expects its base, or its git directory.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use support::{Place, sh, tree};
use toolwright_fork_store::{Apply, ForkError};

/// A fork that was closed is not of a directory that was made in the place of its base, whatever its path says.
#[test]
fn a_directory_in_the_place_of_the_base_gets_nothing() {
    let Some(place) = Place::new(&[("a", "1")]) else { return };
    let (open, fork) = place.fork();
    fs::write(fork.join("new"), "of the fork").unwrap();
    let id = open.fork().id().to_owned();
    open.close().unwrap();
    fs::rename(&place.base, place.base.with_file_name("moved")).unwrap();
    fs::create_dir(&place.base).unwrap();
    fs::write(place.base.join("other"), "of somebody else").unwrap();
    let before = place.tree();
    for error in [place.store.take(&id).unwrap_err(), place.store.look(&id).unwrap_err()] {
        assert!(error.to_string().contains("another directory is there now"), "{error}");
        assert!(matches!(error, ForkError::Replaced { .. }), "{error:?}");
    }
    assert!(place.store.reopen(&id).is_err());
    assert_eq!(place.tree(), before);
    // It is of no use to anybody, and goes.
    assert_eq!(place.store.collect(Some(0)).unwrap().removed, [id]);
}

/// An open fork has its base open. What its path leads to meanwhile is not written.
#[test]
fn an_open_fork_is_applied_to_its_base_and_not_to_what_its_path_leads_to() {
    let Some(place) = Place::new(&[("a", "1")]) else { return };
    let (open, fork) = place.fork();
    fs::write(fork.join("a"), "2").unwrap();
    fs::write(fork.join("new"), "new").unwrap();
    let (moved, victim) = (place.base.with_file_name("moved"), place.base.with_file_name("victim"));
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("a"), "of the person").unwrap();
    let before = tree(&victim);
    fs::rename(&place.base, &moved).unwrap();
    symlink(&victim, &place.base).unwrap();
    let _ = open.fork().apply(Apply::default(), &place.never);
    assert_eq!(tree(&victim), before);
}

/// A git directory of the fork that leads elsewhere has no commits, and nothing of where it leads is brought.
#[test]
fn objects_of_another_repository_are_not_brought() {
    let Some(place) = Place::new(&[("a", "1")]) else { return };
    let git = |directory: &std::path::Path, args: &[&str]| {
        let name = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
        let output = Command::new("git").arg("-C").arg(directory).args(name).args(args).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let other = place.base.with_file_name("other");
    fs::create_dir(&other).unwrap();
    for directory in [&place.base, &other] {
        git(directory, &["init", "-q"]);
        git(directory, &["commit", "-q", "--allow-empty", "-m", "one"]);
    }
    fs::write(other.join("secret"), "secret").unwrap();
    git(&other, &["add", "secret"]);
    git(&other, &["commit", "-qm", "secret"]);
    let secret = git(&other, &["rev-parse", "HEAD:secret"]);
    let (open, _) = place.fork();
    sh(&open, &format!("rm -rf .git; ln -s {} .git", other.join(".git").display()));
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    assert_eq!(applied.commits, None);
    // The same with objects that lead elsewhere, under a git directory of the fork's own.
    sh(
        &open,
        &format!(
            "rm .git; mkdir -p .git/refs/heads; echo ref: refs/heads/main > .git/HEAD; ln -s {} .git/objects; cp {} .git/refs/heads/main",
            other.join(".git/objects").display(),
            other
                .join(".git/refs/heads")
                .join(git(&other, &["branch", "--show-current"]))
                .display(),
        ),
    );
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    assert_eq!(applied.commits.and_then(|commits| commits.reference), None);
    let mut look = Command::new("git");
    look.arg("-C").arg(&place.base).args(["cat-file", "-e", &secret]);
    let found = look.output().unwrap();
    assert!(!found.status.success());
}
