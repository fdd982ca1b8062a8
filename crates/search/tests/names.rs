//! What patterns for names choose, what is left out of a search, and that it is said.

#![cfg(target_os = "linux")]

mod support;

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use support::{Tree, beneath};
use toolwright_search::{
    FileList, GrepOptions, GrepRequest, LineQuery, Parallelism, Prints, Scope, SecondLook, Way,
    Why, find_lines, list_files,
};

static NEVER: AtomicBool = AtomicBool::new(false);

fn scope<'a>(root: &'a Path, start: &'a str) -> Scope<'a> {
    Scope {
        root,
        start: Path::new(start),
        filter: &|_| true,
        max_results: u64::MAX,
        max_bytes: 1 << 20,
        deadline: None,
        cancel: &NEVER,
        parallelism: Parallelism { threshold: 2, threads: Some(2) },
    }
}

fn listed(tree: &Tree, start: &str, globs: &[&str]) -> FileList {
    let root = File::open(&tree.root).expect("root");
    list_files(&scope(&tree.root, start), globs, &|path| beneath(&root, path)).expect("listed")
}

fn paths(list: &FileList) -> Vec<String> {
    list.paths().map(|path| path.to_string_lossy().into_owned()).collect()
}

fn names(tree: &Tree, globs: &[&str]) -> Vec<String> {
    paths(&listed(tree, "", globs))
}

fn project() -> Tree {
    let tree = Tree::new(&[
        (".gitignore", b"dist/\n*.log\nout/*\n"),
        (".github/workflows/ci.yml", b"on: push\n"),
        (".env", b"KEY=1\n"),
        ("dist/o.md", b"needle\n"),
        ("out/p.md", b"needle\n"),
        ("out/deep/q.md", b"needle\n"),
        ("a.log", b"needle\n"),
        ("src/a.ts", b"x\n"),
        ("app/[slug]/page.tsx", b"x\n"),
        ("{x}.md", b"x\n"),
    ]);
    tree.make_repository("");
    tree.write(".git/config", b"needle\n");
    tree
}

#[test]
fn patterns_choose_among_what_the_ignore_files_leave() {
    let tree = project();
    let all = ["app/[slug]/page.tsx", "src/a.ts", "{x}.md"];
    for globs in [&["*"][..], &["**"], &["**/*"], &[]] {
        assert_eq!(names(&tree, globs), all, "{globs:?}");
    }
    for (glob, expected) in [
        ("*.log", &[][..]),
        ("dist/**", &[]),
        ("**/*.md", &["{x}.md"]),
        (".git/**", &[]),
        (".github/**", &[]),
        ("!*.md", &["app/[slug]/page.tsx", "src/a.ts"]),
    ] {
        assert_eq!(names(&tree, &[glob]), expected, "{glob}");
    }
}

#[test]
fn a_name_is_found_by_itself() {
    let tree = project();
    for path in [
        "app/[slug]/page.tsx",
        "/app/[slug]/page.tsx",
        "{x}.md",
        "dist/o.md",
        "out/deep/q.md",
        "a.log",
        ".env",
        ".github/workflows/ci.yml",
    ] {
        assert_eq!(names(&tree, &[path]), [path.trim_start_matches('/')], "{path}");
    }
    for (pattern, expected) in [
        ("app/[slug]/*", "app/[slug]/page.tsx"),
        ("**/[slug]/**", "app/[slug]/page.tsx"),
        ("app/[slug]/*.{ts,tsx}", "app/[slug]/page.tsx"),
        ("{x}.*", "{x}.md"),
    ] {
        assert_eq!(names(&tree, &[pattern]), [expected], "{pattern}");
    }
    tree.write("app/s/page.tsx", b"x\n");
    assert_eq!(
        names(&tree, &["app/[slug]/page.tsx"]),
        ["app/[slug]/page.tsx", "app/s/page.tsx"],
        "both readings"
    );
    let by_name = listed(&tree, "", &["dist/o.md"]).left_out.by_name;
    assert_eq!((by_name.total, by_name.named[0].why), (1, Why::Ignored));
}

#[test]
fn a_pattern_says_what_it_names_and_does_not_show() {
    let tree = project();
    let asked = |glob: &str| {
        let list = listed(&tree, "", &[glob]);
        let asked = list.left_out.asked;
        asked.named.iter().map(|one| (one.path.display().to_string(), one.why)).collect::<Vec<_>>()
    };
    assert_eq!(asked("{src,dist}/*"), [("dist".to_owned(), Why::Ignored)]);
    assert_eq!(asked("**/.github/**"), [(".github".to_owned(), Why::Hidden)]);
    assert_eq!(asked(".git/*"), [(".git".to_owned(), Why::Git)]);
    assert_eq!(asked("**/*"), []);
    let any = listed(&tree, "", &[]).left_out.any;
    let named: Vec<_> = any.named.iter().map(|one| one.path.to_str()).collect();
    assert_eq!(named, [Some(".env"), Some(".github"), Some(".gitignore")]);
    assert_eq!(any.total, 7);
}

#[test]
fn a_start_that_is_left_out_is_searched_by_its_own_rules() {
    let tree = project();
    for (start, expected) in [
        ("dist", &["dist/o.md"][..]),
        (".github", &[".github/workflows/ci.yml"]),
        ("out/deep", &["out/deep/q.md"]),
        // It is not left out itself, so the rules for what is in it hold.
        ("out", &[]),
    ] {
        assert_eq!(paths(&listed(&tree, start, &["**"])), expected, "{start}");
    }
    assert_eq!(paths(&listed(&tree, "app", &["[slug]/*"])), ["app/[slug]/page.tsx"]);
    assert_eq!(paths(&listed(&tree, "dist", &["o.md"])), ["dist/o.md"]);
}

#[test]
fn a_placeholder_is_no_repository() {
    let tree = Tree::new(&[(".gitignore", b"a\n"), ("a", b""), ("b", b"")]);
    let visible = || names(&tree, &[]);
    assert_eq!(visible(), ["a", "b"]);
    for parts in [&[][..], &["HEAD/x"], &["HEAD/x", "refs/x"], &["config"]] {
        let _ = fs::remove_dir_all(tree.root.join(".git"));
        fs::create_dir(tree.root.join(".git")).expect("directory");
        for part in parts {
            tree.write(&format!(".git/{part}"), b"");
        }
        assert_eq!(visible(), ["a", "b"], "{parts:?}");
    }
    for text in ["", "nothing", "gitdir: "] {
        let _ = fs::remove_dir_all(tree.root.join(".git"));
        let _ = fs::remove_file(tree.root.join(".git"));
        tree.write(".git", text.as_bytes());
        assert_eq!(visible(), ["a", "b"], "{text:?}");
    }
    fs::remove_file(tree.root.join(".git")).expect("removed");
    tree.make_repository("");
    assert_eq!(visible(), ["b"]);
}

#[test]
fn a_root_below_a_repository_keeps_its_rules_beside_a_placeholder() {
    let tree = Tree::new(&[
        ("../.gitignore", b"*.log\n"),
        ("../.git/objects/x", b""),
        ("../.git/refs/x", b""),
        ("../.git/HEAD", b""),
        ("a.log", b""),
        ("b", b""),
    ]);
    assert_eq!(names(&tree, &[]), ["b"]);
    fs::create_dir(tree.root.join(".git")).expect("directory");
    assert_eq!(names(&tree, &[]), ["b"]);
}

#[test]
fn a_linked_worktree_has_the_excludes_of_a_repository_that_knows_it() {
    let tree = Tree::new(&[("skipped", b""), ("seen", b"")]);
    let elsewhere = tree.root.with_file_name("main");
    let own = elsewhere.join(".git/worktrees/w");
    fs::create_dir_all(&own).expect("directory");
    fs::create_dir_all(elsewhere.join(".git/info")).expect("directory");
    fs::write(elsewhere.join(".git/info/exclude"), "skipped\n").expect("file");
    fs::write(own.join("commondir"), "../..\n").expect("file");
    tree.write(".git", format!("gitdir: {}\n", own.display()).as_bytes());
    assert_eq!(names(&tree, &[]), ["seen", "skipped"], "it does not know this one");
    fs::write(own.join("gitdir"), format!("{}\n", tree.root.join(".git").display())).expect("file");
    assert_eq!(names(&tree, &[]), ["seen"]);
}

#[test]
fn a_second_look_finds_what_was_meant() {
    let tree = project();
    tree.write("README.md", b"");
    let look = |pattern: &str, ways: &[&str]| {
        let mut all: Vec<Way> =
            ways.iter().map(|glob| Way { glob: (*glob).to_owned(), any_case: false }).collect();
        all.push(Way { glob: pattern.to_owned(), any_case: true });
        let root = File::open(&tree.root).expect("root");
        let scope = &scope(&tree.root, "");
        let found = SecondLook { scope, pattern, ways: &all }.look(&|path| beneath(&root, path));
        found.expect("looked")
    };
    let hidden = look(".github/**", &[]);
    assert_eq!(hidden.left_out[0].0.path, Path::new(".github/workflows/ci.yml"));
    assert_eq!(hidden.left_out[0].1.as_deref(), Some(Path::new(".github")));
    let ignored = look("*.log", &[]);
    assert_eq!((&ignored.left_out[0].1, ignored.left_out_total), (&None, 1));
    assert_eq!(look("app", &[]).directory, Some(("app".into(), None)));
    assert_eq!(look("dist/", &[]).directory, Some(("dist".into(), Some(Why::Ignored))));
    let ways = look("page", &["*page*", "nothing"]).found;
    assert_eq!(ways, [Some("app/[slug]/page.tsx".into()), None, None]);
    assert_eq!(look("readme.md", &[]).found, [Some("README.md".into())]);
    assert_eq!(look(".git/config", &[]).left_out_total, 0);
}

#[test]
fn lines_have_context_counts_and_files() {
    let long = format!("{}needle\n", "x".repeat(5_000));
    let tree = Tree::new(&[("a", b"1\n2\nneedle\n4\n5\n6\nneedle\n"), ("b", long.as_bytes())]);
    let text = |pattern: &str, options: GrepOptions<'_>| {
        let options = GrepOptions { is_for_model: true, ..options };
        let request = GrepRequest { options, ..tree.request(pattern, &NEVER) };
        String::from_utf8(tree.run(&request).expect("searched").text).expect("text")
    };
    let lines = GrepOptions::default();
    let near = text("needle", GrepOptions { context: 1, ..lines });
    assert!(near.starts_with("a-2-2\na:3:needle\na-4-4\n--\na-6-6\na:7:needle\nb:1:…"), "{near}");
    assert!(near.ends_with("needle [column 5001 of 5006]\n"), "{near}");
    let counts = GrepOptions { prints: Prints::Counts, context: 2, ..lines };
    assert_eq!(text("needle", counts), "a:2\nb:1\n");
    assert_eq!(text("needle", GrepOptions { prints: Prints::Files, ..lines }), "a\nb\n");
    let over = GrepOptions { multiline: true, ..lines };
    assert_eq!(text("2\\nneedle\\n4", over), "a:2:2\na:3:needle\na:4:4\n");
    assert_eq!(text("2(?s:.)needle", over), "a:2:2\na:3:needle\n");
}

const NAMES: [&str; 13] =
    ["a", "b", ".h", "[s]", "{x}", "dist", "a*b", "!n", "#c", ".git", "q?", "-i", "N\\w"];
const WILD: [&str; 8] = ["*", "?", "**", ".*", ".g*", "{a,.h}", "[a-z]", "*[*"];

fn path(parts: &'static [&'static str]) -> impl Strategy<Value = String> {
    let part = prop::sample::select(parts);
    proptest::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

fn pattern() -> impl Strategy<Value = String> {
    let part = prop_oneof![prop::sample::select(&NAMES[..]), prop::sample::select(&WILD[..])];
    let parts = proptest::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"));
    (prop::sample::select(vec!["", "/", "**/"]), parts)
        .prop_map(|(start, rest)| start.to_owned() + &rest)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn laws_of_names(
        files in proptest::collection::vec(path(&NAMES), 1..10),
        rules in proptest::collection::vec("(a|b|dist|dist/|dist/\\*\\*|\\*\\*/a|/b/\\*|!\\.h|\\*|N)\n", 0..3),
        pattern in pattern(),
    ) {
        let tree = Tree::new(&[]);
        tree.make_repository("");
        tree.write(".gitignore", rules.concat().as_bytes());
        for path in &files {
            let path = tree.root.join(path);
            if fs::create_dir_all(path.parent().expect("parent")).is_ok() && !path.exists() {
                fs::write(path, "needle\n").expect("file");
            }
        }
        let is_git = |path: &str| Path::new(path).iter().any(|name| name == ".git");
        let visible = names(&tree, &[]);
        let handle = File::open(&tree.root).expect("root");
        let list = list_files(&scope(&tree.root, ""), &[&*pattern], &|path| beneath(&handle, path));
        // A pattern may be no glob.
        let Ok(list) = list else { return Ok(()) };
        let chosen = paths(&list);
        // Never `.git`, in neither search.
        prop_assert!(!chosen.iter().any(|path| is_git(path)), "{pattern}: {chosen:?}");
        let root = File::open(&tree.root).expect("root");
        let globs = [&*pattern];
        let query = LineQuery { pattern: "needle", globs: &globs, case_insensitive: false };
        let lines = find_lines(&scope(&tree.root, ""), &query, &|path| beneath(&root, path)).expect("searched");
        prop_assert!(!lines.hits().any(|hit| is_git(&hit.path.to_string_lossy())));
        // No wildcard shows what is ignored: only a pattern that is the name of the file does.
        let plain = pattern.trim_start_matches('/');
        for path in &chosen {
            let is_name = path == plain || !plain.contains('/') && path.rsplit('/').next() == Some(plain);
            prop_assert!(is_name || visible.contains(path), "{pattern}: {path} of {visible:?}");
        }
        for path in files.iter().filter(|path| tree.root.join(path).is_file() && !is_git(path)) {
            // Each name that exists is found by itself, wherever it is.
            let found = names(&tree, &[path]);
            prop_assert!(found.contains(path), "{path}: {found:?}");
        }
        // The start that a second look names shows the file.
        let look = SecondLook { scope: &scope(&tree.root, ""), pattern: &pattern, ways: &[] };
        let nearby = look.look(&|path| beneath(&root, path)).expect("looked");
        for (file, from) in &nearby.left_out {
            let path = file.path.to_string_lossy().into_owned();
            prop_assert!(!is_git(&path));
            if let Some(from) = from {
                let shown = paths(&listed(&tree, &from.to_string_lossy(), &["**"]));
                prop_assert!(shown.contains(&path), "{path} from {from:?}: {shown:?}");
            }
        }
    }
}
