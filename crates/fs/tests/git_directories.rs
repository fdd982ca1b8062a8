//! Git's own directories: nothing in them is changed, and nothing becomes one.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;

use proptest::prelude::*;
use support::{NEVER, RESOLVERS, Tree, snapshot, tenth_of};
use toolwright_fs::{
    Change, ChangeLimits, ChangeSet, Deletable, FileChange, FsError, FsErrorKind, GitBorder,
    GitRule, Place, Placed, Root, Roots, UpdateError, WriteOptions, create, delete, rename, update,
    write,
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

/// The rule by which a call was refused; `None` if it was done, or failed for another reason.
fn rule<T>(answer: Result<T, FsError>) -> Option<GitRule> {
    match answer.err()?.kind {
        FsErrorKind::Git { rule } => Some(rule),
        _ => None,
    }
}

/// Every way to change what is at a path.
fn every_way(root: &Root, path: &str) -> Vec<(&'static str, Result<(), FsError>)> {
    let placed = |answer: Result<Placed, FsError>| answer.map(drop);
    vec![
        ("write", write(root, path, HEAD, &closed(), &NEVER)),
        ("create", placed(create(root, path, HEAD, &closed(), &NEVER))),
        ("move to", placed(rename(root, "src/file", path, &closed(), &NEVER))),
        ("add", run(root, &[at(path, CREATE)])),
        ("move a file to", run(root, &[moved("src/file", path)])),
        ("edit", edit(root, path)),
        ("delete", delete(root, path, Deletable::Trees, &closed(), &NEVER)),
        ("move", placed(rename(root, path, "elsewhere", &closed(), &NEVER))),
        ("delete a file", run(root, &[at(path, Change::Delete)])),
        ("move a file", run(root, &[moved(path, "elsewhere")])),
    ]
}

/// Every way is refused that comes as far as the path, and nothing is changed.
#[track_caller]
fn refused(tree: &Tree, path: &str, by: GitRule) {
    let before = snapshot(tree.base.path());
    for resolver in RESOLVERS {
        let root = Root::open_with(&tree.root, resolver).unwrap();
        let mut refused = 0;
        for (way, answer) in every_way(&root, path) {
            match answer {
                Err(FsError { kind: FsErrorKind::Git { rule }, .. }) => {
                    assert_eq!(rule, by, "{resolver:?}: {way} {path}");
                    refused += 1;
                }
                // There is nothing to change or to move away, or something is there already.
                Err(FsError {
                    kind: FsErrorKind::NotFound | FsErrorKind::Exists | FsErrorKind::NotAFile { .. },
                    ..
                }) => {}
                other => panic!("{resolver:?}: {way} {path}: {other:?}"),
            }
            assert_eq!(snapshot(tree.base.path()), before, "{resolver:?}: {way} {path}");
        }
        assert!(refused >= 5, "{resolver:?}: {path} was refused {refused} times");
    }
}

fn tree() -> Tree {
    let tree = Tree::new();
    tree.put("src/file", "text");
    tree
}

#[test]
fn no_spelling_of_the_name_is_written() {
    let tree = tree();
    for name in [
        ".git",
        ".GIT",
        "git~1",
        ".git.",
        ".git ",
        ".git::$INDEX_ALLOCATION",
        ".g\u{200c}it",
        ".gi\u{ad}t",
        "x\\.git",
    ] {
        for path in
            [format!("{name}/x"), format!("a/{name}/hooks/x"), format!("src/{name}"), name.into()]
        {
            refused(&tree, &path, GitRule::Name);
        }
    }
    tree.put(".git/info/exclude", "x");
    tree.put("deep/er/.GIT/config", "x");
    tree.link(".git", "innocent");
    for path in [
        ".git",
        ".git/info/exclude",
        ".git/info/new",
        "innocent/info/exclude",
        "deep/er/.GIT/config",
    ] {
        refused(&tree, path, GitRule::Name);
    }
    for path in ["deep", "deep/er"] {
        let root = tree.open();
        let deleted = delete(&root, path, Deletable::Trees, &closed(), &NEVER);
        assert_eq!(rule(deleted), Some(GitRule::Around));
        assert_eq!(rule(rename(&root, path, "other", &closed(), &NEVER)), Some(GitRule::Around));
    }
    // Names that look alike, reading, and everything where the host opens it.
    let root = tree.open();
    for path in [".gitignore", ".github/x", "git/hooks/x", "a.git/x"] {
        write(&root, path, b"x", &closed(), &NEVER).unwrap();
    }
    assert_eq!(toolwright_fs::read(&root, ".git/info/exclude", 10, &NEVER).unwrap(), b"x");
    write(&root, ".git/info/exclude", b"y", &WriteOptions::default(), &NEVER).unwrap();
}

/// The entries that make a repository, but for one that is a file with this path.
const ALMOST: [(&[&str], &str); 6] = [
    (&["objects/x", "refs/x"], "HEAD"),
    (&["HEAD", "refs/x"], "objects/info/x"),
    (&["HEAD", "refs"], "objects"),
    (&["HEAD", "objects/x"], "refs/heads/x"),
    (&["commondir"], "HEAD"),
    (&["HEAD"], "commondir"),
];

#[test]
fn no_write_completes_a_repository() {
    for below in ["", "z/", "z/y/"] {
        for (there, last) in ALMOST {
            let tree = tree();
            for path in there {
                tree.put(&format!("{below}{path}"), HEAD);
            }
            refused(&tree, &format!("{below}{last}"), GitRule::Completes);
            // Others are written there as everywhere.
            let root = tree.open();
            write(&root, &format!("{below}x"), b"x", &closed(), &NEVER).unwrap();
            write(&root, &format!("{below}{}.md", last.replace('/', "-")), b"x", &closed(), &NEVER)
                .unwrap();
        }
    }
}

#[test]
fn directories_that_are_moved_complete_none_either() {
    let tree = tree();
    for path in ["z/HEAD", "z/refs/x", "other/x"] {
        tree.put(path, HEAD);
    }
    let root = tree.open();
    let moved = rename(&root, "other", "z/objects", &closed(), &NEVER);
    assert_eq!(rule(moved), Some(GitRule::Completes));
    let moved = rename(&root, "other", "z/new/objects", &closed(), &NEVER);
    assert_eq!(moved.unwrap(), Placed::Done);
}

#[test]
fn nothing_in_a_repository_of_any_name_is_changed() {
    let tree = tree();
    for path in [
        "store/HEAD",
        "store/objects/x",
        "store/refs/x",
        "store/config",
        "way/commondir",
        "way/HEAD",
    ] {
        tree.put(path, HEAD);
    }
    tree.link("store", "link");
    for path in [
        "store/config",
        "store/HEAD",
        "store/new",
        "store/hooks/pre-commit",
        "store/deep/er/new",
        "link/config",
        "way/config.worktree",
    ] {
        refused(&tree, path, GitRule::Below);
    }
    let deleted = delete(&tree.open(), "store", Deletable::Trees, &closed(), &NEVER);
    assert_eq!(rule(deleted), Some(GitRule::Around));
    // The root itself.
    let tree = self::tree();
    for path in ["HEAD", "objects/x", "refs/x"] {
        tree.put(path, HEAD);
    }
    refused(&tree, "src/new", GitRule::Below);
}

#[test]
fn one_patch_makes_no_repository() {
    let add = |path| at(path, CREATE);
    let sets: [&[FileChange<'_>]; 5] = [
        &[add("z/HEAD"), add("z/objects/info/x"), add("z/refs/heads/x"), add("z/config")],
        &[add("z/refs/x"), add("z/objects"), add("z/config"), add("z/HEAD")],
        &[add("HEAD"), add("commondir"), add("config.worktree")],
        &[moved("src/file", "src/HEAD"), add("src/refs/x"), add("src/objects/x")],
        &[moved("src/file", "new/commondir"), add("new/HEAD")],
    ];
    for set in sets {
        let tree = tree();
        let before = snapshot(tree.base.path());
        assert_eq!(rule(run(&tree.open(), set)), Some(GitRule::Completes));
        assert_eq!(snapshot(tree.base.path()), before);
    }
    let tree = tree();
    run(&tree.open(), &[add("z/HEAD"), add("z/objects/x"), add("y/refs/x")]).unwrap();
}

/// What was opened before is judged again when it is written.
#[test]
fn what_was_opened_before_is_judged_when_it_is_written() {
    let tree = tree();
    tree.put("z/refs/x", "x");
    let roots = Roots::open(std::slice::from_ref(&tree.root), &[PathBuf::from("/")]).unwrap();
    let open = |path: &str| roots.open_target(path).unwrap();
    let check = |path: &str| roots.check_protected(&mut open(path), &[], GitBorder::Closed);
    let absolute = tree.outside.join("sub/.git/config");
    for path in [".git/x", "a/.GIT/hooks/x", absolute.to_str().unwrap()] {
        assert_eq!(rule(check(path)), Some(GitRule::Name), "{path}");
    }
    let (head, objects) = (open("z/HEAD"), open("z/objects/x"));
    check("z/HEAD").unwrap();
    assert!(head.write(HEAD, &closed(), &NEVER).unwrap());
    assert_eq!(rule(objects.write(b"x", &closed(), &NEVER)), Some(GitRule::Completes));
    assert_eq!(rule(check("z/objects/x")), Some(GitRule::Completes));
    let file = open("z/refs/x");
    tree.put("z/objects/x", "x");
    let edited = file.update(100, &closed(), &NEVER, |_| Ok::<_, Infallible>(b"y".to_vec()));
    assert_eq!(rule(only_fs(edited)), Some(GitRule::Below));
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
