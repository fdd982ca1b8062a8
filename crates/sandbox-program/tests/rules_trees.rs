//! Readable files under the rules, for any tree and any closed paths in it.
#![cfg(target_os = "linux")]

#[path = "rules/child.rs"]
mod child;
#[path = "rules/plans.rs"]
mod plans;
#[path = "rules/user.rs"]
mod user;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

use child::users;
use plans::{give, plan, tree};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox_program::rules::prepare;
use user::as_user;

fn can_read(path: &Path) -> bool {
    match fs::read(path) {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => false,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

fn cases() -> u32 {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|f| f.parse().ok());
    80 * factor.unwrap_or(1)
}

/// A path of up to four names out of three, so that paths meet often.
fn path() -> impl Strategy<Value = PathBuf> {
    let name = prop_oneof![Just("a"), Just("b"), Just("c")];
    proptest::collection::vec(name, 1..5).prop_map(|names| names.into_iter().collect())
}

#[derive(Debug, Clone)]
struct Case {
    files: Vec<PathBuf>,
    links: Vec<(PathBuf, PathBuf)>,
    closed: Vec<Index>,
    readable: Vec<Index>,
    writable: Vec<Index>,
}

fn case() -> impl Strategy<Value = Case> {
    use proptest::collection::vec;
    (
        vec(path(), 1..24),
        vec((path(), path()), 0..4),
        vec(any::<Index>(), 0..5),
        vec(any::<Index>(), 0..4),
        vec(any::<Index>(), 0..2),
    )
        .prop_map(|(files, links, closed, readable, writable)| Case {
            files,
            links,
            closed,
            readable,
            writable,
        })
}

/// Every directory and file below, without following links.
fn below(dir: &Path) -> Vec<PathBuf> {
    let mut directories = vec![dir.to_owned()];
    let mut next = 0;
    while let Some(path) = directories.get(next).cloned() {
        next += 1;
        if !path.is_symlink() && path.is_dir() {
            let entries = fs::read_dir(&path).expect("directory");
            let entries = entries.map(|entry| entry.expect("entry").path());
            directories.extend(entries.filter(|path| !path.is_symlink()));
        }
    }
    directories
}

/// The meaning of the rules: everything below a writable path is readable; elsewhere the deepest
/// rule above a path decides.
fn is_readable(path: &Path, plan: &Plan) -> bool {
    if plan.writable.iter().any(|writable| path.starts_with(writable)) {
        return true;
    }
    let deepest = |paths: &[PathBuf]| {
        paths
            .iter()
            .filter(|rule| path.starts_with(rule))
            .map(|rule| rule.components().count())
            .max()
    };
    deepest(&plan.closed) <= deepest(&plan.readable)
}

#[test]
fn readability_is_as_specified_for_any_tree() {
    for user in users() {
        let mut runner = TestRunner::new(Config {
            cases: cases(),
            failure_persistence: None,
            ..Config::default()
        });
        let result = runner.run(&case(), |case| {
            let (_keep, dir) = tree();
            for file in &case.files {
                let path = dir.join(file);
                let _ = fs::create_dir_all(path.parent().expect("directory"));
                let _ = fs::write(&path, "content");
            }
            let all = below(&dir);
            for (link, target) in &case.links {
                let _ = symlink(dir.join(target), dir.join(link));
            }
            give(&dir, user);
            let pick = |from: &[Index]| -> Vec<PathBuf> {
                from.iter().map(|index| index.get(&all).clone()).collect()
            };
            let mut plan = plan(&dir);
            plan.closed = pick(&case.closed);
            plan.readable = pick(&case.readable);
            plan.writable = pick(&case.writable);
            as_user(user, || {
                let rules = prepare(&plan, false, false, &[]);
                rules.restrict_self().expect("restricted");
                assert_eq!(rules.left_out, 0);
                for path in all.iter().filter(|path| path.is_file()) {
                    assert_eq!(can_read(path), is_readable(path, &plan), "{}", path.display());
                }
                // A link is as readable as its target.
                for (link, _) in &case.links {
                    if let Ok(target) = dir.join(link).canonicalize()
                        && target.is_file()
                    {
                        assert_eq!(can_read(&dir.join(link)), is_readable(&target, &plan));
                    }
                }
            });
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{error}"));
    }
}
