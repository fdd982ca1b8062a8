//! Protected paths under attack, and in random trees of directories and links.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use rustix::fs::{CWD, RenameFlags};
use support::{NEVER, RESOLVERS, Stop, Tree, kind, snapshot, tenth_of};
use toolwright_fs::{FsError, FsErrorKind, Root, UpdateError, WriteOptions, update, write};

fn options(protected: &[&str]) -> WriteOptions {
    let protected = protected.iter().map(PathBuf::from).collect();
    WriteOptions { protected, ..WriteOptions::default() }
}

/// A write or, every other time, an edit.
fn change(root: &Root, path: &str, number: usize, options: &WriteOptions) -> Result<(), FsError> {
    if number.is_multiple_of(2) {
        return write(root, path, b"inside", options, &NEVER);
    }
    let edited = update::<()>(root, path, 100, options, &NEVER, |old| {
        assert_ne!(old, b"PROTECTED", "read on the way to a change");
        Ok(if old.len() > 20 { b"inside".to_vec() } else { [old, b"+"].concat() })
    });
    edited.map(drop).map_err(|error| match error {
        UpdateError::Fs(error) => error,
        UpdateError::Refused(()) => unreachable!(),
    })
}

/// The protected content, and for each directory the time when an entry was last created or
/// removed, which reveals temporary files too.
fn protected_state(tree: &Tree) -> Vec<String> {
    let git = tree.root.join(".git");
    let mut state = snapshot(&git);
    for name in ["", "hooks", "hooks/sub", "config"] {
        let meta = git.join(name).symlink_metadata().unwrap();
        state.push(format!("{name} {} {}", meta.mtime(), meta.mtime_nsec()));
    }
    state
}

fn exchange(a: &Path, b: &Path) {
    rustix::fs::renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

/// Two names that are exchanged, what the second one links to, and the path that becomes ambiguous.
const SWAPS: [(&str, &str, &str, &str); 6] = [
    ("dir", "trap", ".git/hooks", "dir/file"),
    ("dir", "trap", ".git/hooks", "dir/sub/file"),
    ("dir", "trap", "ROOT/.git/hooks", "dir/sub/../file"),
    ("dir", "trap", ".git/hooks", "dir/new/new"),
    ("dir/file", "dir/trap", "../.git/config", "dir/file"),
    ("way", "trap", ".git/hooks", "way/file"),
];

#[test]
fn no_write_lands_in_a_protected_directory_while_links_to_it_are_swapped_in() {
    let each = tenth_of(50_000) / SWAPS.len();
    for resolver in RESOLVERS {
        for (name, trap, target, path) in SWAPS {
            let tree = Tree::new();
            for file in [".git/hooks/file", ".git/hooks/sub/file", ".git/config"] {
                tree.put(file, "PROTECTED");
            }
            tree.put("dir/file", "inside");
            tree.put("dir/sub/file", "inside");
            tree.link("dir", "way");
            let target = target.replace("ROOT", tree.root.to_str().unwrap());
            tree.link(&target, trap);
            let before = protected_state(&tree);

            let root = Root::open_with(&tree.root, resolver).unwrap();
            let (name, trap) = (tree.root.join(name), tree.root.join(trap));
            let done = AtomicBool::new(false);
            let mut tally = BTreeMap::<&str, usize>::new();
            std::thread::scope(|scope| {
                let stop = Stop(&done);
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        exchange(&name, &trap);
                        exchange(&name, &trap);
                        // A write that met the link at the last moment has replaced it.
                        if !trap.is_symlink() {
                            std::fs::remove_file(&trap).unwrap();
                            symlink(&target, &trap).unwrap();
                        }
                    }
                });
                let options = options(&[".git/hooks", ".git/config"]);
                let met = |tally: &BTreeMap<&str, usize>, code| *tally.get(code).unwrap_or(&0);
                let mut calls = 0;
                while calls < each
                    || met(&tally, "ok") * 5 < each
                    || met(&tally, "Protected") * 50 < each
                {
                    let code = change(&root, path, calls, &options)
                        .map_or_else(|error| kind(&error), |()| "ok");
                    *tally.entry(code).or_default() += 1;
                    calls += 1;
                    if calls.is_multiple_of(100) && protected_state(&tree) != before {
                        break;
                    }
                }
                drop(stop);
            });
            println!("{path} by {target}, {resolver:?}: {tally:?}");
            assert_eq!(protected_state(&tree), before, "{path} by {target}, {resolver:?}");
        }
    }
}

/// One change to a tree. The alphabet is tiny, so that names meet.
#[derive(Debug, Clone)]
enum Entry {
    Directory(String),
    File(String),
    Link(String, String),
}

fn relative_path() -> impl Strategy<Value = String> {
    let part = prop_oneof![4 => Just("a"), 4 => Just("b"), 1 => Just(".."), 1 => Just(".")];
    proptest::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"))
}

fn any_target() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => relative_path(),
        2 => relative_path().prop_map(|path| format!("ROOT/{path}")),
        1 => relative_path().prop_map(|path| format!("ROOT/../root/{path}")),
        1 => Just("../outside".to_owned()),
    ]
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        3 => relative_path().prop_map(Entry::Directory),
        1 => relative_path().prop_map(Entry::File),
        3 => (relative_path(), any_target()).prop_map(|(path, target)| Entry::Link(path, target)),
    ]
}

/// Creates the entry with plain system calls, if its parent is inside and nothing is there yet.
fn make(root: &Path, entry: &Entry) {
    let (Entry::Directory(path) | Entry::File(path) | Entry::Link(path, _)) = entry;
    let full = root.join(path);
    let parent = full.parent().and_then(|parent| parent.canonicalize().ok());
    let (Some(parent), Some(name)) = (parent, full.file_name()) else { return };
    let full = parent.join(name);
    if !parent.starts_with(root) || full.symlink_metadata().is_ok() {
        return;
    }
    match entry {
        Entry::Directory(_) => drop(std::fs::create_dir(&full)),
        Entry::File(_) => drop(std::fs::write(&full, "old")),
        Entry::Link(_, target) => {
            drop(symlink(target.replace("ROOT", root.to_str().unwrap()), &full));
        }
    }
}

/// What the system finds at a protected path, and whether a file is above it.
fn observed(root: &Path, protected: &str) -> (Option<Vec<String>>, Vec<bool>) {
    let base = root.parent().unwrap();
    let content = root.join(protected).canonicalize().ok().map(|real| {
        if base.starts_with(&real) {
            snapshot(base)
        } else if real.is_dir() {
            snapshot(&real)
        } else {
            vec![format!("{:?}", std::fs::read(real))]
        }
    });
    let above = Path::new(protected).ancestors().skip(1).map(|path| root.join(path).is_file());
    (content, above.collect())
}

/// Whether the real path of `path` is the protected one, by name or through links, or one is below
/// the other. `None` if that cannot be determined without following links by hand.
fn related(root: &Path, path: &Path, protected: &str) -> Option<bool> {
    let named = root.join(protected);
    let protected = named.canonicalize().ok()?;
    // `b/.` names what the link `b` leads to, and `lstat` fails on it where that is nothing:
    // without its last dot, the path is a link that is there.
    let path: PathBuf = root.join(path).components().collect();
    let place = path.canonicalize().ok().or_else(|| {
        let missing = path.symlink_metadata().is_err() && path.file_name().is_some();
        let parent = missing.then(|| path.parent()?.canonicalize().ok()).flatten()?;
        Some(parent.join(path.file_name()?))
    })?;
    let meets = |other: &Path| place.starts_with(other) || other.starts_with(&place);
    Some(meets(&named) || meets(&protected))
}

/// `a/a` leads to `b/b`, where nothing is. A directory there would let it lead on to `b/a`.
#[test]
fn what_a_protected_path_leads_over_is_not_created() {
    let tree = Tree::new();
    let entries = [("b", None), ("b/a", Some("")), ("a", Some("b/b/.."))];
    for (path, target) in entries {
        let path = path.to_owned();
        make(
            &tree.root,
            &match target {
                None => Entry::Directory(path),
                Some("") => Entry::File(path),
                Some(target) => Entry::Link(path, target.to_owned()),
            },
        );
    }
    for resolver in RESOLVERS {
        let root = Root::open_with(&tree.root, resolver).unwrap();
        for path in ["a/b/a", "b/b/a"] {
            let answer = change(&root, path, 0, &options(&["a/a"]));
            assert_eq!(answer.map_err(|error| kind(&error)), Err("Protected"), "{path}");
            assert!(!tree.root.join("b/b").exists());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: u32::try_from(tenth_of(10_000)).unwrap(),
        ..ProptestConfig::default()
    })]

    /// The system finds the same at a protected path after every call, and no call that has nothing
    /// to do with one is refused.
    #[test]
    fn nothing_at_a_protected_path_ever_changes(
        entries in proptest::collection::vec(entry(), 0..12),
        protected in proptest::sample::subsequence(vec!["a/b", "b/a/a", "a/a", "b/b"], 1..3),
        path in any_target(),
    ) {
        let tree = Tree::new();
        let root_path = tree.root.canonicalize().unwrap();
        for entry in &entries {
            make(&root_path, entry);
        }
        let path = path.replace("ROOT", root_path.to_str().unwrap());
        let before: Vec<_> = protected.iter().map(|path| observed(&root_path, path)).collect();
        let options = options(&protected);
        for number in [1, 0] {
            let mut codes = Vec::new();
            for resolver in RESOLVERS {
                let related = |by: &str| related(&root_path, Path::new(&path), by);
                let relations: Vec<_> = protected.iter().map(|by| related(by)).collect();
                let root = Root::open_with(&root_path, resolver).unwrap();
                let answer = change(&root, &path, number, &options);
                if let Err(FsError { kind: FsErrorKind::Protected { protected, .. }, .. }) = &answer {
                    prop_assert_ne!(related(protected), Some(false), "{} by {}", path, protected);
                }
                if answer.is_ok() {
                    prop_assert!(!relations.contains(&Some(true)), "{} {:?}", path, protected);
                }
                codes.push(answer.map_or_else(|error| kind(&error), |()| "ok"));
                let after: Vec<_> = protected.iter().map(|path| observed(&root_path, path)).collect();
                prop_assert_eq!(&after, &before, "{} changed a protected path", path);
            }
            prop_assert_eq!(codes[0], codes[1], "the resolvers disagree about {}", path);
        }
        prop_assert!(tree.leftovers().is_empty());
    }
}
