//! A root that the host removes after its commands: nothing comes back in it.

#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use support::factor;
use support::place::{Place, has_namespaces};

/// How long a supervisor gets for what it must not do. It would need a hundredth of that.
const LONG_ENOUGH: Duration = Duration::from_millis(100);

/// A place without a repository, where paths are protected that are absent.
fn with_absent() -> Place {
    let mut place = Place::confined();
    place.plan.protected =
        [".git/hooks", ".git/config", "dir/.npmrc"].map(|name| place.root.join(name)).to_vec();
    fs::create_dir(place.root.join("dir")).expect("made");
    place
}

#[test]
fn a_root_does_not_come_back_after_a_command() {
    if !has_namespaces() {
        return;
    }
    let place = with_absent();
    place.output("true");
    assert_eq!(names(&place.root), [place.root.join("dir")], "nothing stands for what is absent");
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
        let place = with_absent();
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
    let place = with_absent();
    place.output("sleep 60 & echo");
    fs::remove_dir_all(&place.root).expect("removed");
    thread::sleep(LONG_ENOUGH);
    assert!(!place.root.exists(), "it has come back");
}

fn names(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).expect("read").flatten().map(|entry| entry.path()).collect()
}
