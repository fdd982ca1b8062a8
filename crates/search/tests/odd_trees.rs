//! Compares searches of odd trees, and of large real ones, with those of a ripgrep 15 that
//! `TOOLWRIGHT_RG` names.

#![cfg(target_os = "linux")]

mod support;

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::Tree;
use support::rg::{PARALLELISMS, assert_same, compare, compare_names, oracle, ours, rg};

fn utf16(text: &str, little: bool) -> Vec<u8> {
    let convert = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(convert).collect()
}

/// A repository that contains other repositories, two worktrees, ignore files that contradict each
/// other, all encodings and all kinds of names.
fn menagerie() -> Tree {
    let tree = Tree::new(&[]);
    let poem = "fn main() {\n    let grüße = \"hit\"; // TODO: fix_me(42)\n}\n\n0xFF 3.14 user@example.org\n";
    for dir in [
        "",
        "src",
        "src/deep/er",
        "build",
        "build/keep",
        "node_modules/x",
        ".config",
        "vendor/lib",
        "sp ace/\"quo'ted",
    ] {
        for (name, content) in [
            ("main.rs", poem.as_bytes().to_vec()),
            ("crlf.txt", poem.replace('\n', "\r\n").into_bytes()),
            ("le.txt", utf16(poem, true)),
            ("be.txt", utf16(poem, false)),
            ("bom.txt", [b"\xef\xbb\xbf", poem.as_bytes()].concat()),
            ("latin1.txt", b"gr\xfc\xdfe hit TODO\nna\xefve\n".to_vec()),
            ("blob.bin", b"TODO hit\n\0\x01\x02 hit\n".to_vec()),
            ("late.bin", [poem.repeat(900).as_bytes(), b"\0hit\n"].concat()),
            ("trace.log", b"hit 2026-11-20 ERROR x\nWARN y\nERROR: z\n".to_vec()),
            ("keep.log", b"hit ERROR kept\n".to_vec()),
            (".env", b"hit KEY=value\n".to_vec()),
            ("no newline", b"hit\nlast hit".to_vec()),
            ("UPPER.TXT", b"HIT Hit hit\n\ttabbed\n".to_vec()),
            ("-dash", b"hit --flag -n\n".to_vec()),
            ("[class]{x,y}*?", b"hit [class]\n".to_vec()),
            ("colon:1:name", b"hit:2:3\n".to_vec()),
            ("empty", Vec::new()),
        ] {
            tree.write(Path::new(dir).join(name).to_str().expect("utf-8"), &content);
        }
    }
    for name in [&b"new\nline"[..], b"bytes\xff\xfe", b"tab\there", "e\u{301}\u{1F980}".as_bytes()]
    {
        fs::write(tree.root.join(OsStr::from_bytes(name)), b"hit TODO\n").expect("file");
    }
    fs::create_dir(tree.root.join(OsStr::from_bytes(b"dir\xfd"))).expect("directory");
    fs::write(tree.root.join(OsStr::from_bytes(b"dir\xfd/x")), b"hit\n").expect("file");
    for (path, rules) in [
        (".gitignore", "*.log\n!keep.log\nbuild/\n/node_modules\n.env\nvendor/**/*.bin\n"),
        (".ignore", "!build/\nUPPER.*\n"),
        ("build/.gitignore", "*\n!*/\n!main.rs\n"),
        ("build/keep/.ignore", "!trace.log\n!.env\n"),
        ("src/.rgignore", "deep/er/*.bin\n!deep/er/late.bin\n"),
        ("src/deep/.gitignore", "!trace.log\n# comment\n\\#x\ncrlf.txt  \n"),
        (".git/info/exclude", "latin1.txt\n"),
        (".git/worktrees/w/commondir", "../..\n"),
        (".git/HEAD", "hit\n"),
        (".git/objects/x", ""),
        (".git/refs/x", ""),
        ("vendor/lib/.git/info/exclude", "le.txt\n"),
        ("vendor/lib/.git/HEAD", ""),
        ("vendor/lib/.git/objects/x", ""),
        ("vendor/lib/.git/refs/x", ""),
        ("vendor/lib/.gitignore", "be.txt\n"),
    ] {
        tree.write(path, rules.as_bytes());
    }
    let repository = tree.root.join(".git/worktrees/w");
    tree.write("worktree/.git", format!("gitdir: {}\n", repository.display()).as_bytes());
    tree.write("worktree/latin1.txt", b"hit\n");
    tree.write("worktree/x", b"hit\n");
    tree.write("module/.git", b"gitdir: ../.git/modules/module\n");
    tree.write("module/latin1.txt", b"hit\n");
    let outside = tree.root.with_file_name("outside");
    fs::create_dir(&outside).expect("outside");
    fs::write(outside.join("x"), b"hit outside\n").expect("outside");
    for (target, link) in [
        (Path::new("src/main.rs"), "link.rs"),
        (Path::new("src"), "linked"),
        (Path::new("nowhere"), "dangling"),
        (Path::new("loop"), "loop"),
        (outside.as_path(), "outside"),
    ] {
        symlink(target, tree.root.join(link)).expect("link");
    }
    tree
}

const PATTERNS: [&str; 64] = [
    "hit",
    "HIT",
    "(?i)hit",
    "^hit",
    "hit$",
    "^hit$",
    "hit\\r$",
    "\\bhit\\b",
    "TODO|FIXME",
    "fn \\w+\\(",
    "grüße",
    "gr..e",
    "[[:alpha:]]+_me",
    "\\d{4}-\\d{2}-\\d{2}",
    "0x[0-9A-F]+",
    "\\w+@\\w+\\.org",
    "^\\s*$",
    "^$",
    "",
    ".",
    "\\t",
    "\\S{20,}",
    "ERROR(:)?",
    "^ERROR",
    "-n",
    "--flag",
    "\\[class\\]",
    "\\{x",
    "(hit|TODO).*(hit|TODO)",
    "h[^a]t",
    "\\p{Greek}",
    "\\p{L}\\d",
    "(?-u)\\xfc",
    "(?-u:\\xef)ve",
    "na.ve",
    "\\x{fc}",
    "(?x) h i t",
    "(?s)hit.",
    "\\Ahit",
    "hit\\z",
    "x{2,3}",
    "(a|b)*c",
    "kept\\s?",
    "zzz_nothing",
    "\"hit\"",
    "'",
    "\\\\",
    "\\.",
    "let|fn|//",
    "(?i)warn",
    "\\D+",
    "[^\\n]t",
    // Invalid patterns.
    "(",
    ")",
    "[",
    "*",
    "a{2,1}",
    "(?=x)",
    "(a)\\1",
    "a\\nb",
    "\\x00",
    "\\p{Nope}",
    "(?z)",
    "\\",
];

#[test]
fn a_menagerie() {
    let Some(program) = oracle() else { return };
    let tree = menagerie();
    for pattern in PATTERNS {
        compare(&program, &tree.root, "", pattern);
    }
    for start in [
        "src",
        "build",
        "build/keep",
        "node_modules",
        "vendor/lib",
        "worktree",
        "module",
        ".config",
        "blob.bin",
        "le.txt",
        "late.bin",
        "sp ace",
        "[class]{x,y}*?",
    ] {
        for pattern in ["hit", "TODO", "grüße"] {
            compare(&program, &tree.root, start, pattern);
        }
    }
}

#[test]
fn names_in_a_menagerie() {
    let Some(program) = oracle() else { return };
    let tree = menagerie();
    let sets: &[&[&str]] = &[
        &[],
        &["*.rs"],
        &["*.txt"],
        &["!*.txt"],
        &["*.log"],
        &["**/main.rs"],
        &["src/**"],
        &["/src/*.rs"],
        &["src"],
        &["src/"],
        &["*.{rs,log}"],
        &["*.rs", "!src/**"],
        &["!src/**", "*.rs"],
        &["*", "!*.bin"],
        &[".env"],
        &["build/**"],
        &["node_modules"],
        &["[a-m]*"],
        &["?pper*"],
        &["**/deep/**/*.txt"],
        &["*\\[class\\]*"],
        &["-dash"],
        &["\\!x"],
        &["[!k]eep.log"],
        &["**"],
        &["!"],
        &[""],
        &["a{b"],
        &["a[b"],
        &["{a,{b,c}}*"],
        &["*.RS"],
        &["worktree/**"],
        &["dir*"],
        &["*\n*"],
        &["link*"],
        &["**/.git/**"],
    ];
    for patterns in sets {
        compare_names(&program, &tree.root, "", patterns);
        for start in ["src", "build", "main.rs", ".config"] {
            compare_names(&program, &tree.root, start, patterns);
        }
    }
}

/// Runs as a user without permissions: root starts a process of its own as `nobody`.
#[test]
fn unreadable_entries_are_named() {
    let Some(program) = oracle() else { return };
    if rustix::process::geteuid().is_root() {
        let status = Command::new(std::env::current_exe().expect("path"))
            .args(["--exact", "unreadable_entries_are_named", "--nocapture"])
            .current_dir("/")
            .uid(65534)
            .gid(65534)
            .status();
        match status {
            Ok(status) => assert!(status.success()),
            Err(error) => eprintln!("skipped: the user `nobody` cannot run this: {error}"),
        }
        return;
    }
    if Command::new(&program).arg("--version").output().is_err() {
        eprintln!("skipped: this user cannot run ripgrep");
        return;
    }
    let tree = Tree::new(&[
        ("a", b"hit\n"),
        ("closed/x", b"hit\n"),
        ("blind/x", b"hit\n"),
        ("deep/closed/y", b"hit\n"),
        ("deep/z", b"hit\n"),
        ("ignoring/.ignore", b"x\n"),
        ("ignoring/x", b"hit\n"),
        ("secret", b"hit\n"),
        ("z", b"hit\n"),
    ]);
    let modes = [
        ("closed", 0),
        ("blind", 0o444),
        ("deep/closed", 0o311),
        ("ignoring/.ignore", 0),
        ("secret", 0o200),
    ];
    let set = |path: &str, mode| {
        fs::set_permissions(tree.root.join(path), Permissions::from_mode(mode)).expect("mode");
    };
    for (path, mode) in modes {
        set(path, mode);
    }
    let (expected, _) = rg(&program, &tree.root, "", "hit");
    let results: Vec<_> = PARALLELISMS
        .iter()
        .map(|parallelism| ours(&tree.root, "", "hit", *parallelism).expect("searched"))
        .collect();
    for (path, _) in modes {
        set(path, 0o755);
    }
    for text in results {
        let notes = text
            .split_inclusive(|&byte| byte == b'\n')
            .filter(|line| line.starts_with(b"[not searched: "));
        assert_eq!(notes.clone().count(), 4, "{}", String::from_utf8_lossy(&text));
        let lines = text.len() - notes.map(<[u8]>::len).sum::<usize>();
        assert_same(&text[..lines], &expected, "hit", "");
    }
}

/// The sources of packages: those in cargo's registry, otherwise those that npm has installed.
fn real_tree() -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let registry = cargo.or(home).map(|cargo| cargo.join("registry/src"));
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../node_modules");
    [registry, Some(installed)].into_iter().flatten().find_map(|path| path.canonicalize().ok())
}

#[test]
fn a_large_real_tree() {
    let (Some(program), Some(root)) = (oracle(), real_tree()) else { return };
    for pattern in ["unsafe impl<\\w+", "©|™|漢", "(?i)deprecated.*since"] {
        compare(&program, &root, "", pattern);
    }
    compare_names(&program, &root, "", &[]);
    compare_names(&program, &root, "", &["*.{toml,json}", "!**/tests/**"]);
}
