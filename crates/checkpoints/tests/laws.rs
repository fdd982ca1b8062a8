//! A restored tree is exactly the tree that it was, whatever happened in between: compared with a full
//! copy of it, over random trees and random changes.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "a failed unwrap is a failed test, and random numbers are small"
)]

mod support;

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use support::{Project, Random, Tree, restore_to, tenth_of, tree};
use toolwright_checkpoints::{Options, Restore};

/// Names that are odd in one way or another, and few enough to meet again.
const NAMES: [&[u8]; 14] = [
    b"a",
    b"b",
    b"c.txt",
    b"d",
    b"with space",
    b"line\nbreak",
    b"quote\"'`$",
    b"-rf",
    b"\xff\xfe",
    b"\xf0\x9f\x92\xa5",
    b"..almost",
    b".hidden",
    b"UPPER",
    b"a*?[b]",
];
/// Where links lead: inside, outside, nowhere, to themselves, up.
const LINKS: [&[u8]; 7] = [b"a", b"/etc/passwd", b"../../outside", b"nowhere", b"d", b".", b"\xff"];
const MODES: [u32; 6] = [0o644, 0o755, 0o600, 0o444, 0o4755, 0o666];
const DIRECTORY_MODES: [u32; 4] = [0o755, 0o700, 0o775, 0o1777];

fn some_path(random: &mut Random, root: &Path) -> PathBuf {
    let mut path = root.to_path_buf();
    for _ in 0..=random.below(3) {
        let name = NAMES[random.below(NAMES.len() as u64) as usize];
        path.push(OsString::from_vec(name.to_vec()));
    }
    path
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path).unwrap(),
        Ok(_) => std::fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Makes the directories of a path, in place of whatever is there.
fn make_parents(root: &Path, path: &Path) {
    let mut here = root.to_path_buf();
    for name in path.strip_prefix(root).unwrap().parent().unwrap() {
        here.push(name);
        if !here.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            remove(&here);
            std::fs::create_dir(&here).unwrap();
        }
    }
}

fn change(random: &mut Random, root: &Path) {
    let path = some_path(random, root);
    match random.below(12) {
        0..=3 => {
            make_parents(root, &path);
            let is_directory = path.symlink_metadata().is_ok_and(|found| found.is_dir());
            if is_directory || path.is_symlink() {
                remove(&path);
            }
            let size = [0, 5, 100, 5_000, 70_000][random.below(5) as usize];
            let byte = random.below(256) as u8;
            std::fs::write(&path, vec![byte; size]).unwrap();
        }
        4 => {
            make_parents(root, &path);
            remove(&path);
            let text = LINKS[random.below(LINKS.len() as u64) as usize];
            symlink(std::ffi::OsStr::from_bytes(text), &path).unwrap();
        }
        5 => {
            make_parents(root, &path);
            if !path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                remove(&path);
                std::fs::create_dir(&path).unwrap();
            }
            let mode = DIRECTORY_MODES[random.below(4) as usize];
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        6 | 7 => remove(&path),
        8 => {
            let to = some_path(random, root);
            if path.symlink_metadata().is_ok() && !to.starts_with(&path) && !path.starts_with(&to) {
                make_parents(root, &to);
                remove(&to);
                if path.symlink_metadata().is_ok() {
                    std::fs::rename(&path, &to).unwrap();
                }
            }
        }
        9 if path.symlink_metadata().is_ok_and(|found| found.is_file()) => {
            let mode = MODES[random.below(MODES.len() as u64) as usize];
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        10 if path.symlink_metadata().is_ok_and(|found| found.is_file()) => {
            let since = Duration::new(1_000_000_000 + random.below(1000), random.below(999) as u32);
            if let Ok(file) = std::fs::File::options().append(true).open(&path) {
                file.set_modified(SystemTime::UNIX_EPOCH + since).unwrap();
            }
        }
        // Beside the repository of a nested project, and the file of a submodule.
        _ => {
            let project = ["nested/file", "module/file"][random.below(2) as usize];
            std::fs::write(root.join(project), format!("{}", random.below(100))).unwrap();
        }
    }
}

/// Without what checkpoints do not have, and without the times of directories that lost or got something
/// without a trace.
fn comparable(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    for entry in tree.values_mut().filter(|entry| entry.kind == "directory") {
        entry.mtime = (0, 0);
    }
    tree
}

fn explain(found: &Tree, wanted: &Tree) -> String {
    let mut text = String::new();
    for (path, entry) in wanted {
        if found.get(path) != Some(entry) {
            let short = |e: &support::Entry| (e.kind, e.mode, e.mtime, e.content.len());
            let [a, b] = [found.get(path).map(short), Some(short(entry))];
            let _ = writeln!(text, "{}: found {a:?}, wanted {b:?}", path.display());
        }
    }
    for path in found.keys().filter(|path| !wanted.contains_key(*path)) {
        let _ = writeln!(text, "{}: should not be there", path.display());
    }
    text
}

#[test]
fn a_restored_tree_is_the_tree_that_it_was() {
    let mut random = Random::new();
    for round in 0..tenth_of(300) {
        let project = Project::with(Options::default());
        let root = project.root.path();
        let mut copies: Vec<(i64, Tree)> = Vec::new();
        for repository in ["nested/.git", ".git"] {
            std::fs::create_dir_all(root.join(repository)).unwrap();
            std::fs::write(root.join(repository).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        std::fs::create_dir(root.join("module")).unwrap();
        std::fs::write(root.join("module/.git"), "gitdir: ../.git/modules/module\n").unwrap();
        let git = |tree: &Tree| -> Tree {
            let mut tree = tree.clone();
            tree.retain(|path, _| path.to_string_lossy().split('/').any(|name| name == ".git"));
            comparable(&tree)
        };
        let before = git(&tree(root));
        for _ in 0..3 + random.below(4) {
            for _ in 0..random.below(25) {
                change(&mut random, root);
            }
            let id = project.take().id;
            copies.push((id, comparable(&tree(root))));
        }
        for _ in 0..5 {
            let (id, copy) = &copies[random.below(copies.len() as u64) as usize];
            let restored = project.restore(*id).unwrap();
            assert_eq!((&restored.conflicts, &restored.left), (&vec![], &vec![]), "round {round}");
            let found = comparable(&tree(root));
            assert!(found == *copy, "round {round}:\n{}", explain(&found, copy));
            // What is restored is the state: there is nothing more to do.
            let again = project.restore(*id).unwrap();
            assert_eq!((again.after, again.changes), (None, vec![]), "round {round}");
        }
        // A part of it, with what somebody else has changed in between.
        for _ in 0..random.below(15) {
            change(&mut random, root);
        }
        let (id, copy) = copies[0].clone();
        project.restore_with(Restore { force: true, ..restore_to(id) }).unwrap();
        let found = comparable(&tree(root));
        assert!(found == copy, "round {round}, forced:\n{}", explain(&found, &copy));
        assert_eq!(git(&tree(root)), before, "round {round}");
        println!("round {round}: {} checkpoints of {} entries", copies.len(), copy.len());
    }
}
