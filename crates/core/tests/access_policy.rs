//! What a session may do: capabilities, its own directories, what is closed, and what it inherits.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::protected_paths;
use toolwright_core::access::rules::{WrittenRule, compile};
use toolwright_core::access::target::Purpose;
use toolwright_core::code::Code;
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_policy::{Access, Variables};
use toolwright_sandbox::policy::stores;

fn variables() -> Variables {
    let workspace = vec!["/w".into(), "/v".into()];
    Variables { workspace, ad_hoc: vec!["/tmp-open".into()], user_data: vec!["/data".into()] }
}

fn requirements(set: Value) -> Vec<Requirements> {
    vec![Requirements { source: "manifest.requires".to_owned(), set }]
}

fn request(sets: &[Value]) -> PolicyRequest {
    let conjunction = sets.iter().cloned().map(requirements).collect();
    PolicyRequest { variables: variables(), conjunction, ..PolicyRequest::default() }
}

fn policy(set: Value) -> Policy {
    Policy::compile(&request(&[set]), None).unwrap()
}

fn failure<T: std::fmt::Debug>(result: Result<T, Unfinished>) -> Failure {
    match result.unwrap_err() {
        Unfinished::Failed(failure) => failure,
        _ => panic!("cancelled"),
    }
}

#[test]
fn each_purpose_takes_its_own_capabilities() {
    use Purpose::{Edit, Read, Search, Workdir, Write};
    let policy = policy(json!({ "fs": {
        "read": ["{workspace}/read/**", "{workspace}/both/**", "{workspace}/around/some/**"],
        "write": ["{workspace}/write/**", "{workspace}/both/**"],
    } }));
    let allowed = |path: &str, is_directory| -> Vec<Purpose> {
        let purposes = [Read, Write, Edit, Search, Workdir];
        let is_allowed = |it: &Purpose| it.is_allowed(&policy, Path::new(path), is_directory);
        purposes.into_iter().filter(is_allowed).collect()
    };
    assert_eq!(allowed("/w/read/a", false), [Read, Search, Workdir]);
    assert_eq!(allowed("/w/read/a", true), [Read, Search, Workdir]);
    assert_eq!(allowed("/w/write/a", false), [Write]);
    assert_eq!(allowed("/w/both/a", false), [Read, Write, Edit, Search, Workdir]);
    assert_eq!(allowed("/w/none", true), []);
    // A directory may be searched for what is readable in it, and a file of that name may not.
    assert_eq!(allowed("/w/around", true), [Search, Workdir]);
    assert_eq!(allowed("/w/around", false), []);
    assert_eq!(allowed("/w/write", true), [Write]);
    // Commands run in a root of the workspace, whatever may be read there.
    assert_eq!(allowed("/w", true), [Search, Workdir]);
    assert_eq!(allowed("/w", false), [Workdir]);
}

#[test]
fn commands_run_in_a_root_of_which_nothing_may_be_read() {
    let policy = policy(json!({}));
    for root in ["/w", "/v"] {
        assert!(Purpose::Workdir.is_allowed(&policy, Path::new(root), true));
        assert!(!Purpose::Search.is_allowed(&policy, Path::new(root), true));
    }
    assert!(!Purpose::Workdir.is_allowed(&policy, Path::new("/w/a"), true));
    assert!(!Purpose::Workdir.is_allowed(&policy, Path::new("/data"), true));
}

#[test]
fn own_directories_need_no_capability() {
    let own = |path: &str| vec![PathBuf::from(path)];
    let request = PolicyRequest {
        implicit_read: own("/own/session"),
        implicit_write: own("/own/scratch"),
        ..request(&[json!({})])
    };
    let policy = Policy::compile(&request, None).unwrap();
    for (path, reads, writes) in [
        ("/own/session", true, false),
        ("/own/session/a", true, false),
        ("/own/scratch/a", true, true),
        ("/own", false, false),
        ("/own/sessions", false, false),
    ] {
        let path = Path::new(path);
        assert_eq!(policy.is_implicit(Access::Read, path), reads, "{path:?}");
        assert_eq!(policy.is_implicit(Access::Write, path), writes, "{path:?}");
        assert_eq!(policy.allows(Access::Read, path), reads, "{path:?}");
        assert_eq!(policy.allows(Access::Write, path), writes, "{path:?}");
    }
}

#[test]
fn what_is_closed_stays_closed_but_for_own_directories_in_it() {
    let request = PolicyRequest {
        closed: vec!["/w/all-sessions".into()],
        implicit_read: vec!["/w/all-sessions/mine".into()],
        ..request(&[json!({ "fs": { "read": ["/**"], "write": ["/**"] } })])
    };
    let policy = Policy::compile(&request, None).unwrap();
    for access in [Access::Read, Access::Write] {
        assert!(policy.allows(access, Path::new("/w/a")));
        assert!(!policy.allows(access, Path::new("/w/all-sessions")));
        assert!(!policy.allows(access, Path::new("/w/all-sessions/theirs/a")));
    }
    assert!(policy.allows(Access::Read, Path::new("/w/all-sessions/mine/a")));
    assert!(!policy.allows(Access::Write, Path::new("/w/all-sessions/mine/a")));
    assert!(policy.allows_below(Path::new("/w")));
    assert!(!policy.allows_below(Path::new("/w/all-sessions")));
}

#[test]
fn credential_stores_are_closed_unless_a_pattern_names_them() {
    let everything = policy(json!({ "fs": { "read": ["/**"] } }));
    for store in stores::of_process(|_| false) {
        assert!(!everything.allows(Access::Read, &store), "{store:?}");
        let pattern = format!("{}/**", store.display());
        let named = policy(json!({ "fs": { "read": [pattern, "{workspace}/**"] } }));
        assert!(named.allows(Access::Read, &store), "{store:?}");
    }
}

#[test]
fn every_set_and_the_parent_have_to_allow() {
    let wide = json!({ "fs": { "read": ["{workspace}/**"] } });
    let narrow = json!({ "fs": { "read": ["{workspace}/docs/**"] } });
    let parent = Policy::compile(&request(std::slice::from_ref(&narrow)), None).unwrap();
    let both = Policy::compile(&request(&[wide.clone(), narrow]), None).unwrap();
    let child = Policy::compile(&request(&[wide]), Some(&parent)).unwrap();
    for policy in [&both, &child] {
        assert!(policy.allows(Access::Read, Path::new("/w/docs/a")));
        assert!(!policy.allows(Access::Read, Path::new("/w/src/a")));
    }
    let nothing = Policy::compile(&request(&[]), None).unwrap();
    assert!(!nothing.allows(Access::Read, Path::new("/w/a")));
}

#[test]
fn other_ad_hoc_directories_change_what_their_variable_opens_and_nothing_else() {
    let more = tempfile::tempdir().unwrap();
    let more = more.path().canonicalize().unwrap();
    let set = json!({ "fs": { "read": ["{ad-hoc}/**", "{workspace}/docs/**"] } });
    let before = policy(set.clone());
    let after = before.with_ad_hoc(std::slice::from_ref(&more), None).unwrap();
    assert!(before.allows(Access::Read, Path::new("/tmp-open/a")));
    assert!(!after.allows(Access::Read, Path::new("/tmp-open/a")));
    assert!(after.allows(Access::Read, &more.join("a")));
    assert!(after.allows(Access::Read, Path::new("/w/docs/a")));
    assert_eq!(after.other_directories(), [&*more, Path::new("/data")]);
    // A child's directories are no more than its parent has by now.
    let child = Policy::compile(&request(&[set]), Some(&before)).unwrap();
    let child = child.with_ad_hoc(std::slice::from_ref(&more), Some(&before)).unwrap();
    assert!(!child.allows(Access::Read, &more.join("a")));
    let child = child.with_ad_hoc(std::slice::from_ref(&more), Some(&after)).unwrap();
    assert!(child.allows(Access::Read, &more.join("a")));
}

#[test]
fn output_names_paths_as_tools_take_them() {
    let policy = policy(json!({}));
    let display = |path: &str| policy.display_path(Path::new(path)).display().to_string();
    assert_eq!(display("/w"), ".");
    assert_eq!(display("/w/src/a"), "src/a");
    assert_eq!(display("/v/a"), "/v/a");
    assert_eq!(display("/elsewhere"), "/elsewhere");
}

#[test]
fn hosts_are_named_or_refused() {
    let policy = policy(json!({ "net": { "hosts": ["example.com", "localhost:8080"] } }));
    assert!(policy.check_host("example.com", None).is_ok());
    assert!(policy.check_host("localhost", Some(8080)).is_ok());
    let denied = policy.check_host("other.test", Some(443)).unwrap_err();
    assert_eq!(denied.code, Code::CapabilityDenied);
    assert!(denied.message().contains("net.fetch `other.test` [CAPABILITY_DENIED] Use another"));
    assert_eq!(denied.details["host"], "other.test");
    let private = policy.check_host("127.0.0.1", None).unwrap_err();
    assert!(private.hint.contains("private networks"), "{private:?}");
    assert!(policy.check_host("no host", None).is_err());
}

#[test]
fn capabilities_are_named_or_refused() {
    let policy = policy(json!({ "capabilities": ["mcp.files"] }));
    assert!(policy.check_capability("mcp.files").is_ok());
    let denied = policy.check_capability("mcp.other").unwrap_err();
    assert_eq!(
        (denied.code, &denied.details["capability"]),
        (Code::CapabilityDenied, &json!("mcp.other"))
    );
}

#[test]
fn every_command_of_a_line_is_granted_or_the_line_is_refused() {
    let git = policy(json!({ "shell": [{ "cmd": "git" }] }));
    for line in ["git status", "git status; git log", "", "# nothing"] {
        assert!(git.check_command(line, None).is_ok(), "{line}");
    }
    let denied = git.check_command("git status; rm -rf x", None).unwrap_err();
    assert_eq!(denied.details["command"], "rm -rf x");
    assert!(denied.hint.contains("Use a command that is granted"), "{denied:?}");
    let unknown = git.check_command("git $(cat x)", None).unwrap_err();
    assert!(unknown.hint.contains("Write the command without"), "{unknown:?}");
    let none = policy(json!({}));
    for line in ["", "ls"] {
        assert!(none.check_command(line, None).is_err(), "{line}");
    }
    assert!(none.check_command("", None).unwrap_err().message().contains("any command"));
}

#[test]
fn a_command_that_is_known_only_when_it_runs_says_why() {
    let git = policy(json!({ "shell": [{ "cmd": "git" }] }));
    let denied = git.check_command("ls > out", None).unwrap_err();
    assert!(denied.details.contains_key("restricted"), "{denied:?}");
    assert!(!git.check_command("ls", None).unwrap_err().details.contains_key("restricted"));
}

#[test]
fn a_set_that_cannot_be_compiled_names_its_place() {
    let bad = request(&[json!({ "fs": { "read": ["{nowhere}/**"] } })]);
    let failure = failure(Policy::compile(&bad, None));
    assert_eq!(failure.code, Code::ContractManifestInvalid);
    assert_eq!(failure.details["source"], "manifest.requires");
    assert_eq!(failure.details["place"], "fs.read[0]");
    assert_eq!(failure.details["variable"], "nowhere");
}

#[test]
fn the_usual_paths_are_protected_unless_the_host_lists_others() {
    let usual = protected_paths(None);
    for path in [".git/hooks", ".git/config", ".vscode", ".claude", ".mcp.json"] {
        assert!(usual.contains(&path.into()), "{path}");
    }
    assert_eq!(
        protected_paths(Some(&["@git".into()])),
        [".git/hooks", ".git/config"].map(Path::new)
    );
    assert_eq!(protected_paths(Some(&["a".into()])), [Path::new("a")]);
    assert!(protected_paths(Some(&[])).is_empty());
}

fn written(pattern: &str, action: Option<&str>, source: Option<&str>) -> WrittenRule {
    let owned = |word: Option<&str>| word.map(str::to_owned);
    WrittenRule {
        permission: "read".to_owned(),
        pattern: pattern.to_owned(),
        action: owned(action),
        source: owned(source),
    }
}

#[test]
fn a_rule_that_cannot_be_compiled_is_named_as_the_host_wrote_it() {
    let good = |source| written("**", None, source);
    for (rules, list, source) in [
        (vec![good(None), written("{x}", None, None)], None, "permissions.session[1]"),
        (vec![good(None), written("{x}", None, Some("project"))], None, "permissions.project[0]"),
        (vec![written("{x}", None, Some("manifest"))], None, "manifest.permissions[0]"),
        (vec![written("{x}", None, Some("manifest"))], Some("agent"), "agent[0]"),
        (vec![written("**", Some("perhaps"), None)], None, "permissions.session[0]"),
        (vec![written("**", None, Some("nobody"))], None, "permissions.session[0]"),
    ] {
        let failure = compile(rules, &variables(), list).unwrap_err();
        assert_eq!(failure.code, Code::ContractRuleInvalid);
        assert_eq!(failure.details["source"], source, "{failure:?}");
    }
}

#[test]
fn the_words_of_a_rule_are_its_action_and_its_source() {
    use toolwright_policy::Action;
    let ruling = |action, source| {
        let rules = compile(vec![written("**", action, source)], &variables(), None).unwrap();
        let ruling = rules.about_path("read", "fs.read", Path::new("/w/a"));
        (ruling.action, ruling.is_final, ruling.user_allows)
    };
    assert_eq!(ruling(None, None), (Action::Ask, false, false));
    assert_eq!(ruling(Some("ask"), None), (Action::Ask, false, false));
    assert_eq!(ruling(Some("allow"), None), (Action::Allow, false, true));
    assert_eq!(ruling(Some("allow"), Some("session")), (Action::Allow, false, true));
    assert_eq!(ruling(Some("allow"), Some("project")), (Action::Allow, false, true));
    assert_eq!(ruling(Some("allow"), Some("manifest")), (Action::Allow, false, false));
    assert_eq!(ruling(Some("deny"), None), (Action::Deny, false, false));
    assert_eq!(ruling(Some("deny"), Some("manifest")), (Action::Deny, true, false));
}

#[test]
fn what_is_effective_is_every_set_of_the_session_and_of_its_parent() {
    let parent =
        policy(json!({ "fs": { "read": ["{workspace}/**"], "write": ["{workspace}/**"] } }));
    assert_eq!(parent.effective().sets().len(), 1);
    let grants = parent.effective().grants();
    assert_eq!(grants.writable, [Path::new("/v"), Path::new("/w")]);
    let narrower = request(&[json!({ "fs": { "read": ["{workspace}/a/**"] } })]);
    let child = Policy::compile(&narrower, Some(&parent)).unwrap();
    assert_eq!(child.effective().sets().len(), 2);
    let grants = child.effective().grants();
    assert_eq!(grants.readable, [Path::new("/v/a"), Path::new("/w/a")]);
    assert!(grants.writable.is_empty());
}

#[test]
fn a_policy_remembers_where_closed_names_have_led() {
    let made = tempfile::tempdir().unwrap();
    let root = made.path().canonicalize().unwrap();
    let [name, first, second] = ["name", "first", "second"].map(|path| root.join(path));
    for file in [&first, &second] {
        std::fs::write(file, "").unwrap();
    }
    std::os::unix::fs::symlink(&first, &name).unwrap();
    let policy = policy(json!({ "fs": { "read": ["**"] } }));
    let closed = || policy.closed_names().resolve(std::slice::from_ref(&name), &root, None);
    assert_eq!(closed(), std::slice::from_ref(&first));
    std::fs::remove_file(&name).unwrap();
    std::os::unix::fs::symlink(&second, &name).unwrap();
    assert_eq!(closed(), [first, second]);
}

#[test]
fn the_hosts_of_every_set_narrow_those_of_commands() {
    let parent = policy(json!({ "net": { "hosts": ["*.example.com"] } }));
    let child = request(&[json!({ "net": { "hosts": ["a.example.com:443", "b.example.com"] } })]);
    let child = Policy::compile(&child, Some(&parent)).unwrap();
    assert_eq!(parent.hosts(), [["*.example.com"]]);
    assert_eq!(child.hosts(), [vec!["*.example.com"], vec!["a.example.com:443", "b.example.com"]]);
}
