//! `repo_overview`: what it tells, and that nothing which may not be shown changes it.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::collection::{hash_set, vec};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::target::{self, Purpose};
use toolwright_core::access::visibility::Visibility;
use toolwright_core::code::Code;
use toolwright_core::failure::Unfinished;
use toolwright_core::overview::{OverviewInput, OverviewOutput};
use toolwright_core::session_search::SearchTargets;
use toolwright_policy::{Action, Rule, Rules, Source, Variables};
use toolwright_search::{Parallelism, Scope, list_files};

const LONG: Duration = Duration::from_secs(60);

struct Fixture {
    _made: TempDir,
    path: PathBuf,
    policy: Arc<Policy>,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let made = tempfile::tempdir().unwrap();
        let path = made.path().canonicalize().unwrap();
        let set = json!({ "fs": { "read": ["{workspace}/**"] } });
        let request = PolicyRequest {
            variables: Variables { workspace: vec![path.clone()], ..Variables::default() },
            names: Some(vec![GrantedName { path: path.clone(), written: path.clone() }]),
            conjunction: vec![vec![Requirements { source: "test".to_owned(), set }]],
            closed: vec![path.join("closed")],
            ..PolicyRequest::default()
        };
        let policy = Arc::new(Policy::compile(&request, None).unwrap());
        let fixture = Self { _made: made, path, policy };
        for (path, text) in files {
            fixture.put(path, text.as_bytes());
        }
        fixture
    }

    fn put(&self, path: &str, content: &[u8]) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn rules(&self, rules: &[Rule]) -> Vec<Arc<Rules>> {
        let variables = Variables { workspace: vec![self.path.clone()], ..Variables::default() };
        vec![Arc::new(Rules::compile(rules, &variables).unwrap())]
    }

    fn input(&self, paths: &[&str]) -> OverviewInput {
        let open = |path: &&str| {
            let never = AtomicBool::new(false);
            Arc::new(target::open(&self.policy, path, Purpose::Search, &never).unwrap())
        };
        let over = SearchTargets {
            targets: paths.iter().map(open).collect(),
            rules: Vec::new(),
            tools: vec!["repo_overview".to_owned()],
            is_approved: false,
            timeout: LONG,
        };
        OverviewInput { over, depth: 3, max_lines: 200 }
    }

    fn overview(&self) -> OverviewOutput {
        run(self.input(&["."]))
    }
}

fn run(input: OverviewInput) -> OverviewOutput {
    input.run(&AtomicBool::new(false)).unwrap()
}

/// All of an overview that a model reads.
fn text(output: &OverviewOutput) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{:?}", output.count);
    for (language, count) in &output.languages {
        let _ = writeln!(text, "{language}: {} files, {} bytes", count.files, count.bytes);
    }
    let _ = writeln!(text, "dependencies: {:?}", output.dependencies);
    for manifest in &output.manifests {
        let _ = writeln!(text, "{manifest:?}");
    }
    let _ = writeln!(text, "and {} manifests", output.more_manifests);
    let _ = writeln!(text, "entry points: {:?}", output.entry_points);
    let _ = writeln!(text, "readme: {:?}", output.readme);
    let _ = writeln!(text, "not listed: {:?}", output.unlisted);
    text + &output.tree
}

#[test]
fn a_project_as_a_model_reads_it() {
    let fixture = Fixture::new(&[
        (
            "package.json",
            r#"{"name":"shop","version":"2.1.0","scripts":{"test":"vitest run","build":"tsc"},"bin":{"shop":"./bin/shop"},"workspaces":["packages/*"]}"#,
        ),
        ("README.md", "# Shop\n\nSells things.\n"),
        ("src/index.ts", "export const a = 1\n"),
        ("src/cart.ts", "export const b = 2\n"),
        ("src/deep/er/than/shown.ts", "export {}\n"),
        (
            "packages/native/Cargo.toml",
            "[package]\nname = \"native\"\n[[bin]]\nname = \"n\"\npath = \"src/n.rs\"\n",
        ),
        ("packages/native/src/main.rs", "fn main() {}\n"),
        ("packages/broken/package.json", "{ not json"),
        ("Makefile", "all: build\nbuild:\n\tcargo build\n"),
        ("node_modules/x/package.json", "{\"name\":\"x\"}"),
        ("node_modules/x/index.js", "module.exports = 1\n"),
        ("dist/bundle.js", "ignored\n"),
        (".gitignore", "dist/\n"),
        (".git/HEAD", "ref: x\n"),
        (".git/objects/x", ""),
        (".git/refs/x", ""),
        ("LICENSE", "MIT\n"),
    ]);
    fixture.put("bin/shop", b"#!/usr/bin/env node\n");
    fs::set_permissions(fixture.path.join("bin/shop"), fs::Permissions::from_mode(0o755)).unwrap();
    let overview = fixture.overview();
    insta::assert_snapshot!(text(&overview));
    insta::assert_snapshot!("as_a_tool_gives_it", overview.to_json().replace(",\"", ",\n\""));
}

#[test]
fn a_part_of_a_project_and_several_roots() {
    let fixture = Fixture::new(&[
        ("a/README", "first"),
        ("a/b/go.mod", "module m\n"),
        ("c/main.go", "package main\n"),
    ]);
    let part = run(fixture.input(&["a/b"]));
    assert_eq!(part.tree, "a/b/ (1 file)\n  go.mod\n");
    assert_eq!(part.manifests[0].path, "a/b/go.mod");
    assert_eq!(part.readme, None);
    let both = run(fixture.input(&["c", "a"]));
    assert_eq!(both.count.files, 3);
    assert_eq!(
        both.tree,
        "c/ (1 file)\n  main.go\na/ (2 files)\n  b/ (1 file)\n    go.mod\n  README\n"
    );
    assert_eq!(both.readme, Some(("a/README".to_owned(), "first".to_owned())));
    assert_eq!(both.entry_points, ["c/main.go"]);
    let empty = Fixture::new(&[]).overview();
    assert_eq!((empty.count.files, &*empty.tree), (0, "./ (0 files)\n"));
}

#[test]
fn the_tree_keeps_to_its_lines_and_says_what_it_leaves_out() {
    let fixture = Fixture::new(&[]);
    for directory in 0..30 {
        for file in 0..20 {
            fixture.put(&format!("d{directory:02}/f{file:02}.txt"), b"x");
        }
    }
    for max_lines in [0, 1, 2, 3, 10, 31, 52, 200, 2_000] {
        let output = run(OverviewInput { max_lines, ..fixture.input(&["."]) });
        let lines = output.tree.lines().count();
        assert!(lines <= max_lines.max(1), "{lines} of {max_lines}");
        assert_eq!(output.count.files, 600);
    }
    let folded = run(OverviewInput { max_lines: 10, ..fixture.input(&["."]) }).tree;
    assert!(folded.ends_with("  d07/ (20 files)\n  … 440 files more\n"), "{folded}");
    let shallow = run(OverviewInput { depth: 1, ..fixture.input(&["."]) }).tree;
    assert!(shallow.contains("  d29/ (20 files)\n") && !shallow.contains("f00"), "{shallow}");
    let unfolded = run(OverviewInput { max_lines: 2_000, ..fixture.input(&["."]) }).tree;
    assert!(unfolded.contains("    f14.txt\n") || unfolded.contains("    f19.txt\n"), "{unfolded}");
}

#[test]
fn names_and_texts_cannot_forge_lines() {
    let fixture = Fixture::new(&[
        ("README.md", "\u{0}binary"),
        ("a\n  forged.rs", "x"),
        ("d\u{1b}[2J/e", "x"),
    ]);
    fs::write(fixture.path.join(OsStr::from_bytes(b"\xff\xfe.rs")), "x").unwrap();
    let json = "{\"name\":\"a\\n\\u001b[31m\",\"scripts\":{\"x\\ny\":\"z\\n\"}}";
    fixture.put("package.json", json.as_bytes());
    let output = fixture.overview();
    assert!(
        !output.tree.contains('\u{1b}') && !output.tree.contains("\n  forged"),
        "{}",
        output.tree
    );
    assert!(output.tree.contains("a\\n  forged.rs") && output.tree.contains(r#""\377\376.rs""#));
    assert_eq!(output.readme, None);
    let facts = &output.manifests[0].facts;
    assert_eq!(facts.name.as_deref(), Some("a  [31m"));
    assert_eq!(facts.scripts, [("x y".to_owned(), "z ".to_owned())]);
    assert_eq!(output.languages.iter().find(|(name, _)| name == "Rust").unwrap().1.files, 2);
}

#[test]
fn large_and_malformed_manifests_say_so_and_links_lead_nowhere() {
    let fixture = Fixture::new(&[("go.mod", "module m\n"), ("b/package.json", "[1")]);
    let large = fs::File::create(fixture.path.join("Cargo.toml")).unwrap();
    large.set_len(100 << 20).unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("package.json"), "{\"name\":\"outside\"}").unwrap();
    symlink(outside.path(), fixture.path.join("away")).unwrap();
    symlink(outside.path().join("package.json"), fixture.path.join("package.json")).unwrap();
    symlink("..", fixture.path.join("b/loop")).unwrap();
    symlink("/dev/zero", fixture.path.join("README.md")).unwrap();
    let start = Instant::now();
    let output = fixture.overview();
    assert!(start.elapsed() < Duration::from_secs(1));
    let messages: Vec<_> =
        output.manifests.iter().map(|one| (&*one.path, one.problem.as_deref())).collect();
    assert_eq!(
        messages,
        [
            ("Cargo.toml", Some("larger than 256 KiB")),
            ("go.mod", None),
            ("b/package.json", Some("malformed"))
        ]
    );
    assert_eq!((output.count.files, output.readme), (3, None));
}

#[test]
fn a_file_is_no_directory_and_a_call_can_be_stopped() {
    let fixture = Fixture::new(&[("a", "x")]);
    let failed = |input: OverviewInput, stop: bool| match input.run(&AtomicBool::new(stop)) {
        Err(Unfinished::Failed(failure)) => Some(failure),
        Err(Unfinished::Cancelled | Unfinished::Stopped { .. }) => None,
        Ok(overview) => panic!("{overview:?}"),
    };
    assert_eq!(failed(fixture.input(&["a"]), false).unwrap().code, Code::NotADirectory);
    assert_eq!(failed(fixture.input(&["."]), true), None);
    let mut late = fixture.input(&["."]);
    late.over.timeout = Duration::ZERO;
    let failure = failed(late, false).unwrap();
    assert_eq!(failure.code, Code::ProcessTimeout);
    insta::assert_snapshot!(failure.message());
}

/// A rule for the overview alone opens nothing that the others may not show.
#[test]
fn what_no_other_tool_may_show_is_no_part_of_it() {
    let fixture = Fixture::new(&[("a.rs", "x")]);
    let rule = |permission: &str, pattern: &str, action| Rule {
        permission: permission.to_owned(),
        pattern: pattern.to_owned(),
        action,
        source: Source::Manifest,
    };
    let rules = [rule("repo_overview", "**/*.rs", Action::Allow), rule("*", "**", Action::Deny)];
    let mut input = fixture.input(&["."]);
    input.over.rules = fixture.rules(&rules);
    assert_eq!(run(input).count.files, 0);
}

#[test]
fn an_abort_in_the_middle_stops_at_once() {
    let fixture = Fixture::new(&[]);
    for directory in 0..200 {
        for file in 0..100 {
            fixture.put(&format!("d{directory}/f{file}.rs"), b"");
        }
    }
    let mut cancelled = 0;
    for wait_ms in [0, 1, 3, 6, 10, 15] {
        let cancel = AtomicBool::new(false);
        thread::scope(|scope| {
            let running = scope.spawn(|| {
                let result = fixture.input(&["."]).run(&cancel);
                (result, Instant::now())
            });
            thread::sleep(Duration::from_millis(wait_ms));
            let aborted = Instant::now();
            cancel.store(true, Ordering::Relaxed);
            let (result, ended) = running.join().unwrap();
            // A machine that does other work too may take longer than the search does.
            assert!(ended.saturating_duration_since(aborted) < Duration::from_secs(2));
            match result {
                Err(Unfinished::Cancelled | Unfinished::Stopped { .. }) => cancelled += 1,
                result => assert!(result.is_ok(), "{result:?}"),
            }
        });
    }
    assert!(cancelled > 0);
}

const TOOLS: [&str; 4] = ["repo_overview", "read", "grep", "glob"];

fn any_rule() -> impl Strategy<Value = Rule> {
    let source = prop_oneof![Just(Source::Manifest), Just(Source::Project), Just(Source::Session)];
    let action = prop_oneof![Just(Action::Allow), Just(Action::Ask), Just(Action::Deny)];
    let permission = prop_oneof![
        Just("*"),
        Just("fs.read"),
        Just("bash"),
        Just("repo_overview"),
        Just("read"),
        Just("grep"),
        Just("glob"),
    ];
    let pattern = prop_oneof![
        Just("**"),
        Just("a/**"),
        Just("**/*.rs"),
        Just("b/a/**"),
        Just("**/package.json"),
        Just("README.md"),
        Just("**/c*"),
        Just("node_modules/**"),
    ];
    (source, action, permission, pattern).prop_map(|(source, action, permission, pattern)| Rule {
        permission: permission.to_owned(),
        pattern: pattern.to_owned(),
        action,
        source,
    })
}

fn any_path() -> impl Strategy<Value = String> {
    let directory =
        prop_oneof![Just("a/"), Just("b/"), Just("closed/"), Just(".h/"), Just("node_modules/")];
    let name = prop_oneof![
        Just("a.rs"),
        Just("b.py"),
        Just("c"),
        Just("package.json"),
        Just("Cargo.toml"),
        Just("README.md"),
        Just("main.rs"),
        Just(".hidden"),
        Just("script"),
        Just("kept.db"),
    ];
    (vec(directory, 0..4), name).prop_map(|(directories, name)| directories.concat() + name)
}

/// The files that each of the tools may show, by the walk of a search without patterns.
fn visible(fixture: &Fixture, rules: &[Arc<Rules>], is_approved: bool) -> HashSet<PathBuf> {
    let shows = |path: &Path| {
        TOOLS.iter().all(|tool| {
            let policy = &fixture.policy;
            Visibility { policy, rules, tool, is_approved }.shows(&fixture.path.join(path))
        })
    };
    let scope = Scope {
        root: &fixture.path,
        start: Path::new(""),
        filter: &shows,
        max_results: u64::MAX,
        max_bytes: usize::MAX,
        deadline: None,
        cancel: &AtomicBool::new(false),
        parallelism: Parallelism::default(),
    };
    let listing = list_files(&scope, &[], &|path| fs::File::open(fixture.path.join(path))).unwrap();
    listing.paths().map(|path| fixture.path.join(path)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// What may not be shown changes nothing: neither a name nor a text nor a number.
    #[test]
    fn nothing_hidden_leaks(
        files in hash_set(any_path(), 0..25),
        rules in vec(any_rule(), 0..5),
        ignored in vec(prop_oneof![Just("*.py"), Just("b/"), Just("/c"), Just("!c"), Just("package.json")], 0..3),
        ignored_in in prop_oneof![Just(".gitignore"), Just(".ignore"), Just("a/.rgignore")],
        is_approved in any::<bool>(),
        depth in 0_usize..5,
        max_lines in 0_usize..30,
    ) {
        let fixture = Fixture::new(&[(".git/HEAD", "x"), (".git/objects/x", ""), (".git/refs/x", ""), (ignored_in, &ignored.join("\n"))]);
        for (number, path) in files.iter().enumerate() {
            let padding = " ".repeat(number);
            let content = match path.rsplit_once('.') {
                Some((_, "json")) => format!("{{\"name\":\"n{number}\"}}{padding}"),
                Some((_, "toml")) => format!("[package]\nname = 'n{number}'{padding}"),
                _ => format!("#!/bin/sh\nn{number}{padding}"),
            };
            fixture.put(path, content.as_bytes());
            let mode = fs::Permissions::from_mode(if path.ends_with("script") { 0o755 } else { 0o644 });
            fs::set_permissions(fixture.path.join(path), mode).unwrap();
        }
        let reserved = files.iter().filter(|path| path.ends_with("kept.db"));
        let reserved: Vec<PathBuf> = reserved.map(|path| fixture.path.join(path)).collect();
        let reservation = toolwright_reserved::reserve(reserved.clone());
        let rules = fixture.rules(&rules);
        let overview = || {
            let mut input = fixture.input(&["."]);
            (input.over.rules, input.over.is_approved) = (rules.clone(), is_approved);
            (input.depth, input.max_lines) = (depth, max_lines);
            run(input)
        };
        let whole = overview();
        let visible_files = visible(&fixture, &rules, is_approved);
        prop_assert!(reserved.iter().all(|path| !visible_files.contains(path)));
        drop(reservation);
        prop_assert_eq!(whole.count.files, visible_files.len() as u64);
        for path in files.iter().map(|path| fixture.path.join(path)) {
            if !visible_files.contains(&path) {
                fs::remove_file(path).unwrap();
            }
        }
        prop_assert_eq!(text(&overview()), text(&whole));
    }
}
