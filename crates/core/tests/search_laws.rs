//! The laws of `grep` and `glob`: they show what the visibility law allows, and as much as their limit.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use tempfile::TempDir;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::target::{self, Purpose};
use toolwright_core::access::visibility::Visibility;
use toolwright_core::glob::GlobInput;
use toolwright_core::grep::SessionGrepInput;
use toolwright_core::session_search::{SearchInput, SearchTargets};
use toolwright_core::sidecar::SidecarRequest;
use toolwright_policy::{Action, Rule, Rules, Source, Variables};

static NEVER: AtomicBool = AtomicBool::new(false);
const FILES: [&str; 6] = ["a/1.md", "a/2.txt", "a/b/3.md", "c/4.md", "c/5.txt", "top.md"];

struct Fixture {
    _made: TempDir,
    path: PathBuf,
    policy: Arc<Policy>,
}

impl Fixture {
    /// Every file has one line, with `x`. Those of `c` may not be read.
    fn new() -> Self {
        let made = tempfile::tempdir().unwrap();
        let path = made.path().canonicalize().unwrap();
        fs::create_dir_all(path.join("a/b")).unwrap();
        // Files with all results go there, too, and nobody else may look at those.
        fs::create_dir(path.join("c")).unwrap();
        fs::set_permissions(path.join("c"), fs::Permissions::from_mode(0o700)).unwrap();
        for file in FILES {
            fs::write(path.join(file), "x\n").unwrap();
        }
        let set = json!({ "fs": { "read": ["{workspace}/a/**", "{workspace}/*.md"] } });
        let request = PolicyRequest {
            variables: variables(&path),
            names: Some(vec![GrantedName { path: path.clone(), written: path.clone() }]),
            conjunction: vec![vec![Requirements { source: "test".to_owned(), set }]],
            ..PolicyRequest::default()
        };
        let policy = Arc::new(Policy::compile(&request, None).unwrap());
        Self { _made: made, path, policy }
    }

    fn input(&self, tool: &str, pattern: &str, max_results: u64) -> SearchInput {
        let start = target::open(&self.policy, ".", Purpose::Search, &NEVER).unwrap();
        SearchInput {
            over: SearchTargets {
                targets: vec![Arc::new(start)],
                rules: Vec::new(),
                tools: vec![tool.to_owned()],
                is_approved: false,
                timeout: Duration::from_secs(60),
            },
            pattern: pattern.to_owned(),
            max_results,
            sidecar: SidecarRequest {
                directory: self.path.join("c"),
                name: tool.to_owned(),
                limit_bytes: 1_000,
            },
        }
    }
}

fn variables(path: &Path) -> Variables {
    Variables { workspace: vec![path.to_owned()], ..Variables::default() }
}

fn grep(search: SearchInput) -> (Vec<String>, bool) {
    let input = SessionGrepInput { search, glob: None, case_insensitive: false };
    let output = input.run(&NEVER).unwrap();
    let paths = output.matches.iter().map(|hit| hit.path.clone()).collect();
    (paths, output.sidecar.is_some())
}

fn glob(search: SearchInput) -> (Vec<String>, bool) {
    let output = GlobInput { search }.run(&NEVER).unwrap();
    (output.entries, output.sidecar.is_some())
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let permission = select(vec!["*", "grep", "glob", "fs.read", "bash"]);
    let pattern = select(vec!["**", "a/**", "a/b/**", "*.md", "a/2.txt", "c/**"]);
    let action = select(vec![Action::Allow, Action::Ask, Action::Deny]);
    let source = select(vec![Source::Manifest, Source::Project, Source::Session]);
    (permission, pattern, action, source).prop_map(|(permission, pattern, action, source)| Rule {
        permission: permission.to_owned(),
        pattern: pattern.to_owned(),
        action,
        source,
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        // Each case makes a tree.
        cases: ProptestConfig::default().cases.div_ceil(2),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_search_shows_exactly_what_the_law_of_visibility_allows(
        lists in vec(vec(any_rule(), 0..4), 0..3),
        is_approved in any::<bool>(),
    ) {
        let fixture = Fixture::new();
        let compile = |rules: &Vec<Rule>| {
            Arc::new(Rules::compile(rules, &variables(&fixture.path)).unwrap())
        };
        let chain: Vec<Arc<Rules>> = lists.iter().map(compile).collect();
        for tool in ["grep", "glob"] {
            let law = Visibility { policy: &fixture.policy, rules: &chain, tool, is_approved };
            let visible = FILES.into_iter().filter(|file| law.shows(&fixture.path.join(file)));
            let mut input = fixture.input(tool, if tool == "grep" { "x" } else { "**" }, 100);
            input.over.rules.clone_from(&chain);
            input.over.is_approved = is_approved;
            let (mut shown, _) = if tool == "grep" { grep(input) } else { glob(input) };
            shown.sort();
            prop_assert_eq!(shown, visible.collect::<Vec<_>>(), "{} {:?}", tool, lists);
        }
    }

    #[test]
    fn a_search_gives_as_much_as_its_limit_and_the_rest_in_a_file(limit in 1_usize..7) {
        let max_results = limit as u64;
        let fixture = Fixture::new();
        let all = ["a/1.md", "a/2.txt", "a/b/3.md", "top.md"];
        let expected = &all[..all.len().min(limit)];
        let is_cut = limit < all.len();
        let (mut shown, has_file) = grep(fixture.input("grep", "x", max_results));
        shown.sort();
        prop_assert_eq!((shown.len(), has_file), (expected.len(), is_cut));
        prop_assert!(shown.iter().all(|path| all.contains(&&**path)));
        let (shown, has_file) = glob(fixture.input("glob", "**", max_results));
        prop_assert_eq!((shown, has_file), (expected.iter().map(ToString::to_string).collect(), is_cut));
    }
}
