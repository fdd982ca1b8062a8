//! Git's own directories: nothing in them is changed, and nothing becomes one.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::convert::Infallible;
use std::path::PathBuf;

use support::{NEVER, RESOLVERS, Tree, snapshot};
use toolwright_fs::{
    Change, ChangeLimits, ChangeSet, Deletable, FileChange, FsError, FsErrorKind, GitBorder,
    GitRule, Place, Placed, Root, Roots, UpdateError, WriteOptions, create, delete, rename, update,
    write,
};

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
