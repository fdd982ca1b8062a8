//! The output of searches, with expectations written by hand.

#![cfg(target_os = "linux")]

mod support;

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::{fs, io};

use rustix::io::Errno;
use support::{Tree, beneath};
use toolwright_search::{GrepError, GrepRequest, grep};

/// The text of a search of `start`.
fn text_in(tree: &Tree, start: &str, pattern: &str) -> String {
    let cancel = AtomicBool::new(false);
    let start = Path::new(start);
    let request = GrepRequest { start, display: start, ..tree.request(pattern, &cancel) };
    let result = tree.run(&request).expect("searched");
    String::from_utf8_lossy(&result.text).into_owned()
}

#[test]
fn files_in_path_order_with_name_and_number() {
    let tree = Tree::new(&[
        ("b.txt", b"no\nhit one\r\nhit two"),
        ("a/z.txt", b"hit\n"),
        ("a.txt", b"hit\n"),
        ("a/b/c.txt", b"hit\n"),
        ("B.txt", b"hit\n"),
    ]);
    assert_eq!(
        text_in(&tree, "", "^hit"),
        "B.txt:1:hit\na/b/c.txt:1:hit\na/z.txt:1:hit\na.txt:1:hit\nb.txt:2:hit one\r\nb.txt:3:hit two\n"
    );
    assert_eq!(text_in(&tree, "a", "hit"), "a/b/c.txt:1:hit\na/z.txt:1:hit\n");
    assert_eq!(text_in(&tree, "b.txt", "two$"), "b.txt:3:hit two\n");
    assert_eq!(text_in(&tree, "", "nothing here"), "");
}

#[test]
fn a_pattern_is_never_a_flag() {
    let tree = Tree::new(&[("a", b"x -n y\n--files\n")]);
    assert_eq!(text_in(&tree, "", "-n"), "a:1:x -n y\n");
    assert_eq!(text_in(&tree, "", "--files"), "a:2:--files\n");
    assert_eq!(text_in(&tree, "", ""), "a:1:x -n y\na:2:--files\n");
}

#[test]
fn binary_files() {
    let mut late = b"hit early\n".to_vec();
    late.extend(b"x\n".repeat(100_000));
    late.extend(b"\0\nhit late\n");
    let tree =
        Tree::new(&[("early", b"\0\nhit\n"), ("first line", b"h\nhit\n\0"), ("late", &late)]);
    // On a walk, a file is given up at its first NUL byte, and called binary only if it matched.
    let message = "binary file matches (found \"\\0\" byte around offset ";
    let text = text_in(&tree, "", "hit");
    assert!(text.starts_with("late:1:hit early\nlate: WARNING: stopped searching binary file after match (found \"\\0\" byte around offset 200010)\n"), "{text}");
    assert_eq!(text.lines().count(), 2);
    // A file that was named is searched to its end.
    assert_eq!(text_in(&tree, "early", "hit"), format!("early: {message}0)\n"));
    assert_eq!(text_in(&tree, "early", "absent"), "");
    assert_eq!(text_in(&tree, "first line", "h"), format!("first line: {message}6)\n"));
}

#[test]
fn encodings() {
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("grüße\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let tree = Tree::new(&[
        ("bom", "\u{feff}grüße\n".as_bytes()),
        ("latin1", b"gr\xfc\xdfe\n"),
        ("utf16", &utf16),
    ]);
    assert_eq!(text_in(&tree, "", "^grüße$"), "bom:1:grüße\nutf16:1:grüße\n");
    let cancel = AtomicBool::new(false);
    let result = tree.run(&tree.request("(?-u)gr\\xfc", &cancel)).expect("searched");
    assert_eq!(result.text, b"latin1:1:gr\xfc\xdfe\n");
    assert_eq!(result.matches, 1);
}

#[test]
fn a_changed_ignore_file_is_seen() {
    let tree = Tree::new(&[("a", b"hit\n"), ("b", b"hit\n"), ("sub/a", b"hit\n")]);
    for _ in 0..2 {
        tree.write(".ignore", b"a\n");
        assert_eq!(text_in(&tree, "", "hit"), "b:1:hit\n");
        tree.write(".ignore", b"b\n");
        assert_eq!(text_in(&tree, "", "hit"), "a:1:hit\nsub/a:1:hit\n");
        tree.write(".ignore", b"/a\n");
        assert_eq!(text_in(&tree, "", "hit"), "b:1:hit\nsub/a:1:hit\n");
        // The same text in another directory gives other rules.
        tree.write("sub/.ignore", b"/a\n");
        assert_eq!(text_in(&tree, "", "hit"), "b:1:hit\n");
        fs::remove_file(tree.root.join("sub/.ignore")).expect("removed");
    }
}

#[test]
fn hidden_and_ignored_names() {
    let tree = Tree::new(&[
        (".gitignore", b"*.log\n/build/\n!keep.log\n"),
        (".ignore", b"secret\n!.shown\n"),
        (".hidden", b"hit\n"),
        (".shown", b"hit\n"),
        ("a.log", b"hit\n"),
        ("keep.log", b"hit\n"),
        ("secret", b"hit\n"),
        ("build/x", b"hit\n"),
        ("sub/build/x", b"hit\n"),
        ("sub/.rgignore", b"!secret\n"),
        ("sub/secret", b"hit\n"),
    ]);
    let visible = ".shown:1:hit\n";
    // Git's rules apply only in a repository.
    assert_eq!(
        text_in(&tree, "", "^hit"),
        format!(
            "{visible}a.log:1:hit\nbuild/x:1:hit\nkeep.log:1:hit\nsub/build/x:1:hit\nsub/secret:1:hit\n"
        )
    );
    tree.make_repository("");
    tree.write(".git/info/exclude", b"sub/build\n");
    assert_eq!(text_in(&tree, "", "^hit"), format!("{visible}keep.log:1:hit\nsub/secret:1:hit\n"));
    // A start path is searched whatever the rules say. Below it they apply.
    assert_eq!(text_in(&tree, "a.log", "hit"), "a.log:1:hit\n");
    assert_eq!(text_in(&tree, "build", "hit"), "build/x:1:hit\n");
    assert_eq!(text_in(&tree, ".hidden", "hit"), ".hidden:1:hit\n");
}

#[test]
fn a_worktree_has_the_excludes_of_its_repository() {
    let tree = Tree::new(&[
        ("repo/.git/info/exclude", b"skipped\n"),
        ("repo/.git/worktrees/w/commondir", b"../..\n"),
        ("w/skipped", b"hit\n"),
        ("w/x", b"hit\n"),
        ("v/skipped", b"hit\n"),
    ]);
    let pointer = format!("gitdir: {}/repo/.git/worktrees/w\n", tree.root.display());
    tree.write("w/.git", pointer.as_bytes());
    // A repository outside of the root is not read, because the results would reveal its contents.
    let outside = tree.root.with_file_name("outside");
    std::fs::create_dir_all(outside.join("info")).expect("outside");
    std::fs::write(outside.join("commondir"), b".\n").expect("outside");
    std::fs::write(outside.join("info/exclude"), b"skipped\n").expect("outside");
    tree.write("v/.git", format!("gitdir: {}\n", outside.display()).as_bytes());
    assert_eq!(text_in(&tree, "", "hit"), "v/skipped:1:hit\nw/x:1:hit\n");
    assert_eq!(text_in(&tree, "w", "hit"), "w/x:1:hit\n");
}

#[test]
fn hostile_ignore_files_are_no_ignore_files() {
    let tree = Tree::new(&[("a", b"hit\n"), ("fifo/b", b"hit\n"), ("zero/c", b"hit\n")]);
    assert!(
        Command::new("mkfifo")
            .arg(tree.root.join("fifo/.ignore"))
            .status()
            .expect("mkfifo")
            .success()
    );
    assert!(Command::new("mkfifo").arg(tree.root.join("pipe")).status().expect("mkfifo").success());
    symlink("/dev/zero", tree.root.join("zero/.ignore")).expect("link");
    symlink("/dev/zero", tree.root.join("endless")).expect("link");
    tree.write("big/.ignore", &b"*\n".repeat(5 << 20));
    tree.write("big/d", b"hit\n");
    tree.write("many/.ignore", &b"*\n".repeat(30_000));
    tree.write("many/g", b"hit\n");
    tree.write("bytes/.ignore", b"e\n\xff\nf\n");
    tree.write("bytes/e", b"hit\n");
    tree.write("bytes/f", b"hit\n");
    assert_eq!(
        text_in(&tree, "", "hit"),
        "a:1:hit\nbig/d:1:hit\nbytes/f:1:hit\nfifo/b:1:hit\nmany/g:1:hit\nzero/c:1:hit\n"
    );
}

#[test]
fn links_are_not_followed_and_the_start_is_called_as_asked() {
    let tree = Tree::new(&[("real/a", b"hit\n")]);
    symlink("real", tree.root.join("link")).expect("link");
    symlink("real/a", tree.root.join("file")).expect("link");
    assert_eq!(text_in(&tree, "", "hit"), "real/a:1:hit\n");
    let cancel = AtomicBool::new(false);
    let request = GrepRequest {
        start: Path::new("real"),
        display: Path::new("link"),
        ..tree.request("hit", &cancel)
    };
    assert_eq!(tree.run(&request).expect("searched").text, b"link/a:1:hit\n");
}

#[test]
fn names_that_are_not_utf8_come_out_as_they_are() {
    let tree = Tree::new(&[]);
    let name = std::ffi::OsStr::from_bytes(b"x\xff");
    std::fs::write(tree.root.join(name), b"hit\n").expect("file");
    let cancel = AtomicBool::new(false);
    let result = tree.run(&tree.request("hit", &cancel)).expect("searched");
    assert_eq!(result.text, b"x\xff:1:hit\n");
}

#[test]
fn what_cannot_be_read_is_named_and_the_matches_stay() {
    let tree = Tree::new(&[("a", b"hit\n"), ("closed/x", b"hit\n"), ("z", b"hit\n")]);
    for n in 0..12 {
        tree.write(&format!("files/{n:02}"), b"hit\n");
    }
    tree.write("gone", b"hit\n");
    let root = std::fs::File::open(&tree.root).expect("root");
    // The tests may run as root, so the opener refuses instead of the system.
    let open = |path: &Path| -> io::Result<std::fs::File> {
        if path == Path::new("closed") || path.starts_with("files") && path != Path::new("files") {
            return Err(Errno::ACCESS.into());
        }
        if path == Path::new("gone") {
            return Err(Errno::XDEV.into());
        }
        beneath(&root, path)
    };
    let cancel = AtomicBool::new(false);
    let result = grep(&tree.request("hit", &cancel), &open).expect("searched");
    let text = String::from_utf8(result.text).expect("utf-8");
    assert!(text.starts_with("a:1:hit\nz:1:hit\n[not searched: closed: Permission denied (os error 13)]\n[not searched: files/00: "), "{text}");
    assert!(text.ends_with("[not searched: and 3 more]\n"), "{text}");
    assert_eq!((result.unsearched, result.matches, result.truncated), (13, 2, false));

    let refuse = |_: &Path| -> io::Result<std::fs::File> { Err(Errno::ACCESS.into()) };
    let request = GrepRequest {
        start: Path::new("a"),
        display: Path::new("a"),
        ..tree.request("hit", &cancel)
    };
    let error = grep(&request, &refuse).expect_err("refused");
    assert_eq!(error.to_string(), "a: Permission denied (os error 13)");
}

#[test]
fn a_start_that_is_no_place_to_search() {
    let tree = Tree::new(&[("a", b"hit\n")]);
    assert!(Command::new("mkfifo").arg(tree.root.join("pipe")).status().expect("mkfifo").success());
    let cancel = AtomicBool::new(false);
    let go = |start: &str, pattern: &str| {
        let start = Path::new(start);
        let request = GrepRequest { start, display: start, ..tree.request(pattern, &cancel) };
        tree.run(&request).expect_err("refused")
    };
    let error = go("nope", "hit");
    assert_eq!(error.to_string(), "nope: No such file or directory (os error 2)");
    assert!(matches!(error, GrepError::Missing { .. }));
    assert!(matches!(go("a/b", "hit"), GrepError::Missing { .. }));
    assert!(matches!(go("pipe", "hit"), GrepError::NotSearchable { .. }));
    let error = go("nope", "(");
    assert_eq!(error.to_string(), "regex parse error:\n    (?:()\n    ^\nerror: unclosed group");
}
