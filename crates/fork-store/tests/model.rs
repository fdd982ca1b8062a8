//! Random programs over a fork and its base, against a model.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use support::{Place, tree};
use toolwright_fork_store::Apply;

const FILES: [&str; 6] = ["a", "b", "d/a", "d/b", "d/e/a", "n/x"];
const DIRECTORIES: [&str; 3] = ["d", "d/e", "n"];

#[derive(Debug, Clone)]
enum Op {
    Write(usize, u8),
    /// A new file takes the place of the old one, as editors do it.
    Replace(usize, u8),
    Append(usize),
    Remove(usize),
    RemoveTree(usize),
    Make(usize),
    Rename(usize, usize),
}

fn op() -> impl Strategy<Value = Op> {
    let (file, directory) = (0..FILES.len(), 0..DIRECTORIES.len());
    prop_oneof![
        (file.clone(), any::<u8>()).prop_map(|(file, content)| Op::Write(file, content)),
        (file.clone(), any::<u8>()).prop_map(|(file, content)| Op::Replace(file, content)),
        file.clone().prop_map(Op::Append),
        file.clone().prop_map(Op::Remove),
        directory.clone().prop_map(Op::RemoveTree),
        directory.prop_map(Op::Make),
        (file.clone(), file).prop_map(|(from, to)| Op::Rename(from, to)),
    ]
}

impl Op {
    /// Makes it, and returns the paths that it may have changed.
    fn make(&self, root: &Path) -> Vec<PathBuf> {
        let at = |path: &str| root.join(path);
        let with_parent = |path: &str| {
            let path = at(path);
            path.parent().is_some_and(|parent| fs::create_dir_all(parent).is_ok()).then_some(path)
        };
        match *self {
            Self::Write(file, content) => {
                let Some(path) = with_parent(FILES[file]) else { return Vec::new() };
                fs::write(path, content.to_string()).map(|()| vec![FILES[file].into()])
            }
            Self::Replace(file, content) => {
                let Some(path) = with_parent(FILES[file]) else { return Vec::new() };
                let new = path.with_extension("new");
                fs::write(&new, content.to_string())
                    .and_then(|()| fs::rename(&new, path))
                    .map(|()| vec![FILES[file].into()])
            }
            Self::Append(file) => {
                let old = fs::read_to_string(at(FILES[file]));
                old.and_then(|old| fs::write(at(FILES[file]), old + "+"))
                    .map(|()| vec![FILES[file].into()])
            }
            Self::Remove(file) => {
                fs::remove_file(at(FILES[file])).map(|()| vec![FILES[file].into()])
            }
            Self::RemoveTree(directory) => {
                let below = tree(&at(DIRECTORIES[directory])).into_keys();
                let below: Vec<_> =
                    below.map(|path| Path::new(DIRECTORIES[directory]).join(path)).collect();
                // It may fail half way, at what the base has removed meanwhile.
                let _ = fs::remove_dir_all(at(DIRECTORIES[directory]));
                let is_gone = |path: &PathBuf| fs::symlink_metadata(root.join(path)).is_err();
                Ok(below.into_iter().filter(is_gone).collect())
            }
            Self::Make(directory) => {
                fs::create_dir_all(at(DIRECTORIES[directory])).map(|()| Vec::new())
            }
            Self::Rename(from, to) if from != to => {
                let Some(path) = with_parent(FILES[to]) else { return Vec::new() };
                fs::rename(at(FILES[from]), path)
                    .map(|()| vec![FILES[from].into(), FILES[to].into()])
            }
            Self::Rename(..) => Ok(Vec::new()),
        }
        .unwrap_or_default()
    }
}

fn files(root: &Path) -> std::collections::BTreeMap<PathBuf, String> {
    let mut files = tree(root);
    files.retain(|_, content| content != "/");
    files
}

/// A hundredth of the acceptance count, unless `TOOLWRIGHT_SOAK_FACTOR=100` asks for all of it.
fn cases() -> u32 {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok();
    100 * factor.and_then(|factor| factor.parse().ok()).unwrap_or(1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn applying_is_what_the_fork_did_or_nothing(
        steps in prop::collection::vec((any::<bool>(), op()), 1..12),
        is_base_quiet in any::<bool>(),
    ) {
        let Some(place) = Place::new(&[("a", "a0"), ("d/a", "da0"), ("d/e/a", "dea0"), ("kept", "k")])
        else {
            return Ok(());
        };
        let then = files(&place.base);
        let (open, fork) = place.fork();
        let (mut by_fork, mut by_base) = (BTreeSet::new(), BTreeSet::new());
        for (is_base, op) in &steps {
            if *is_base && !is_base_quiet {
                by_base.extend(op.make(&place.base));
            } else {
                for path in op.make(&fork) {
                    let is_there = |root: &Path| fs::symlink_metadata(root.join(&path)).is_ok();
                    // What is in neither of them leaves no trace, whatever the base makes there later.
                    if is_there(&fork) || is_there(&place.base) {
                        by_fork.insert(path);
                    } else {
                        by_fork.remove(&path);
                    }
                }
            }
        }
        let (base, mut seen) = (files(&place.base), files(&fork));
        // Below a directory that the base has removed, the kernel no longer shows what the fork has written. It is there.
        let upper = place.store.path().join(open.fork().id()).join("upper");
        for path in FILES {
            if let Ok(content) = fs::read_to_string(upper.join(path)) {
                seen.insert(path.into(), content);
            }
        }
        // What the base has moved keeps the kernel's inode, and a rename onto it in the fork does nothing.
        by_fork.retain(|path| {
            !seen.contains_key(path) || fs::symlink_metadata(upper.join(path)).is_ok()
        });
        // What one side has made and removed again it has not changed.
        by_fork.retain(|path| then.contains_key(path) || seen.contains_key(path));
        by_base.retain(|path| then.contains_key(path) || base.contains_key(path));
        // Where both have changed a path and do not agree.
        let conflicts: BTreeSet<_> = by_fork
            .intersection(&by_base)
            .filter(|path| base.get(*path) != seen.get(*path))
            .cloned()
            .collect();
        let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
        let told: BTreeSet<_> = applied.conflicts.iter().map(|it| it.path.clone()).collect();
        prop_assert!(conflicts.is_subset(&told), "{conflicts:?} {told:?}");
        let after = files(&place.base);
        if told.is_empty() {
            let mut expected = base.clone();
            for path in &by_fork {
                match seen.get(path) {
                    Some(content) => expected.insert(path.clone(), content.clone()),
                    None => expected.remove(path),
                };
            }
            prop_assert_eq!(after, expected);
            let left = open.fork().changes().unwrap();
            prop_assert_eq!(left.changes, Vec::new());
        } else {
            prop_assert_eq!(after, base);
            // No change of the base, no conflict.
            prop_assert!(!is_base_quiet && steps.iter().any(|(is_base, _)| *is_base));
        }
    }
}
