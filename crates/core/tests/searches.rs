//! `grep` and `glob` at both doors: each limit and each refusal.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::rules::{WrittenRule, compile};
use toolwright_core::access::target::{self, Purpose};
use toolwright_core::code::Code;
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::glob::{GlobInput, GlobOutput, ListInput};
use toolwright_core::grep::{
    GrepInput, GrepOptions, Match, SearchText, SessionGrepInput, SessionGrepOutput,
};
use toolwright_core::session_search::{SearchInput, SearchTargets};
use toolwright_core::sidecar::SidecarRequest;
use toolwright_fs::DirectoryGrant;
use toolwright_policy::Variables;

const LONG: Duration = Duration::from_secs(60);

struct Fixture {
    _made: TempDir,
    path: PathBuf,
    policy: Arc<Policy>,
}

impl Fixture {
    /// Lines with `x`: one in `a/1.txt`, three in `b.md`, one in `closed/c`, which may not be read.
    fn new() -> Self {
        let made = tempfile::tempdir().unwrap();
        let path = made.path().canonicalize().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        for directory in ["a", "closed"] {
            fs::create_dir(path.join(directory)).unwrap();
        }
        fs::write(path.join("a/1.txt"), "x1\nno\n").unwrap();
        fs::write(path.join("b.md"), "x2\nx3\nX4 long enough\n").unwrap();
        fs::write(path.join("closed/c"), "x5\n").unwrap();
        let set = json!({ "fs": { "read": ["{workspace}/a/**", "{workspace}/*.md"] } });
        let request = PolicyRequest {
            variables: Variables { workspace: vec![path.clone()], ..Variables::default() },
            names: Some(vec![GrantedName { path: path.clone(), written: path.clone() }]),
            conjunction: vec![vec![Requirements { source: "test".to_owned(), set }]],
            ..PolicyRequest::default()
        };
        let policy = Arc::new(Policy::compile(&request, None).unwrap());
        Self { _made: made, path, policy }
    }

    fn input(&self, paths: &[&str], pattern: &str) -> SearchInput {
        let open = |path: &&str| {
            let never = AtomicBool::new(false);
            Arc::new(target::open(&self.policy, path, Purpose::Search, &never).unwrap())
        };
        SearchInput {
            over: SearchTargets {
                targets: paths.iter().map(open).collect(),
                rules: Vec::new(),
                tools: vec!["grep".to_owned()],
                is_approved: false,
                timeout: LONG,
            },
            pattern: pattern.to_owned(),
            max_results: 10,
            sidecar: SidecarRequest {
                directory: self.path.clone(),
                name: "all".to_owned(),
                limit_bytes: 1_000,
            },
        }
    }

    fn grep(&self, path: &str, pattern: &str, limit_bytes: usize) -> Result<String, Unfinished> {
        let root = DirectoryGrant::new("rootDir", &self.path);
        let options = GrepOptions::default();
        let input = GrepInput { root: &root, path, pattern, limit_bytes, timeout: LONG, options };
        input.run(&AtomicBool::new(false)).map(|found| found.text)
    }

    fn grep_for_model(&self, path: &str, pattern: &str) -> SearchText {
        let root = DirectoryGrant::new("rootDir", &self.path);
        let options = GrepOptions { is_for_model: true, ..GrepOptions::default() };
        let limit_bytes = 100_000;
        let input = GrepInput { root: &root, path, pattern, limit_bytes, timeout: LONG, options };
        input.run(&AtomicBool::new(false)).unwrap()
    }

    fn list(&self, path: &str, pattern: &str) -> Result<SearchText, Unfinished> {
        let root = DirectoryGrant::new("rootDir", &self.path);
        let input = ListInput { root: &root, path, pattern, limit_bytes: 100_000, timeout: LONG };
        input.run(&AtomicBool::new(false))
    }
}

fn session_grep(search: SearchInput) -> SessionGrepInput {
    SessionGrepInput { search, glob: None, case_insensitive: false }
}

fn run(input: &SessionGrepInput) -> Result<SessionGrepOutput, Unfinished> {
    input.run(&AtomicBool::new(false))
}

fn glob(search: SearchInput) -> Result<GlobOutput, Unfinished> {
    GlobInput { search }.run(&AtomicBool::new(false))
}

fn matches(output: &SessionGrepOutput) -> Vec<(&str, u64, &str)> {
    output.matches.iter().map(|hit| (&*hit.path, hit.line, &*hit.text)).collect()
}

fn failure<T: std::fmt::Debug>(result: Result<T, Unfinished>) -> Failure {
    match result.unwrap_err() {
        Unfinished::Failed(failure) => failure,
        _ => panic!("cancelled"),
    }
}

#[test]
fn grep_prints_lines_with_the_path_as_it_was_written() {
    let fixture = Fixture::new();
    let inside = fixture.path.join("a");
    for (path, expected) in [
        ("a", "a/1.txt:1:x1\n"),
        ("./a", "a/1.txt:1:x1\n"),
        (inside.to_str().unwrap(), "a/1.txt:1:x1\n"),
        ("closed/../a", "a/1.txt:1:x1\n"),
        ("a/1.txt", "a/1.txt:1:x1\n"),
    ] {
        assert_eq!(fixture.grep(path, "x", 1_000).unwrap(), expected, "{path}");
    }
    assert_eq!(fixture.grep("a", "nothing", 1_000).unwrap(), "");
}

#[test]
fn grep_keeps_to_its_limit_and_names_what_is_wrong() {
    let fixture = Fixture::new();
    let refused = |path, pattern| failure(fixture.grep(path, pattern, 1_000));
    assert!(fixture.grep(".", "x", 12).unwrap().len() <= 12);
    assert_eq!(refused("missing", "x").code, Code::GrepFailed);
    assert_eq!(refused("missing", "x").details["path"], "missing");
    assert_eq!(refused("..", "x").code, Code::PathEscape);
    assert_eq!(refused(".", "(").code, Code::GrepFailed);
    assert_eq!(refused(".", "(").details["pattern"], "(");
    let root = DirectoryGrant::new("rootDir", &fixture.path);
    let (limit_bytes, timeout, options) = (9, Duration::ZERO, GrepOptions::default());
    let input = GrepInput { root: &root, path: ".", pattern: "x", limit_bytes, timeout, options };
    assert_eq!(failure(input.run(&AtomicBool::new(false))).code, Code::ProcessTimeout);
    let input = GrepInput { timeout: LONG, ..input };
    assert_eq!(input.run(&AtomicBool::new(true)), Err(Unfinished::Cancelled));
}

#[test]
fn a_text_that_was_cut_ends_with_the_next_move() {
    let fixture = Fixture::new();
    fs::write(fixture.path.join("a/2.txt"), "x1234567\n".repeat(200)).unwrap();
    let text = fixture.grep("a", "x", 1_500).unwrap();
    let expected = "later matches are not shown; use a more specific pattern or a narrower path]\n";
    assert!(text.len() <= 1_500 && text.ends_with(expected), "{text}");
    fs::write(fixture.path.join("a/0.txt"), format!("x{}\n", "1".repeat(3_000))).unwrap();
    let text = fixture.grep("a", "x", 1_500).unwrap();
    assert!(text.ends_with("does not fit into 1500 bytes; search other paths]\n"), "{text}");
}

#[test]
fn a_search_of_a_session_shows_what_may_be_read() {
    let fixture = Fixture::new();
    let output = run(&session_grep(fixture.input(&["."], "x"))).unwrap();
    assert_eq!(matches(&output), [("a/1.txt", 1, "x1"), ("b.md", 1, "x2"), ("b.md", 2, "x3")]);
    assert_eq!((output.count, output.last, output.sidecar), (Some(3), None, None));
    assert_eq!(output.files_searched, 2);
    let mut targets = glob(fixture.input(&["."], "*")).unwrap();
    assert_eq!(targets.entries, ["a/1.txt", "b.md"]);
    targets = glob(fixture.input(&[".", "a"], "*.txt")).unwrap();
    assert_eq!(targets.entries, ["a/1.txt", "a/1.txt"], "each target in turn");
    assert_eq!(targets.sidecar, None);
}

#[test]
fn a_search_narrows_to_a_file_a_glob_and_a_case() {
    let fixture = Fixture::new();
    let file = run(&session_grep(fixture.input(&["a/1.txt"], "x"))).unwrap();
    assert_eq!(matches(&file), [("a/1.txt", 1, "x1")]);
    let search = session_grep(fixture.input(&["."], "X"));
    let markdown = SessionGrepInput { glob: Some("*.md".to_owned()), ..search.clone() };
    assert_eq!(matches(&run(&markdown).unwrap()), [("b.md", 3, "X4 long enough")]);
    let text = SessionGrepInput { glob: Some("*.txt".to_owned()), ..search.clone() };
    assert_eq!(run(&text).unwrap().files_searched, 1);
    let any_case = SessionGrepInput { case_insensitive: true, ..search };
    let output = run(&any_case).unwrap();
    assert_eq!(matches(&output)[3], ("b.md", 3, "X4 long enough"));
}

#[test]
fn results_that_do_not_fit_are_in_the_sidecar_with_their_last() {
    let fixture = Fixture::new();
    let search = |max_results| {
        let mut search = fixture.input(&["."], "(?i)x");
        search.max_results = max_results;
        search.sidecar.name = format!("all-{max_results}");
        session_grep(search)
    };
    let all = "a/1.txt:1:x1\nb.md:1:x2\nb.md:2:x3\nb.md:3:X4 long enough\n";
    assert_eq!(run(&search(4)).unwrap().sidecar, None);
    let output = run(&search(3)).unwrap();
    assert_eq!((output.matches.len(), output.count), (3, Some(4)));
    let last: Vec<u64> = output.last.unwrap().iter().map(|one| one.line).collect();
    assert_eq!(last, [3], "half as many as fit");
    assert_eq!(fs::read_to_string(output.sidecar.unwrap()).unwrap(), all);
    let output = run(&search(2)).unwrap();
    assert_eq!(output.last.unwrap().len(), 1);
    let mut listing = fixture.input(&["."], "*");
    listing.max_results = 2;
    assert_eq!(glob(listing.clone()).unwrap().sidecar, None);
    listing.max_results = 1;
    let listed = glob(listing).unwrap();
    assert_eq!(listed.entries, ["a/1.txt"]);
    assert_eq!(fs::read_to_string(listed.sidecar.unwrap()).unwrap(), "a/1.txt\nb.md\n");
}

#[test]
fn a_sidecar_is_cut_at_its_limit_or_fails_by_itself() {
    let fixture = Fixture::new();
    let mut search = fixture.input(&["."], "x");
    search.max_results = 1;
    search.sidecar.limit_bytes = 5;
    let output = run(&session_grep(search.clone())).unwrap();
    let sidecar = fs::read_to_string(output.sidecar.unwrap()).unwrap();
    assert!(sidecar.contains("the limit of 5 bytes is reached"), "{sidecar}");
    search.sidecar.directory = fixture.path.join("missing");
    assert_eq!(failure(run(&session_grep(search))).code, Code::IoFailed);
}

#[test]
fn searches_stop_at_their_timeout_and_when_they_are_cancelled() {
    let fixture = Fixture::new();
    let input = fixture.input(&["."], "x");
    let stop = AtomicBool::new(true);
    assert_eq!(session_grep(input.clone()).run(&stop), Err(Unfinished::Cancelled));
    assert_eq!(GlobInput { search: input.clone() }.run(&stop), Err(Unfinished::Cancelled));
    let mut late = input;
    late.over.timeout = Duration::ZERO;
    for failure in [failure(run(&session_grep(late.clone()))), failure(glob(late))] {
        assert_eq!(failure.code, Code::ProcessTimeout);
    }
}

#[test]
fn a_pattern_that_is_none_and_a_file_that_is_listed_are_refused() {
    let fixture = Fixture::new();
    assert_eq!(failure(run(&session_grep(fixture.input(&["."], "(")))).code, Code::GrepFailed);
    assert_eq!(failure(glob(fixture.input(&["."], "{"))).code, Code::GrepFailed);
    let file = failure(glob(fixture.input(&[".", "a/1.txt"], "*")));
    assert_eq!(file.code, Code::NotADirectory);
    assert_eq!(file.details["path"], "a/1.txt");
}

#[test]
fn rules_close_files_to_a_search_unless_the_user_agrees() {
    let fixture = Fixture::new();
    let rule = |pattern: &str, action: &str| WrittenRule {
        permission: "grep".to_owned(),
        pattern: pattern.to_owned(),
        action: Some(action.to_owned()),
        source: None,
    };
    let variables = Variables { workspace: vec![fixture.path.clone()], ..Variables::default() };
    let rules = vec![rule("a/**", "ask"), rule("*.md", "deny")];
    let mut input = fixture.input(&["."], "x");
    input.over.rules = vec![Arc::new(compile(rules, &variables, None).unwrap())];
    assert_eq!(matches(&run(&session_grep(input.clone())).unwrap()), []);
    input.over.is_approved = true;
    assert_eq!(matches(&run(&session_grep(input.clone())).unwrap()), [("a/1.txt", 1, "x1")]);
    input.over.tools = vec!["other".to_owned()];
    assert_eq!(run(&session_grep(input)).unwrap().matches.len(), 3, "no rule is about it");
}

#[test]
fn what_cannot_be_searched_is_named_as_far_as_it_may_be_known() {
    if is_root() {
        return; // nothing is closed to root
    }
    let fixture = Fixture::new();
    for path in ["b.md", "closed/c"] {
        let closed = fs::Permissions::from_mode(0o0);
        fs::set_permissions(fixture.path.join(path), closed).unwrap();
    }
    let output = run(&session_grep(fixture.input(&["."], "x"))).unwrap();
    assert_eq!(output.unsearched.len(), 1, "{:?}", output.unsearched);
    assert!(output.unsearched[0].starts_with("b.md: "));
}

fn is_root() -> bool {
    // SAFETY: the call has no preconditions.
    unsafe { libc::geteuid() == 0 }
}

#[test]
fn a_tool_gets_what_there_is() {
    let output = SessionGrepOutput {
        matches: vec![Match {
            path: "a".to_owned(),
            line: 1,
            text: "\"x\"".to_owned(),
            column: None,
        }],
        last: Some(Vec::new()),
        count: Some(1),
        files_searched: 2,
        sidecar: None,
        unsearched: Vec::new(),
        notes: Vec::new(),
    };
    let parsed = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let items = json!([{ "path": "a", "line": 1, "text": "\"x\"" }]);
    assert_eq!(parsed(output.to_json()), json!({ "items": items, "files_scanned": 2 }));
    let more = SessionGrepOutput {
        sidecar: Some("/s".into()),
        unsearched: vec!["b: why".to_owned()],
        notes: vec!["why".to_owned()],
        ..output
    };
    assert_eq!(
        parsed(more.to_json()),
        json!({
            "items": items, "files_scanned": 2, "output_path": "/s", "last": [], "count": 1,
            "not_searched": ["b: why"], "notes": ["why"],
        })
    );
    let (entries, unlisted, notes) = (vec!["a".to_owned()], Vec::new(), Vec::new());
    let listing = GlobOutput { entries, sidecar: None, unlisted, notes };
    assert_eq!(parsed(listing.to_json()), json!({ "items": ["a"] }));
}

/// A repository with what is left out: `dist` and `.github`, `a.log`, `out/*`.
fn repository() -> Fixture {
    let made = tempfile::tempdir().unwrap();
    let path = made.path().canonicalize().unwrap();
    for (name, text) in [
        (".git/HEAD", "needle\n"),
        (".git/objects/x", ""),
        (".git/refs/x", ""),
        (".gitignore", "dist/\n*.log\nout/*\n"),
        (".github/ci.yml", "on: push\n"),
        ("dist/o.md", "ignored\n"),
        ("out/p.md", "ignored\n"),
        ("a.log", "ignored\n"),
        ("src/main.ts", "main\nhelper\n"),
        ("app/[slug]/page.tsx", "page\n"),
        ("README.md", "read\n"),
    ] {
        let path = path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let set = json!({ "fs": { "read": ["{workspace}/**"] } });
    let request = PolicyRequest {
        variables: Variables { workspace: vec![path.clone()], ..Variables::default() },
        names: Some(vec![GrantedName { path: path.clone(), written: path.clone() }]),
        conjunction: vec![vec![Requirements { source: "test".to_owned(), set }]],
        ..PolicyRequest::default()
    };
    let policy = Arc::new(Policy::compile(&request, None).unwrap());
    Fixture { _made: made, path, policy }
}

/// Every sentence about what a search has not shown, at both doors.
#[test]
fn what_is_left_out_is_said_with_the_next_move() {
    let fixture = repository();
    let mut texts = String::new();
    let patterns = [
        "*.log",
        "a.log",
        "dist/**",
        "dist/o.md",
        "dist",
        "{src,dist}/*",
        ".github/**",
        "out/*.md",
        ".git/**",
        "app",
        "page",
        "app/page.tsx",
        "readme.md",
        ".*\\.ts$",
        "\\.go$",
        "src/.*\\.tsx?$",
        "../x",
        "~/x",
        "*.rs",
        "[slug]",
        "*",
    ];
    for pattern in patterns {
        let found = fixture.list(".", pattern).unwrap();
        let session = glob(fixture.input(&["."], pattern)).unwrap();
        let text = found.text.replace('\n', " ");
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), session.entries);
        writeln!(texts, "glob {pattern}\n  {text}{}", found.note.unwrap_or_default()).unwrap();
        writeln!(texts, "  {}", session.notes.join(" ")).unwrap();
    }
    for (path, pattern) in [
        (".", "ignored"),
        (".", "main\\|helper"),
        (".", "-i MAIN"),
        ("src", "nothing"),
        ("dist", "x"),
        (".git", "needle"),
        (".git/HEAD", "needle"),
        (".", "main"),
    ] {
        let found = fixture.grep_for_model(path, pattern);
        let session = run(&session_grep(fixture.input(&[path], pattern))).unwrap();
        let text = found.text.replace('\n', " ");
        writeln!(texts, "grep {pattern} in {path}\n  {text}{}", found.note.unwrap_or_default())
            .unwrap();
        writeln!(texts, "  {}", session.notes.join(" ")).unwrap();
    }
    for glob in ["dist/*", "*.log", "app", "*.go", "*.tsx"] {
        let input = session_grep(fixture.input(&["."], "ignored"));
        let output = run(&SessionGrepInput { glob: Some(glob.to_owned()), ..input }).unwrap();
        writeln!(texts, "grep with glob {glob}\n  {}", output.notes.join(" ")).unwrap();
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn a_long_line_is_a_window_with_its_column() {
    let fixture = Fixture::new();
    let line = format!("{}needle{}", "a".repeat(5_000), "b".repeat(250_000));
    fs::write(fixture.path.join("a/0.min.js"), line).unwrap();
    fs::write(fixture.path.join("a/z.ts"), "needle\n").unwrap();
    let found = fixture.grep_for_model(".", "needle");
    assert!(found.text.len() < 700 && found.text.ends_with("a/z.ts:1:needle\n"), "{}", found.text);
    assert!(found.text.contains("aneedleb") && found.text.contains(" [column 5001 of 255006]\n"));
    let output = run(&session_grep(fixture.input(&["."], "needle"))).unwrap();
    assert_eq!(output.matches[0].column, Some(5_001));
    assert!(output.matches[0].text.len() < 600 && output.matches[0].text.contains("needle"));
    assert!(output.matches[1].column.is_none() && output.notes[0].contains("`column`"));
}

#[test]
fn a_list_that_is_cut_says_so_and_a_file_is_no_directory() {
    let fixture = Fixture::new();
    let root = DirectoryGrant::new("rootDir", &fixture.path);
    for name in 0..100 {
        fs::write(fixture.path.join(format!("a/{name:03}.txt")), "").unwrap();
    }
    for limit_bytes in [20, 200, 500, 900, 2_000] {
        let input = ListInput { root: &root, path: "a", pattern: "*", limit_bytes, timeout: LONG };
        let text = input.run(&AtomicBool::new(false)).unwrap().text;
        assert!(text.len() <= limit_bytes && text.ends_with('\n'), "{limit_bytes}: {text}");
        assert_eq!(text.contains("[list cut"), (200..1_010).contains(&limit_bytes), "{text}");
    }
    assert_eq!(failure(fixture.list("b.md", "*")).code, Code::NotADirectory);
    assert_eq!(failure(fixture.list("missing", "*")).code, Code::GrepFailed);
    assert_eq!(failure(fixture.list(".", "a[")).code, Code::GrepFailed);
    assert_eq!(fixture.list(".", "./b.md").unwrap().text, "b.md\n");
    assert_eq!(fixture.list("a", "1.txt").unwrap().text, "a/1.txt\n");
}
