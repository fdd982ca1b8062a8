//! Every state that a killed process can leave, made by hand.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use toolwright_process::ShortId;

use super::*;
use crate::temporary::{part_name, swap_name};

/// A directory with residues in it, as processes leave them that die between two system calls.
struct Scene {
    directory: tempfile::TempDir,
    fd: OwnedFd,
}

fn dead() -> ShortId {
    ShortId { start: ShortId::current().start + 1, ..ShortId::current() }
}

fn elsewhere() -> ShortId {
    ShortId { realm: ShortId::current().realm ^ 1, ..ShortId::current() }
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let fd = std::fs::File::open(directory.path()).unwrap().into();
        Self { directory, fd }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn print(&self, name: &str) -> Fingerprint {
        let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        Fingerprint::of(&stat)
    }

    /// Renames `new` to the name it has while it is exchanged with `target`.
    fn announce(&self, owner: ShortId, new: &str, target: &str) -> String {
        static SEQUENCE: AtomicU64 = AtomicU64::new(0);
        let swap = Swap {
            new: self.print(new),
            out: self.print(target),
            target: NameHash::of(OsStr::new(target)),
        };
        let name = swap_name(owner, SEQUENCE.fetch_add(1, Ordering::Relaxed), swap);
        std::fs::rename(self.path(new), self.path(&name)).unwrap();
        name
    }

    fn exchange(&self, a: &str, b: &str) {
        publish::exchange(self.fd.as_fd(), OsStr::new(a), OsStr::new(b)).unwrap();
    }

    fn replace(&self, name: &str, text: &str) {
        self.put("other", text);
        std::fs::rename(self.path("other"), self.path(name)).unwrap();
    }

    fn sweep(&self, target: &str) {
        sweep_now(self.fd.as_fd(), OsStr::new(target), ABANDONED_AFTER).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// An edit of `file` that dies right after the exchange.
    fn exchanged(&self) -> String {
        self.put("file", "old");
        self.put("new", "new");
        let swap = self.announce(dead(), "new", "file");
        self.exchange(&swap, "file");
        swap
    }
}

#[test]
fn a_part_of_a_dead_process_goes() {
    let scene = Scene::new();
    scene.put("file", "old");
    scene.put(&part_name(dead(), 1), "half of the n");
    scene.sweep("anything");
    assert_eq!(scene.names(), ["file"]);
}

#[test]
fn files_of_this_living_process_and_names_made_by_hand_stay() {
    let scene = Scene::new();
    scene.put("file", "old");
    scene.put("new", "new");
    scene.put(&part_name(ShortId::current(), 1), "being written");
    scene.announce(ShortId::current(), "new", "file");
    scene.put(".toolwright-notes.part", "not ours");
    scene.sweep("file");
    assert_eq!(scene.names().len(), 4);
}

#[test]
fn before_the_exchange_the_new_file_goes() {
    let scene = Scene::new();
    scene.put("file", "old");
    scene.put("new", "new");
    scene.announce(dead(), "new", "file");
    scene.sweep("anything");
    assert_eq!((scene.names(), scene.get("file")), (vec!["file".to_owned()], "old".to_owned()));
}

#[test]
fn after_the_exchange_the_old_file_goes() {
    let scene = Scene::new();
    scene.exchanged();
    scene.sweep("anything");
    assert_eq!((scene.names(), scene.get("file")), (vec!["file".to_owned()], "new".to_owned()));
}

/// Somebody writes between the editor's look and its exchange, and the editor dies there.
fn foreign_came_out(scene: &Scene) -> String {
    scene.put("file", "old");
    scene.put("new", "new");
    let swap = scene.announce(dead(), "new", "file");
    scene.replace("file", "foreign");
    scene.exchange(&swap, "file");
    swap
}

#[test]
fn a_foreign_file_that_came_out_is_exchanged_back_by_a_call_on_its_name() {
    let scene = Scene::new();
    foreign_came_out(&scene);
    scene.sweep("another");
    assert_eq!(scene.get("file"), "new", "not another call's business");
    scene.sweep("file");
    assert_eq!(scene.get("file"), "foreign");
    assert_eq!(scene.names(), ["file"]);
}

#[test]
fn a_foreign_change_in_place_that_came_out_is_exchanged_back() {
    let scene = Scene::new();
    scene.put("file", "old");
    scene.put("new", "new");
    let swap = scene.announce(dead(), "new", "file");
    scene.put("file", "changed in place");
    scene.exchange(&swap, "file");
    scene.sweep("file");
    assert_eq!(scene.get("file"), "changed in place");
    assert_eq!(scene.names(), ["file"]);
}

#[test]
fn a_foreign_file_is_kept_when_the_target_has_been_replaced_since() {
    let scene = Scene::new();
    let swap = foreign_came_out(&scene);
    scene.replace("file", "newer");
    // New files in the meantime: one of them may get the inode number that has become free.
    for name in ["a", "b", "c"] {
        scene.put(name, name);
    }
    scene.sweep("file");
    assert_eq!((scene.get("file"), scene.get(&swap)), ("newer".to_owned(), "foreign".to_owned()));
    for name in ["a", "b", "c"] {
        assert_eq!(scene.get(name), name);
    }
    std::fs::remove_file(scene.path("file")).unwrap();
    scene.sweep("file");
    assert_eq!(scene.get(&swap), "foreign", "the only copy of somebody's bytes");
}

#[test]
fn a_made_up_residue_cannot_have_another_file_replaced() {
    let scene = Scene::new();
    scene.put("protected", "as it should be");
    scene.put("file", "old");
    let swap = Swap {
        new: scene.print("protected"),
        out: scene.print("file"),
        target: NameHash::of(OsStr::new("protected")),
    };
    scene.put(&swap_name(dead(), 7, swap), "planted");
    scene.sweep("file");
    assert_eq!(scene.get("protected"), "as it should be");
}

#[test]
fn residues_that_are_no_files_are_left_alone() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path(&part_name(dead(), 1))).unwrap();
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::symlink(outside.path(), scene.path(&part_name(dead(), 2))).unwrap();
    scene.sweep("file");
    assert_eq!(scene.names().len(), 1, "the link goes, the directory stays");
    assert!(outside.path().exists());
}

#[test]
fn files_of_another_realm_go_by_age_only() {
    let scene = Scene::new();
    scene.put(&part_name(elsewhere(), 1), "perhaps being written");
    scene.sweep("file");
    assert_eq!(scene.names().len(), 1);
    sweep_now(scene.fd.as_fd(), OsStr::new("file"), Duration::ZERO).unwrap();
    assert_eq!(scene.names().len(), 0);
}

#[test]
fn sweeps_at_the_same_time_do_not_undo_each_other() {
    for _ in 0..100 {
        let scene = Scene::new();
        foreign_came_out(&scene);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let listing = scene.fd.as_fd();
                    let _ = sweep_now(listing, OsStr::new("file"), ABANDONED_AFTER);
                });
            }
        });
        assert_eq!(scene.get("file"), "foreign");
        assert_eq!(scene.names(), ["file"]);
    }
}

#[test]
fn a_directory_rests_in_proportion_to_its_names() {
    let scene = Scene::new();
    for number in 0..2000 {
        scene.put(&number.to_string(), "");
    }
    let identity = crate::open::identity(&rustix::fs::fstat(&scene.fd).unwrap());
    let sweep_again = || sweep(scene.fd.as_fd(), identity, OsStr::new("file"), None);
    sweep_again();
    scene.put(&part_name(dead(), 1), "left");
    sweep_again();
    assert_eq!(scene.names().len(), 2001, "looked at a moment ago");
    std::thread::sleep(REST_PER_NAME * 2100);
    sweep_again();
    assert_eq!(scene.names().len(), 2000);
}
