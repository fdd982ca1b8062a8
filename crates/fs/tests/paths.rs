//! Which paths are inside the root, for both resolvers.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use support::{NEVER, RESOLVERS, Tree, kind};
use toolwright_fs::{FileKind, FsError, FsErrorKind, Root, WriteOptions, read, write};

fn read_text(root: &Root, path: &str) -> Result<String, FsError> {
    read(root, path, 1 << 20, &NEVER).map(|bytes| String::from_utf8(bytes).unwrap())
}

fn populated() -> Tree {
    let tree = Tree::new();
    tree.put("a/b/file", "inside");
    tree.link("a/b", "relative");
    tree.link(tree.root.join("a"), "absolute");
    tree.link("../b/file", "a/link-file-up");
    tree.link("b/file", "a/link-file");
    tree.link(&tree.outside, "out");
    tree.link("../outside", "out-relative");
    tree.link(tree.outside.join("secret"), "out-file");
    tree.link(tree.outside.join("missing"), "out-dangling");
    tree.link("../outside/../root/a", "out-and-back");
    tree.link("missing-inside", "dangling");
    tree.link("loop-b", "loop-a");
    tree.link("loop-a", "loop-b");
    tree
}

#[test]
fn paths_inside_are_read_in_every_spelling() {
    let tree = populated();
    let link_to_root = tree.base.path().join("link-to-root");
    std::os::unix::fs::symlink(&tree.root, &link_to_root).unwrap();
    for resolver in RESOLVERS {
        for root_path in [&tree.root, &link_to_root] {
            let root = Root::open_with(root_path, resolver).unwrap();
            let spellings = [
                "a/b/file".to_owned(),
                "./a//b/./file".to_owned(),
                "a/b/../b/file".to_owned(),
                "relative/file".to_owned(),
                "relative/../b/file".to_owned(),
                "absolute/b/file".to_owned(),
                "a/link-file".to_owned(),
                format!("{}/a/b/file", tree.root.display()),
                format!("{}/a/b/file", root_path.display()),
                format!("{}//relative/./file", root_path.display()),
            ];
            for path in spellings {
                assert_eq!(read_text(&root, &path).unwrap(), "inside", "{resolver:?} {path}");
            }
        }
    }
}

#[test]
fn a_root_of_slash_holds_everything() {
    let tree = populated();
    for resolver in RESOLVERS {
        let root = Root::open_with(Path::new("/"), resolver).unwrap();
        let absolute = format!("{}/a/b/file", tree.root.display());
        assert_eq!(read_text(&root, &absolute).unwrap(), "inside");
        assert_eq!(read_text(&root, absolute.trim_start_matches('/')).unwrap(), "inside");
        assert!(matches!(
            read_text(&root, "../etc/hostname"),
            Err(FsError { kind: FsErrorKind::Escape { .. }, .. })
        ));
    }
}

#[test]
fn paths_that_leave_are_refused_also_when_they_come_back() {
    let tree = populated();
    let name = tree.root.file_name().unwrap().to_str().unwrap();
    for resolver in RESOLVERS {
        let root = Root::open_with(&tree.root, resolver).unwrap();
        let by_text = [
            "..".to_owned(),
            "../outside/secret".to_owned(),
            format!("../{name}/a/b/file"),
            "a/../../outside/secret".to_owned(),
            "/etc/hostname".to_owned(),
            format!("{}/../{name}/a/b/file", tree.root.display()),
            format!("{}x/a", tree.root.display()),
        ];
        for path in by_text {
            let error = read_text(&root, &path).unwrap_err();
            assert!(
                matches!(error, FsError { kind: FsErrorKind::Escape { via_link: false, .. }, .. }),
                "{path}: {error:?}"
            );
            assert!(error.to_string().starts_with("Path escapes sandbox root: "), "{error}");
        }
        let by_link = [
            "out/secret",
            "out-relative/secret",
            "out-file",
            "out-dangling",
            "out-and-back/b/file",
            "out/missing",
        ];
        for path in by_link {
            let error = read_text(&root, path).unwrap_err();
            assert!(
                matches!(error, FsError { kind: FsErrorKind::Escape { via_link: true, .. }, .. }),
                "{path}: {error:?}"
            );
            let error = write(&root, path, b"x", &WriteOptions::default(), &NEVER).unwrap_err();
            assert!(
                matches!(error, FsError { kind: FsErrorKind::Escape { via_link: true, .. }, .. }),
                "{path}: {error:?}"
            );
        }
    }
    assert_eq!(std::fs::read_dir(&tree.outside).unwrap().count(), 1, "nothing was created outside");
}

#[test]
fn a_dangling_link_that_stays_inside_creates_its_target() {
    for resolver in RESOLVERS {
        let tree = populated();
        let root = Root::open_with(&tree.root, resolver).unwrap();
        write(&root, "dangling", b"new", &WriteOptions::default(), &NEVER).unwrap();
        assert_eq!(tree.get("missing-inside"), b"new");
        assert!(tree.root.join("dangling").symlink_metadata().unwrap().is_symlink());
    }
}

#[test]
fn loops_end() {
    let tree = populated();
    for resolver in RESOLVERS {
        let root = Root::open_with(&tree.root, resolver).unwrap();
        let error = read_text(&root, "loop-a").unwrap_err();
        assert!(
            matches!(error, FsError { kind: FsErrorKind::PathInvalid { .. }, .. }),
            "{error:?}"
        );
    }
}

#[test]
fn only_regular_files_and_at_once() {
    let tree = populated();
    rustix_mkfifo(&tree.root.join("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(tree.root.join("socket")).unwrap();
    for resolver in RESOLVERS {
        let root = Root::open_with(&tree.root, resolver).unwrap();
        let device = Root::open_with(Path::new("/dev"), resolver).unwrap();
        let cases = [
            (&root, "fifo", FileKind::Fifo),
            (&root, "socket", FileKind::Socket),
            (&root, "a", FileKind::Directory),
            (&root, "a/", FileKind::Directory),
            (&root, ".", FileKind::Directory),
            (&root, "a/..", FileKind::Directory),
            (&device, "null", FileKind::Device),
        ];
        for (root, path, want) in cases {
            for error in [
                read_text(root, path).unwrap_err(),
                write(root, path, b"x", &WriteOptions::default(), &NEVER).unwrap_err(),
            ] {
                let FsError { kind: FsErrorKind::NotAFile { kind, .. }, .. } = error else {
                    panic!("{path}: {error:?}")
                };
                assert_eq!(kind, want, "{path}");
            }
        }
    }
}

fn rustix_mkfifo(path: &Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success());
}

#[test]
fn missing_and_misused_paths_are_told_apart() {
    let tree = populated();
    for resolver in RESOLVERS {
        let root = Root::open_with(&tree.root, resolver).unwrap();
        assert!(matches!(
            read_text(&root, "nope"),
            Err(FsError { kind: FsErrorKind::NotFound, .. })
        ));
        assert!(matches!(
            read_text(&root, "nope/deeper"),
            Err(FsError { kind: FsErrorKind::NotFound, .. })
        ));
        assert!(matches!(
            read_text(&root, "a/b/file/deeper"),
            Err(FsError { kind: FsErrorKind::NotADirectory, .. })
        ));
        assert!(matches!(
            read_text(&root, "a/b/file/"),
            Err(FsError { kind: FsErrorKind::NotADirectory, .. })
        ));
        for invalid in ["", "a\0b", &"n".repeat(300), &"d/".repeat(3000)] {
            assert!(matches!(
                read_text(&root, invalid),
                Err(FsError { kind: FsErrorKind::PathInvalid { .. }, .. })
            ));
        }
    }
    assert!(matches!(
        Root::open(Path::new("relative")),
        Err(FsError { kind: FsErrorKind::Root { .. }, .. })
    ));
    assert!(matches!(
        Root::open(&tree.root.join("nope")),
        Err(FsError { kind: FsErrorKind::Root { .. }, .. })
    ));
    assert!(matches!(
        Root::open(&tree.root.join("a/b/file")),
        Err(FsError { kind: FsErrorKind::Root { .. }, .. })
    ));
}

#[test]
fn a_vanished_root_is_a_typed_error() {
    let tree = populated();
    let root = tree.open();
    std::fs::remove_dir_all(&tree.root).unwrap();
    assert!(matches!(
        read_text(&root, "a/b/file"),
        Err(FsError { kind: FsErrorKind::NotFound, .. })
    ));
    let error = write(&root, "new/file", b"x", &WriteOptions::default(), &NEVER).unwrap_err();
    assert!(matches!(error, FsError { kind: FsErrorKind::NotFound, .. }), "{error:?}");
    assert!(matches!(Root::open(&tree.root), Err(FsError { kind: FsErrorKind::Root { .. }, .. })));
}

#[test]
fn directories_are_opened_inside_only() {
    let tree = populated();
    for resolver in RESOLVERS {
        let root = Root::open_with(&tree.root, resolver).unwrap();
        for path in ["a", "a/b/..", "relative", "absolute/b", ".", tree.root.to_str().unwrap()] {
            root.open_directory(path).unwrap();
        }
        assert!(matches!(
            root.open_directory("out"),
            Err(FsError { kind: FsErrorKind::Escape { .. }, .. })
        ));
        assert!(matches!(
            root.open_directory("a/b/file"),
            Err(FsError { kind: FsErrorKind::NotADirectory, .. })
        ));
        assert!(matches!(
            root.open_directory("nope"),
            Err(FsError { kind: FsErrorKind::NotFound, .. })
        ));
    }
}

/// One change to a tree. The alphabet is tiny, so that names meet.
#[derive(Debug, Clone)]
enum Change {
    Directory(String),
    File(String),
    Link(String, String),
}

fn relative_path() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![3 => Just("a"), 3 => Just("b"), 2 => Just(".."), 1 => Just("."), 1 => Just("")],
        1..6,
    )
    .prop_map(|parts| parts.join("/"))
    .prop_filter("relative", |path| !path.starts_with('/'))
}

fn any_target() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => relative_path(),
        2 => relative_path().prop_map(|path| format!("ROOT/{path}")),
        1 => relative_path().prop_map(|path| format!("ROOT/../outside/{path}")),
        1 => Just("/".to_owned()),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        relative_path().prop_map(Change::Directory),
        relative_path().prop_map(Change::File),
        (relative_path(), any_target()).prop_map(|(path, target)| Change::Link(path, target)),
    ]
}

fn filled(spelled: &str, root: &Path) -> String {
    spelled.replace("ROOT", root.to_str().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: u32::try_from(support::tenth_of(4_000)).unwrap(),
        ..ProptestConfig::default()
    })]

    /// Whatever the tree looks like, a read stays inside (every file outside would reveal itself),
    /// both resolvers agree, and nothing is ever created outside.
    #[test]
    fn a_resolved_path_is_always_inside(
        changes in proptest::collection::vec(change(), 0..12),
        path in any_target(),
    ) {
        let tree = Tree::new();
        for name in ["a", "b"] {
            std::fs::create_dir(tree.outside.join(name)).unwrap();
            std::fs::write(tree.outside.join(name).join("a"), "OUTSIDE").unwrap();
        }
        let before = snapshot(&tree.outside);
        for change in changes {
            // Applied with plain system calls, many of which fail. Those that a link would lead
            // outside are left out, so that only a bug changes `outside`.
            let path = match &change {
                Change::Directory(path) | Change::File(path) | Change::Link(path, _) => path,
            };
            let full = tree.root.join(path);
            let Some(parent) = full.parent().and_then(|parent| std::fs::canonicalize(parent).ok())
            else { continue };
            if !parent.starts_with(std::fs::canonicalize(&tree.root).unwrap()) {
                continue;
            }
            let Some(name) = full.file_name() else { continue };
            let full = parent.join(name);
            if full.symlink_metadata().is_ok() {
                continue;
            }
            match change {
                Change::Directory(_) => drop(std::fs::create_dir(&full)),
                Change::File(_) => drop(std::fs::write(&full, "inside")),
                Change::Link(_, target) => {
                    drop(std::os::unix::fs::symlink(filled(&target, &tree.root), &full));
                }
            }
        }
        let path = filled(&path, &tree.root);
        let mut answers = Vec::new();
        for resolver in RESOLVERS {
            let root = Root::open_with(&tree.root, resolver).unwrap();
            answers.push(match read_text(&root, &path) {
                Ok(text) => {
                    prop_assert_eq!(&text, "inside");
                    "ok"
                }
                Err(error) => kind(&error),
            });
        }
        prop_assert_eq!(answers[0], answers[1], "the resolvers disagree about {}", path);
        for resolver in RESOLVERS {
            let root = Root::open_with(&tree.root, resolver).unwrap();
            let _ = write(&root, &path, b"inside", &WriteOptions::default(), &NEVER);
            prop_assert_eq!(snapshot(&tree.outside), before.clone());
        }
        prop_assert!(tree.leftovers().is_empty());
    }
}

fn snapshot(directory: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            entries.push((path.clone(), None));
            entries.extend(snapshot(&path));
        } else {
            entries.push((path.clone(), std::fs::read(&path).ok()));
        }
    }
    entries.sort();
    entries
}
