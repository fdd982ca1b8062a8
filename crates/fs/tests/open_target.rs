//! Targets that are opened first and acted on later.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use support::{NEVER, RESOLVERS, Tree, fifo, is_root, kind};
use toolwright_fs::{
    FsError, FsErrorKind, GitBorder, OpenTarget, Range, Resolver, Roots, TargetKind, UpdateError,
    WriteOptions,
};

fn roots(workspace: &[&Path], others: &[&Path], resolver: Resolver) -> Roots {
    let all = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect::<Vec<_>>();
    Roots::open_with(&all(workspace), &all(others), resolver).unwrap()
}

fn open(tree: &Tree, path: &str) -> OpenTarget {
    roots(&[&tree.root], &[], Resolver::Automatic).open_target(path).unwrap()
}

fn range(target: &OpenTarget, offset: u64, limit: u64) -> Range {
    target.read_range(offset, limit, &NEVER).unwrap()
}

fn write(target: &OpenTarget, text: &str) -> Result<bool, FsError> {
    target.write(text.as_bytes(), &WriteOptions::default(), &NEVER)
}

#[test]
fn the_place_is_that_of_what_was_opened() {
    let tree = Tree::new();
    tree.put("dir/file", "text");
    tree.link("dir", "link");
    tree.link("file", "dir/alias");
    tree.link(tree.root.join("dir"), "absolute");
    tree.link("dir/new", "dangling");
    let real = tree.root.canonicalize().unwrap();
    for resolver in RESOLVERS {
        let roots = roots(&[&tree.root], &[], resolver);
        let absolute = tree.root.join("link/file");
        for (path, place, is_there) in [
            ("dir/file", "dir/file", true),
            ("link/file", "dir/file", true),
            ("link/alias", "dir/file", true),
            ("absolute/../dir/./file", "dir/file", true),
            (absolute.to_str().unwrap(), "dir/file", true),
            ("dangling", "dir/new", false),
            ("link/new", "dir/new", false),
            ("link/a/b/c", "dir/a/b/c", false),
            ("dir/file/x", "dir/file/x", false),
        ] {
            let target = roots.open_target(path).unwrap();
            assert_eq!(target.real_path(), real.join(place), "{path}");
            assert_eq!(matches!(target.kind(), TargetKind::File { bytes: 4 }), is_there, "{path}");
        }
        for (path, place) in
            [(".", ""), ("link", "dir"), ("dir/", "dir"), ("dir/..", ""), ("absolute", "dir")]
        {
            let target = roots.open_target(path).unwrap();
            assert_eq!(
                (target.real_path(), target.kind()),
                (real.join(place).as_path(), TargetKind::Directory),
                "{path}"
            );
        }
    }
}

#[test]
fn paths_that_leave_are_refused_and_only_the_path_is_named() {
    let tree = Tree::new();
    tree.put("file", "text");
    tree.link("../outside", "out");
    tree.link(tree.outside.join("secret"), "secret");
    let outside = tree.outside.join("secret");
    for resolver in RESOLVERS {
        let roots = roots(&[&tree.root], &[], resolver);
        for path in [
            "../outside/secret",
            "out/secret",
            "secret",
            "out/none/x",
            "a/../../x",
            outside.to_str().unwrap(),
            "/etc/passwd",
            "out",
        ] {
            let error = roots
                .open_target(path)
                .err()
                .or_else(|| roots.open_target(path).unwrap().check_readable().err());
            match error {
                Some(error @ FsError { kind: FsErrorKind::Escape { .. }, .. }) => {
                    assert_eq!(error.path(), Some(path));
                    let message = error.to_string();
                    assert!(
                        path.starts_with('/') || !message.contains(tree.outside.to_str().unwrap()),
                        "{message}"
                    );
                }
                // `..` after a missing directory leads nowhere.
                Some(FsError { kind: FsErrorKind::NotFound, .. }) if path == "a/../../x" => {}
                other => panic!("{path}: {other:?}"),
            }
        }
    }
}

#[test]
fn several_roots_and_absolute_paths_in_them() {
    let (one, two) = (Tree::new(), Tree::new());
    one.put("a", "one");
    two.put("a", "two");
    two.put("b", "two");
    one.link(two.root.join("b"), "across");
    let roots =
        roots(&[&one.root, &two.root], &[Path::new("/nowhere"), &two.outside], Resolver::Automatic);
    let text = |path: &str| range(&roots.open_target(path).unwrap(), 0, 100).bytes;
    assert_eq!(text("a"), b"one", "the first root");
    assert_eq!(text("b"), b"two", "the first in which it is");
    assert_eq!(text(two.root.join("a").to_str().unwrap()), b"two");
    assert_eq!(text(two.outside.join("secret").to_str().unwrap()), b"secret");
    let new = roots.open_target("new/file").unwrap();
    assert_eq!(new.real_path(), one.root.canonicalize().unwrap().join("new/file"));
    // A link from one root into another is refused: a target is below one root.
    assert!(matches!(
        roots.open_target("across"),
        Err(FsError { kind: FsErrorKind::Escape { via_link: true, .. }, .. })
    ));
    assert!(matches!(
        Roots::open(&[], &[]).unwrap().open_target("a"),
        Err(FsError { kind: FsErrorKind::Escape { .. }, .. })
    ));
}

#[test]
fn missing_directories_and_special_files_are_told_apart() {
    let tree = Tree::new();
    tree.put("dir/file", "x");
    fifo(&tree.root.join("pipe"));
    let kind = |path: &str| kind(&open(&tree, path).check_readable().unwrap_err());
    assert_eq!(kind("none"), "NotFound");
    assert_eq!(kind("none/none"), "NotFound");
    assert_eq!(kind("dir"), "NotAFile");
    assert_eq!(kind("pipe"), "NotAFile");
    assert_eq!(kind("dir/file/x"), "NotADirectory");
    if !is_root() {
        tree.put("closed", "x");
        let closed = std::os::unix::fs::PermissionsExt::from_mode(0o000);
        std::fs::set_permissions(tree.root.join("closed"), closed).unwrap();
        assert_eq!(kind("closed"), "Permission");
    }
    let roots = Roots::open(&[PathBuf::from("/nowhere")], &[]);
    assert!(matches!(roots, Err(FsError { kind: FsErrorKind::Root { .. }, .. })));
}

#[test]
fn a_range_begins_and_ends_with_a_character() {
    let tree = Tree::new();
    tree.put("text", "aé漢😀z"); // 1 + 2 + 3 + 4 + 1
    let target = open(&tree, "text");
    for (offset, limit, text, from, next) in [
        (0, 100, "aé漢😀z", 0, None),
        (0, 11, "aé漢😀z", 0, None),
        (0, 10, "aé漢😀", 0, Some(10)),
        (0, 9, "aé漢", 0, Some(6)),
        (2, 3, "é", 1, Some(3)),
        (4, 3, "漢", 3, Some(6)),
        (5, 1, "漢", 3, Some(6)), // one character at least
        (7, 1, "😀", 6, Some(10)),
        (9, 100, "😀z", 6, None),
        (10, 1, "z", 10, None),
        (11, 5, "", 11, None),
        (500, 5, "", 11, None),
        (3, 0, "", 3, Some(3)),
        (u64::MAX, 1, "", 11, None),
    ] {
        let read = range(&target, offset, limit);
        assert_eq!(
            (read.bytes.as_slice(), read.offset, read.next_offset),
            (text.as_bytes(), from, next),
            "{offset} {limit}"
        );
        assert!(!read.is_lossy && !read.is_binary && read.file_bytes == 11);
    }
}

#[test]
fn binary_and_broken_text_are_told() {
    let tree = Tree::new();
    tree.put("binary", b"a\0b".repeat(10_000));
    tree.put("late", [b"a".repeat(9000), vec![0]].concat());
    tree.put("broken", b"a\xffb\xe6\xbc");
    assert!(range(&open(&tree, "binary"), 20_000, 5).is_binary);
    assert!(!range(&open(&tree, "late"), 0, 10_000).is_binary);
    let broken = range(&open(&tree, "broken"), 0, 100);
    assert_eq!(
        (broken.bytes.as_slice(), broken.is_lossy, broken.next_offset),
        (b"a\xffb\xe6\xbc".as_slice(), true, None)
    );
    assert_eq!(range(&open(&tree, "broken"), 4, 10).offset, 4);
}

#[test]
fn a_range_of_a_large_file_does_not_read_the_rest() {
    let tree = Tree::new();
    let file = std::fs::File::create(tree.root.join("large")).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, b"beginning", 0).unwrap();
    file.set_len(1 << 40).unwrap(); // a hole
    std::os::unix::fs::FileExt::write_at(&file, b"end", (1 << 40) - 3).unwrap();
    let started = std::time::Instant::now();
    let target = open(&tree, "large");
    assert_eq!(range(&target, 0, 9).bytes, b"beginning");
    assert_eq!(range(&target, (1 << 40) - 3, 100).bytes, b"end");
    assert!(started.elapsed().as_secs() < 5);
}

#[test]
fn a_file_that_was_replaced_is_read_as_it_was_opened() {
    let tree = Tree::new();
    tree.put("file", "old");
    let target = open(&tree, "file");
    std::fs::remove_file(tree.root.join("file")).unwrap();
    tree.put("file", "new");
    assert_eq!(range(&target, 0, 9).bytes, b"old");
    assert!(open(&tree, "file").real_path().ends_with("file"), "no mark of a deleted file in it");
}

#[test]
fn a_new_file_gets_its_directories_when_it_is_written() {
    let tree = Tree::new();
    let target = open(&tree, "a/b/c");
    assert!(tree.listing().is_empty(), "nothing is made before");
    assert!(write(&target, "text").unwrap());
    assert_eq!(tree.get("a/b/c"), b"text");
    assert!(!write(&target, "more").unwrap(), "it is there now");
    assert_eq!(tree.listing(), ["a", "a/b", "a/b/c"]);
    // A call that fails removes them again.
    let refused = open(&tree, "x/y").write(b"t", &WriteOptions::default(), &true.into());
    assert!(matches!(refused, Err(FsError { kind: FsErrorKind::Cancelled, .. })));
    assert_eq!(tree.listing(), ["a", "a/b", "a/b/c"]);
}

#[test]
fn links_put_in_the_way_afterwards_are_refused() {
    let tree = Tree::new();
    tree.put("dir/file", "inside");
    tree.put("denied/file", "denied");
    tree.put("denied/new", "denied");
    let file = open(&tree, "dir/file");
    let new = open(&tree, "dir/new");
    let deep = open(&tree, "dir/sub/new");
    std::fs::remove_file(tree.root.join("dir/file")).unwrap();
    tree.link("../denied/file", "dir/file");
    tree.link("../denied/new", "dir/new");
    tree.link("../denied", "dir/sub");
    for target in [&file, &new, &deep] {
        assert!(write(target, "changed").is_err());
        let updated = target
            .update(100, &WriteOptions::default(), &NEVER, |_| Ok::<_, ()>(b"changed".to_vec()));
        assert!(updated.is_err());
    }
    assert_eq!(
        (tree.get("denied/file"), tree.get("denied/new")),
        (b"denied".to_vec(), b"denied".to_vec())
    );
}

#[test]
fn a_directory_that_was_moved_is_not_written_to() {
    let tree = Tree::new();
    tree.put("dir/file", "text");
    let target = open(&tree, "dir/file");
    std::fs::rename(tree.root.join("dir"), tree.root.join("elsewhere")).unwrap();
    assert!(matches!(write(&target, "changed"), Err(FsError { kind: FsErrorKind::Conflict, .. })));
    assert_eq!(tree.get("elsewhere/file"), b"text");
    std::fs::remove_dir_all(tree.root.join("elsewhere")).unwrap();
    assert!(write(&target, "changed").is_err());
    assert!(tree.listing().is_empty());
}

#[test]
fn protected_paths_count_where_they_lie_whatever_led_there() {
    let tree = Tree::new();
    tree.put(".git/config", "x");
    tree.link(".git", "innocent");
    let roots = roots(&[&tree.root], &[Path::new("/")], Resolver::Automatic);
    let protected = [PathBuf::from(".git/hooks"), PathBuf::from(".git/config")];
    let absolute = tree.root.join(".git/hooks/pre-commit");
    for path in ["innocent/config", ".git/hooks/new/x", absolute.to_str().unwrap()] {
        let mut target = roots.open_target(path).unwrap();
        assert!(
            matches!(
                roots.check_protected(&mut target, &protected, GitBorder::Open),
                Err(FsError { kind: FsErrorKind::Protected { .. }, .. })
            ),
            "{path}"
        );
    }
    assert!(
        roots
            .check_protected(
                &mut roots.open_target(".git/info").unwrap(),
                &protected,
                GitBorder::Open
            )
            .is_ok()
    );
}

#[test]
fn fifty_parallel_edits_of_one_file_all_land() {
    let tree = Tree::new();
    tree.put("file", "");
    let tried = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..50 {
            let (tree, tried) = (&tree, &tried);
            scope.spawn(move || {
                // All are open before the first one writes.
                let target = open(tree, "file");
                tried.fetch_add(1, Ordering::SeqCst);
                while tried.load(Ordering::SeqCst) < 50 {
                    std::thread::yield_now();
                }
                target
                    .update(1 << 20, &WriteOptions::default(), &NEVER, |old| {
                        Ok::<_, ()>([old, format!("line {number}\n").as_bytes()].concat())
                    })
                    .unwrap();
            });
        }
    });
    let text = String::from_utf8(tree.get("file")).unwrap();
    for number in 0..50 {
        assert!(text.contains(&format!("line {number}\n")), "{number}");
    }
    assert_eq!((text.lines().count(), tree.leftovers().len()), (50, 0));
}

#[test]
fn a_refused_update_leaves_the_file_as_it_is() {
    let tree = Tree::new();
    tree.put("file", "old");
    let refused = open(&tree, "file").update(9, &WriteOptions::default(), &NEVER, |_| Err("no"));
    assert!(matches!(refused, Err(UpdateError::Refused("no"))));
    let large = open(&tree, "file")
        .update(9, &WriteOptions::default(), &NEVER, |_| Ok::<_, ()>(vec![b'x'; 10]));
    assert!(matches!(
        large,
        Err(UpdateError::Fs(FsError { kind: FsErrorKind::TooLarge { result: true, .. }, .. }))
    ));
    assert_eq!(tree.get("file"), b"old");
}

#[test]
fn an_opener_follows_no_link() {
    let tree = Tree::new();
    tree.put("dir/sub/file", "text");
    tree.link("sub", "dir/link");
    tree.link("sub/file", "dir/alias");
    for resolver in RESOLVERS {
        let target = roots(&[&tree.root], &[], resolver).open_target("dir").unwrap();
        let opener = target.opener().unwrap();
        assert!(opener.open(Path::new("sub/file")).is_ok() && opener.open(Path::new("")).is_ok());
        for path in
            ["link/file", "alias", "../dir/sub/file", "/etc/passwd", "link", "sub/../sub/file/x"]
        {
            assert!(opener.open(Path::new(path)).is_err(), "{path}");
        }
    }
}
