//! A root that the host removes after its commands: nothing comes back in it.

#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use support::factor;
use support::place::{Place, has_namespaces};

/// How long a supervisor gets for what it must not do. It would need a hundredth of that.
const LONG_ENOUGH: Duration = Duration::from_millis(100);

/// A place without a repository, which therefore has a placeholder.
fn with_placeholder() -> Place {
    let mut place = Place::confined();
    place.plan.protected =
        [".git/hooks", ".git/config", "dir/.npmrc"].map(|name| place.root.join(name)).to_vec();
    fs::create_dir(place.root.join("dir")).expect("made");
    place
}

#[test]
fn placeholders_do_not_come_back_after_a_command() {
    if !has_namespaces() {
        return;
    }
    let place = with_placeholder();
    place.output("true");
    let placeholder = place.root.join(".git");
    assert!(placeholder.exists(), "it is visible to the host");
    fs::remove_dir(&placeholder).expect("removed");
    thread::sleep(LONG_ENOUGH);
    assert!(!placeholder.exists(), "it has come back");
    fs::remove_dir_all(&place.root).expect("removed");
    thread::sleep(LONG_ENOUGH);
    assert!(!place.root.exists(), "it has come back");
}

#[test]
fn the_root_can_be_removed_right_after_a_command() {
    if !has_namespaces() {
        return;
    }
    for _ in 0..10 * factor() {
        let place = with_placeholder();
        for number in 0..50 {
            fs::write(place.root.join(format!("dir/{number}")), "").expect("written");
        }
        place.output("true");
        fs::remove_dir_all(&place.root).expect("removed");
    }
}

/// A command that left processes behind ends with them.
#[test]
fn the_root_can_be_removed_after_a_command_with_children() {
    if !has_namespaces() {
        return;
    }
    let place = with_placeholder();
    place.output("sleep 60 & echo");
    fs::remove_dir_all(&place.root).expect("removed");
    thread::sleep(LONG_ENOUGH);
    assert!(!place.root.exists(), "it has come back");
}

const ROOT: &str = "TOOLWRIGHT_EXEC_ROOT";

/// Runs a command in the directory that the variable names. The test is about the end of this
/// process.
#[test]
#[ignore = "a host for the test below"]
fn host() {
    let root = PathBuf::from(env::var_os(ROOT).expect("a root"));
    let mut place = with_placeholder();
    place.plan.protected = vec![root.join(".git/hooks")];
    place.plan.writable = vec![root.clone()];
    place.plan.root.clone_from(&root);
    place.root = root;
    place.output("true");
    assert!(place.root.join(".git").exists(), "it is visible to the host");
}

fn names(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).expect("read").flatten().map(|entry| entry.path()).collect()
}

#[test]
fn placeholders_are_gone_when_their_host_is() {
    if !has_namespaces() {
        return;
    }
    let directory = tempfile::tempdir().expect("dir");
    let root = directory.path().canonicalize().expect("real");
    for _ in 0..5 * factor() {
        let status = Command::new(env::current_exe().expect("path"))
            .args(["--exact", "--ignored", "--test-threads=1", "host"])
            .env(ROOT, &root)
            .stdout(Stdio::null())
            .status();
        let left = names(&root);
        assert!(status.expect("started").success());
        assert!(left.is_empty(), "{left:?}");
    }
}
