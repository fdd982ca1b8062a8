//! No calls make a directory that git takes for its own: random sequences of them, and many at once.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;

use proptest::prelude::*;
use support::{NEVER, Tree, tenth_of};
use toolwright_fs::{
    Change, ChangeLimits, ChangeSet, Deletable, FileChange, FsError, GitBorder, Place, Root,
    UpdateError, WriteOptions, create, delete, rename, update, write,
};
use toolwright_git::name::{Mark, is_git_directory_name, makes_git_directory};

const CREATE: Change<'_> = Change::Create { mode: None };

fn closed() -> WriteOptions {
    WriteOptions { git: GitBorder::Closed, ..WriteOptions::default() }
}

fn only_fs<T>(answer: Result<T, UpdateError<Infallible>>) -> Result<T, FsError> {
    answer.map_err(|error| match error {
        UpdateError::Fs(error) => error,
        UpdateError::Refused(never) => match never {},
    })
}

fn edit(root: &Root, path: &str) -> Result<(), FsError> {
    only_fs(update(root, path, 1000, &closed(), &NEVER, |_| Ok(b"edited".to_vec()))).map(drop)
}

fn run(root: &Root, changes: &[FileChange<'_>]) -> Result<(), FsError> {
    let set = ChangeSet { root, changes, emptied: &[], limits: ChangeLimits::default() };
    let content = |index: usize| match changes[index].change {
        Change::Create { .. } => HEAD.to_vec(),
        _ => Vec::new(),
    };
    only_fs(set.run(&closed(), &NEVER, |index, _| Ok(content(index)))).map(drop)
}

fn at<'a>(path: &'a str, change: Change<'a>) -> FileChange<'a> {
    FileChange { place: Place::Path(path), change }
}

fn moved<'a>(from: &'a str, to: &'a str) -> FileChange<'a> {
    at(from, Change::Move { to: Place::Path(to) })
}

/// What makes a file a valid `HEAD`.
const HEAD: &[u8] = b"ref: refs/heads/main\n";

fn tree() -> Tree {
    let tree = Tree::new();
    tree.put("src/file", "text");
    tree
}

/// Whether a directory has what git looks for, whatever it is.
fn is_git_directory(directory: &Path) -> bool {
    let has = |mark: Mark| directory.join(mark.name()).symlink_metadata().is_ok();
    makes_git_directory(|mark| Ok::<_, Infallible>(has(mark))).unwrap()
}

/// All directories of a tree, and whether git takes one of them for its own by its entries or its name.
fn directories_without_git(tree: &Tree) -> Result<Vec<PathBuf>, String> {
    let mut all = vec![tree.root.clone()];
    for name in tree.listing() {
        let path = tree.root.join(&name);
        if is_git_directory_name(path.file_name().unwrap().as_encoded_bytes()) {
            return Err(name);
        }
        if path.symlink_metadata().unwrap().is_dir() {
            all.push(path);
        }
    }
    match all.iter().find(|path| is_git_directory(path)) {
        Some(path) => Err(format!("{} is a repository", path.display())),
        None => Ok(all),
    }
}

/// A hundred calls at once, each of which gives a part.
#[test]
fn calls_at_the_same_time_make_no_repository() {
    for round in 0..tenth_of(200) {
        let tree = tree();
        tree.put("a", "x");
        let parts = ["z/HEAD", "z/objects/x", "z/refs/x", "z/commondir", "z/objects", "z/refs"];
        let barrier = Barrier::new(20);
        std::thread::scope(|scope| {
            for caller in 0..20 {
                let (tree, barrier) = (&tree, &barrier);
                scope.spawn(move || {
                    let root = tree.open();
                    barrier.wait();
                    for call in 0..5 {
                        let path = parts[(caller + call + round) % parts.len()];
                        let _ = match (caller + call) % 4 {
                            0 => write(&root, path, HEAD, &closed(), &NEVER),
                            1 => create(&root, path, HEAD, &closed(), &NEVER).map(drop),
                            2 => run(&root, &[at(path, CREATE)]),
                            _ => run(&root, &[at(path, CREATE), at("z/x/HEAD", CREATE)]),
                        };
                        assert!(!is_git_directory(&tree.root.join("z")), "round {round}");
                    }
                });
            }
        });
        directories_without_git(&tree).unwrap();
        assert!(tree.root.join("z").exists());
        assert!(tree.leftovers().is_empty(), "{:?}", tree.leftovers());
    }
}

/// A call of a random sequence. Paths are of an alphabet in which parts of repositories are usual.
#[derive(Debug, Clone)]
enum Call {
    Write(String),
    Create(String),
    Edit(String),
    Delete(String),
    Rename(String, String),
    Set(Vec<(String, Option<String>)>),
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        3 => Just("z"),
        2 => Just("y"),
        4 => Just("HEAD"),
        4 => Just("objects"),
        4 => Just("refs"),
        2 => Just("commondir"),
        1 => prop::sample::select(vec!["config", "head", "REFS", "HEAD.", "..", ".", ".git", ".GIT", "git~1", "hooks"]),
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => path().prop_map(Call::Write),
        2 => path().prop_map(Call::Create),
        1 => path().prop_map(Call::Edit),
        1 => path().prop_map(Call::Delete),
        3 => (path(), path()).prop_map(|(from, to)| Call::Rename(from, to)),
        3 => prop::collection::vec((path(), prop::option::of(path())), 1..5).prop_map(Call::Set),
    ]
}

fn make(root: &Root, call: &Call) -> Result<(), FsError> {
    match call {
        Call::Write(path) => write(root, path, HEAD, &closed(), &NEVER),
        Call::Create(path) => create(root, path, HEAD, &closed(), &NEVER).map(drop),
        Call::Edit(path) => edit(root, path),
        Call::Delete(path) => delete(root, path, Deletable::Trees, &closed(), &NEVER),
        Call::Rename(from, to) => rename(root, from, to, &closed(), &NEVER).map(drop),
        Call::Set(files) => {
            let change = |(path, to): &'_ (String, Option<String>)| match to {
                None => FileChange { place: Place::Path(leak(path)), change: CREATE },
                Some(to) => moved(leak(path), leak(to)),
            };
            run(root, &files.iter().map(change).collect::<Vec<_>>())
        }
    }
}

fn leak(text: &str) -> &'static str {
    text.to_owned().leak()
}

/// Whether git itself takes a directory for its own; no, where there is no git.
fn git_takes(directory: &Path, base: &Path) -> bool {
    let git = Command::new("git")
        .args(["rev-parse", "--git-dir"])
        .current_dir(directory)
        .env("GIT_CEILING_DIRECTORIES", base)
        .env("HOME", base)
        .output();
    git.is_ok_and(|output| output.status.success())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: u32::try_from(tenth_of(300)).unwrap(),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_sequence_of_calls_makes_a_repository(calls in prop::collection::vec(call(), 1..40), asks in 0..8_u32) {
        let tree = tree();
        let base = tree.base.path().canonicalize().unwrap();
        let root = tree.open();
        let mut directories = Vec::new();
        for one in &calls {
            let _ = make(&root, one);
            directories = directories_without_git(&tree).map_err(|found| {
                TestCaseError::fail(format!("{one:?} made {found}"))
            })?;
        }
        // Asking takes some milliseconds.
        if asks == 0 {
            for directory in &directories {
                prop_assert!(!git_takes(directory, &base), "{} is git's", directory.display());
            }
        }
        prop_assert!(tree.leftovers().is_empty());
    }
}
