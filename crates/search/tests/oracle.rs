//! Compares searches with those of a ripgrep 15 that `TOOLWRIGHT_RG` names.

#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use proptest::prelude::*;
use support::rg::{PARALLELISMS, compare, oracle, ours};
use support::{Tree, soak};

fn utf16(text: &str, little: bool) -> Vec<u8> {
    let convert = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(convert).collect()
}

fn zoo() -> Tree {
    let long = format!("{}hit{}\nhit\n", "x".repeat(12_000), "y".repeat(12_000));
    let mut late_nul = "hit line\nother\n".repeat(6_000).into_bytes();
    late_nul.extend(b"\0tail\nhit\n");
    let mut nul_past_first_block = b"plain\n".repeat(12_000);
    nul_past_first_block.extend(b"hit\nx\0y\nhit\n");
    let tree = Tree::new(&[
        ("crlf", b"hit\r\nno\r\nhit"),
        ("invalid", b"hit \xff\xfe\n\xc3 hit\n"),
        ("empty", b""),
        ("newlines", b"\n\n\nhit\n\n"),
        ("nul/first", b"\0hit\n"),
        ("nul/after", b"hit\nx\0\nhit\n"),
        ("nul/late", &late_nul),
        ("nul/block", &nul_past_first_block),
        ("le", &utf16("hit ü\n漢 hit\n", true)),
        ("be", &utf16("hit ü\n漢 hit\n", false)),
        ("bom8", "\u{feff}hit\nhit\n".as_bytes()),
        ("long", long.as_bytes()),
        ("sp ace/na:me", b"hit\n"),
        ("sp ace/ümlaut", b"hit\n"),
        (".hidden/x", b"hit\n"),
        ("dir.d/x", b"hit\n"),
        ("dir/x", b"hit\n"),
        ("dir-d/x", b"HIT hit HiT\n"),
        ("words", b"foo bar foobar\n\tfoo\nhit|miss\n-n\n--\n(paren\n"),
    ]);
    symlink("words", tree.root.join("link")).expect("link");
    symlink("dir", tree.root.join("linkdir")).expect("link");
    symlink("nowhere", tree.root.join("dangling")).expect("link");
    tree
}

const PATTERNS: &[&str] = &[
    "hit",
    "^hit$",
    "hit\\r?$",
    "(?i)hit",
    "h.t",
    "\\bfoo\\b",
    "foo|bar",
    "^$",
    "",
    "-n",
    "--",
    "\\s",
    "ü",
    "\\p{Han}",
    "[^a-z]hit",
    "x+",
    "nothing",
    "(?-u)\\xff",
    "hit$",
    "\\(paren",
    "^\\t",
    "$",
    "\\S+\\s\\S+",
    "tail",
    "\\Ah",
    "(?s).",
    "(?m)^h",
    "[[:upper:]]{3}",
];

const BAD: &[&str] = &[
    "(",
    "[",
    "a{2",
    "*",
    "a**",
    "\\",
    "(?P<n",
    "(?=x)",
    "(?<!x)y",
    "(a)\\1",
    "a\\nb",
    "a\nb",
    "\\x00",
    "a\\x00b",
    "[\\n]",
    "\\p{Foo}",
    "[z-a]",
    "(?z)",
    "a{3,1}",
    "\\w{1000}{1000}{100}",
    "[[:foo:]]",
    "\\",
];

#[test]
fn one_of_everything() {
    let Some(program) = oracle() else { return };
    let tree = zoo();
    let starts = [
        "",
        "crlf",
        "invalid",
        "empty",
        "nul",
        "nul/first",
        "nul/after",
        "nul/late",
        "nul/block",
        "le",
        "be",
        "bom8",
        "long",
        "sp ace",
        "sp ace/na:me",
        ".hidden",
        ".hidden/x",
        "dir",
        "words",
    ];
    for start in starts {
        // Starting a program takes time, so files that differ only in their bytes get fewer patterns.
        let part = if start.is_empty() || start.starts_with("nul") { 1 } else { 4 };
        for pattern in PATTERNS.iter().step_by(part) {
            compare(&program, &tree.root, start, pattern);
        }
    }
    for pattern in BAD {
        compare(&program, &tree.root, "", pattern);
    }
}

/// Files just small enough to be searched in one piece, and just too large.
#[test]
fn files_of_about_64_kib() {
    let Some(program) = oracle() else { return };
    let tree = Tree::new(&[]);
    for size in (0..3).chain(65_530..65_543) {
        for (kind, mark) in
            [("plain", &b""[..]), ("bom", b"\xef\xbb\xbf"), ("both", b"\xef\xbb\xbf\xff\xfe")]
        {
            let mut content = [mark, &b"hit\n"[..], &b"x".repeat(size)[..]].concat();
            content.truncate(size);
            tree.write(&format!("{kind}/{size}"), &content);
            content.extend(b"\nhit");
            tree.write(&format!("{kind}/{size}-hit"), &content);
            if let Some(last) = content.get_mut(size.saturating_sub(1)) {
                *last = 0;
                tree.write(&format!("{kind}/{size}-nul"), &content);
            }
        }
    }
    for pattern in ["hit", "^x", "x$", "\\Ah"] {
        compare(&program, &tree.root, "", pattern);
    }
}

fn ignore_zoo(git: bool) -> Tree {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for dir in ["", "a/", "a/b/", "target/", "target/a/", "a/target/", "sub/repo/", ".dot/", "x.d/"]
    {
        for name in ["one.txt", "two.log", "keep.log", ".env", "UPPER.TXT", "target", "a"] {
            let path = format!("{dir}{name}");
            let is_dir = ["a", "a/target", "target", "target/a"].contains(&path.as_str());
            if !is_dir {
                files.push((path, b"hit\n".to_vec()));
            }
        }
    }
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, content)| (path.as_str(), content.as_slice())).collect();
    let tree = Tree::new(&files);
    if git {
        tree.make_repository("");
        tree.write(".git/info/exclude", b"x.d\n");
    }
    tree.make_repository("sub/repo");
    tree.write("sub/repo/.git/info/exclude", b"one.txt\n");
    tree
}

#[test]
fn ignore_rules() {
    let Some(program) = oracle() else { return };
    let sets: [&[(&str, &[u8])]; 11] = [
        &[],
        &[(".gitignore", b"*.log\n!keep.log\n/target/\n")],
        &[(".gitignore", b"target\n"), ("a/.gitignore", b"!target\n*.txt\n")],
        &[(".ignore", b"*.log\n"), (".rgignore", b"!two.log\n"), ("a/.ignore", b"!keep.log\n")],
        &[(".ignore", b"!.env\n!.dot\n"), ("a/.rgignore", b".env\n")],
        &[("../.gitignore", b"one.txt\n"), ("../.ignore", b"/root/a/b\n!.env\n")],
        &[(".gitignore", "\u{feff}*.log\r\n# c\r\n\\#x\r\n\r\n  \r\na/**\r\n!a/b/\r\n".as_bytes())],
        &[(".gitignore", b"[\n*.txt\n\xff\n*.log\n"), ("a/b/.ignore", b"/one.txt\nb/two.log\n")],
        &[("a/.gitignore", b"/b/one.txt\nb/*.log\n**/target\n"), (".rgignore", b"a/b/UPPER*\n")],
        &[("a/.jj/x", b""), ("a/.gitignore", b"*.txt\n"), (".gitignore", b"*.log\n")],
        &[(".gitignore", b"*\n!*/\n!one.txt\n")],
    ];
    for git in [true, false] {
        for set in sets {
            let tree = ignore_zoo(git);
            for (path, content) in set {
                tree.write(path, content);
            }
            for start in
                ["", "a", "a/b", "target", "target/a", "sub/repo", "sub", ".dot", "a/two.log"]
            {
                compare(&program, &tree.root, start, "hit");
            }
        }
    }
}

/// Runs in a process of its own, because git's global excludes come from the environment.
#[test]
fn global_excludes() {
    let Some(program) = oracle() else { return };
    if std::env::var_os("TOOLWRIGHT_GREP_ALONE").is_none() {
        let home = tempfile::tempdir().expect("home");
        fs::create_dir(home.path().join("git")).expect("git");
        fs::write(home.path().join("git/ignore"), b"*.orig\n*.txt\n/a/b\n").expect("excludes");
        let status = Command::new(std::env::current_exe().expect("path"))
            .args(["--exact", "global_excludes", "--nocapture"])
            .env("TOOLWRIGHT_GREP_ALONE", "1")
            .env("XDG_CONFIG_HOME", home.path())
            .env("HOME", home.path())
            .status();
        assert!(status.expect("runs").success());
        return;
    }
    for git in [true, false] {
        let tree = ignore_zoo(git);
        tree.write(".gitignore", b"!one.txt\n");
        tree.write("x.orig", b"hit\n");
        for start in ["", "a", "sub"] {
            compare(&program, &tree.root, start, "hit");
        }
    }
    assert!(
        !ours(&ignore_zoo(true).root, "", "hit", PARALLELISMS[0]).expect("searched").is_empty()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50 * soak()))]

    #[test]
    fn any_tree(
        files in proptest::collection::vec((
            "(a|b|c|\\.h|d)(/(a|b|e|\\.h)){0,2}\\.(x|y)",
            "[ab\u{e9}\r\n\u{0}]{0,30}",
        ), 0..8),
        rules in proptest::collection::vec((
            "((a|b)/)?\\.(git|rg|)ignore",
            "(!?(/|\\*\\*/)?(a|b|c|\\.h|\\*|\\?)(/(a|e|\\*)?)?(\\.x|\\.y)?\n){0,3}",
        ), 0..4),
        git in any::<bool>(),
        pattern in "(a|b|\\^a|a\\$|\u{e9}|\\.|a\\+b|\\[ab\\]\\{2\\})",
        start in prop_oneof![Just(""), Just("a"), Just("b")],
    ) {
        let Some(program) = std::env::var_os("TOOLWRIGHT_RG").map(PathBuf::from) else { return Ok(()) };
        let tree = Tree::new(&[]);
        let entries = files.iter().chain(&rules);
        for (path, content) in entries {
            let path = tree.root.join(path);
            // If a path is both a file and a directory, the first one wins.
            if fs::create_dir_all(path.parent().expect("parent")).is_ok() && !path.is_dir() {
                fs::write(path, content).expect("file");
            }
        }
        if git {
            tree.make_repository("");
        }
        if tree.root.join(start).exists() {
            compare(&program, &tree.root, start, &pattern);
        }
    }
}
