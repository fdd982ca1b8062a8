//! Requirement sets: what they allow, what they refuse, and what is an error when they are compiled.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};
use toolwright_policy::{
    Access, CompileError, Declared, Effective, Host, RequirementSet, Union, Variables, shell,
};

fn roots(workspace: &[&str]) -> Variables {
    Variables {
        workspace: workspace.iter().map(PathBuf::from).collect(),
        ad_hoc: Vec::new(),
        user_data: vec![PathBuf::from("/nowhere/data")],
    }
}

fn union(sets: &[Value], variables: &Variables) -> Result<Union, CompileError> {
    let members = sets
        .iter()
        .enumerate()
        .map(|(index, set)| {
            let origin = format!("member {index}");
            Ok(Declared { set: RequirementSet::parse(&origin, set)?, origin })
        })
        .collect::<Result<Vec<_>, CompileError>>()?;
    Union::compile(&members, variables)
}

fn effective(sets: &[Value], variables: &Variables) -> Effective {
    Effective::new(vec![union(sets, variables).unwrap()])
}

fn reads(effective: &Effective, path: &str) -> bool {
    effective.allows_path(Access::Read, Path::new(path))
}

fn refusal(set: Value) -> CompileError {
    union(&[set], &roots(&["/w"])).unwrap_err()
}

fn runs(set: &Value, line: &str) -> bool {
    let effective = effective(&[json!({ "shell": set })], &roots(&["/w"]));
    let line = shell::parse(line, None);
    !line.commands.is_empty() && line.commands.iter().all(|one| effective.allows_command(one))
}

#[test]
fn unknown_fields_and_wrong_shapes_are_errors_with_their_place() {
    for (set, place) in [
        (json!({ "fs": { "raed": ["**"] } }), "fs.raed"),
        (json!({ "fs": { "read": "**" } }), "fs.read"),
        (json!({ "fs": { "read": ["ok", 3] } }), "fs.read[1]"),
        (json!({ "nett": {} }), "nett"),
        (json!({ "shell": [{ "args": [] }] }), "shell[0]"),
        (json!({ "shell": [{ "cmd": "git status" }] }), "shell[0].cmd"),
        (
            json!({ "shell": [{ "cmd": "git", "args": [{ "wildcard": false }] }] }),
            "shell[0].args[0]",
        ),
        (json!({ "shell": [{ "cmd": "git", "args": [{ "prefx": "a" }] }] }), "shell[0].args[0]"),
        (json!({ "capabilities": [""] }), "capabilities[0]"),
        (json!({ "net": { "hosts": ["http://a.com"] } }), "net.hosts[0]"),
        (json!({ "net": { "hosts": ["a.*.com"] } }), "net.hosts[0]"),
        (json!({ "fs": { "read": [""] } }), "fs.read[0]"),
        (json!({ "fs": { "read": ["../x"] } }), "fs.read[0]"),
        (json!({ "fs": { "read": ["~/x"] } }), "fs.read[0]"),
        (json!({ "fs": { "read": ["src/[a"] } }), "fs.read[0]"),
        (json!([]), "the set itself"),
    ] {
        let error = refusal(set.clone());
        assert_eq!(error.origin, "member 0", "{set}");
        assert!(error.place.contains(place) || error.problem.contains(place), "{set}: {error}");
    }
}

#[test]
fn arity_is_exact_when_arguments_are_given() {
    let any = json!([{ "cmd": "git" }]);
    assert!(runs(&any, "git") && runs(&any, "git push --force"));
    let none = json!([{ "cmd": "git", "args": [] }]);
    assert!(runs(&none, "git") && !runs(&none, "git status"));
    let one = json!([{ "cmd": "git", "args": ["show", { "wildcard": true }] }]);
    assert!(runs(&one, "git show HEAD") && runs(&one, "git show ''"));
    assert!(!runs(&one, "git show") && !runs(&one, "git show a b") && !runs(&one, "git log a"));
    let prefix = json!([{ "cmd": "git", "args": ["log", { "prefix": "--max-count=" }] }]);
    assert!(runs(&prefix, "git log --max-count=3") && runs(&prefix, "git log '--max-count='"));
    assert!(!runs(&prefix, "git log --max-cou") && !runs(&prefix, "git log --max-count=1 x"));
    // Another program of the same name is another program.
    assert!(!runs(&any, "./git status") && !runs(&any, "/tmp/git status"));
    assert!(!runs(&any, "git status; rm -rf x") && !runs(&any, "echo $(git status)"));
}

#[test]
fn an_argv_that_is_not_known_needs_every_program() {
    let git = json!([{ "cmd": "git" }]);
    let all = json!([{ "cmd": "*" }]);
    for line in ["git log $X", "git log *.rs", "$X status", "eval \"$X\"", "xargs git", "git 'a"] {
        assert!(!runs(&git, line), "{line}");
        assert!(runs(&all, line), "{line}");
    }
    let all_with_arguments = json!([{ "cmd": "*", "args": [{ "wildcard": true }] }]);
    assert!(runs(&all_with_arguments, "ls x") && !runs(&all_with_arguments, "ls $X"));
}

#[test]
fn a_command_is_what_its_words_say_or_needs_every_program() {
    let git = json!([{ "cmd": "git", "args": ["status"] }, { "cmd": "xargs" }]);
    for line in [
        "PATH=. git status",
        "for PATH in .; do git status; done",
        "git status <&-x",
        "git status >&-x",
        "echo push | xargs git status",
        "xargs git status",
    ] {
        assert!(!runs(&git, line), "{line}");
        assert!(runs(&json!([{ "cmd": "*" }]), line), "{line}");
    }
    assert!(runs(&git, "git status && git status 2>&1"));
    assert!(runs(&json!([{ "cmd": "nohup" }, { "cmd": "git" }]), "nohup git status"));
}

#[test]
fn the_union_of_all_members_counts_and_nothing_is_widened_by_a_ceiling() {
    let variables = roots(&["/w"]);
    let manifest = json!({ "fs": { "read": ["docs/**"] } });
    let tool = json!({ "fs": { "read": ["src/**"] }, "capabilities": ["calendar"] });
    let alone = effective(std::slice::from_ref(&manifest), &variables);
    let with_tool = effective(&[manifest.clone(), tool.clone()], &variables);
    assert!(!reads(&alone, "/w/src/a") && reads(&with_tool, "/w/src/a"));
    assert!(reads(&with_tool, "/w/docs/a") && with_tool.allows_capability("calendar"));

    let declared = union(&[manifest, tool], &variables).unwrap();
    let ceiling =
        union(&[json!({ "fs": { "read": ["**/*.md", "other/**"] } })], &variables).unwrap();
    let both = Effective::new(vec![ceiling, declared]);
    assert!(reads(&both, "/w/docs/a.md") && reads(&both, "/w/src/deep/b.md"));
    assert!(!reads(&both, "/w/src/a.rs"), "a ceiling narrower than what is declared");
    assert!(!reads(&both, "/w/other/x") && !both.allows_capability("calendar"));
    assert!(!reads(&Effective::default(), "/w/docs/a.md"), "no set allows nothing");
}

#[test]
fn variables_stand_for_their_directories() {
    let variables = Variables {
        workspace: vec!["/w".into()],
        ad_hoc: vec!["/mnt/a".into(), "/mnt/b".into()],
        user_data: vec!["/nowhere/data".into()],
    };
    let set = json!({ "fs": { "read": ["{ad-hoc}/*.txt", "{user-data}", "{workspace}/src/**"] } });
    let effective = effective(&[set], &variables);
    for path in
        ["/mnt/a/x.txt", "/mnt/b/x.txt", "/nowhere/data/deep/x", "/nowhere/data", "/w/src/x"]
    {
        assert!(reads(&effective, path), "{path}");
    }
    for path in ["/mnt/a/deep/x.txt", "/mnt/c/x.txt", "/w/x", "/nowhere/datab", "/wsrc/x"] {
        assert!(!reads(&effective, path), "{path}");
    }
}

#[test]
fn an_empty_variable_is_no_pattern_and_an_unknown_one_an_error() {
    let none = Variables::default();
    let set = json!({ "fs": { "read": ["{workspace}/**", "**", "{ad-hoc}/**"] } });
    let closed = effective(&[set], &none);
    for path in ["/", "/etc/passwd", "/w/a"] {
        assert!(!reads(&closed, path), "{path}");
    }
    let error = union(&[json!({ "fs": { "write": ["{worksapce}/**"] } })], &none).unwrap_err();
    assert_eq!(
        (error.place.as_str(), error.variable.as_deref()),
        ("fs.write[0]", Some("worksapce"))
    );
    assert!(refusal(json!({ "fs": { "read": ["{Workspace}/**"] } })).variable.is_some());
    assert!(refusal(json!({ "net": { "hosts": ["{host}"] } })).variable.is_some());
    assert!(refusal(json!({ "fs": { "read": ["/x/{workspace}"] } })).problem.contains("beginning"));
    assert!(refusal(json!({ "fs": { "read": ["{workspace}x"] } })).problem.contains("slash"));
}

#[test]
fn roots_fan_out_and_braces_are_alternatives() {
    let two = roots(&["/one", "/two"]);
    let set = json!({ "fs": { "read": ["{workspace}/**"], "write": ["out/{a,b}{1..3}.txt"] } });
    let effective = effective(&[set], &two);
    assert!(reads(&effective, "/one/a") && reads(&effective, "/two/a"), "both are readable");
    let writes = |path: &str| effective.allows_path(Access::Write, Path::new(path));
    assert!(writes("/one/out/a1.txt") && writes("/two/out/b3.txt"));
    assert!(!writes("/one/out/a4.txt") && !writes("/one/out/c1.txt"));
    let expanded = effective.sets()[0].expanded();
    let fs = expanded.fs.unwrap();
    assert_eq!(fs.read.unwrap(), ["/one/**", "/two/**"]);
    assert_eq!(fs.write.unwrap().len(), 12);
    assert!(refusal(json!({ "fs": { "read": ["{1..99999}"] } })).problem.contains("range"));
}

#[test]
fn a_star_stays_within_a_name_and_two_do_not() {
    let effective = effective(
        &[json!({ "fs": { "read": ["src/*", "lib/**/*.rs", "a?c", "[xy]/**", "\\*"] } })],
        &roots(&["/w"]),
    );
    for path in
        ["/w/src/a", "/w/src/.hidden", "/w/lib/a.rs", "/w/lib/b/c/a.rs", "/w/abc", "/w/x/q", "/w/*"]
    {
        assert!(reads(&effective, path), "{path}");
    }
    for path in
        ["/w/src/a/b", "/w/src", "/w/lib/a.py", "/w/a/c", "/w/z/q", "/w/y2/q", "/w/a", "/src/a"]
    {
        assert!(!reads(&effective, path), "{path}");
    }
}

#[test]
fn a_root_with_the_characters_of_patterns_is_taken_as_it_is() {
    let odd = "/w[1]*{a,b}?\\";
    let effective = effective(&[json!({ "fs": { "read": ["{workspace}/**"] } })], &roots(&[odd]));
    assert!(reads(&effective, &format!("{odd}/a")));
    assert!(!reads(&effective, "/w1aa/a"));
}

#[test]
fn hosts_are_compared_in_one_spelling() {
    let set = json!({ "net": { "hosts": ["Example.COM.", "*.münchen.de", "api.test:8443"] } });
    let effective = effective(&[set], &Variables::default());
    let reaches = |text: &str| Host::parse(text).is_some_and(|host| effective.allows_host(&host));
    for host in [
        "example.com",
        "EXAMPLE.com.",
        "example.com:80",
        "a.xn--mnchen-3ya.de",
        "A.B.MÜNCHEN.de",
        "api.test:8443",
    ] {
        assert!(reaches(host), "{host}");
    }
    for host in [
        "münchen.de",
        "xn--mnchen-3ya.de",
        "sub.example.com",
        "example.com.evil.org",
        "evilexample.com",
        "api.test",
        "api.test:443",
        "",
        "a b",
        "example.com:99999",
        "exa\u{200b}mple.com:x",
    ] {
        assert!(!reaches(host), "{host}");
    }
}

#[test]
fn private_hosts_need_a_grant_of_their_own() {
    let everything = effective(&[json!({ "net": { "hosts": ["*"] } })], &Variables::default());
    let named = effective(
        &[json!({ "net": { "hosts": ["127.0.0.1", "localhost:3000", "[::1]"] } })],
        &Variables::default(),
    );
    let reaches =
        |set: &Effective, text: &str| Host::parse(text).is_some_and(|host| set.allows_host(&host));
    assert!(reaches(&everything, "example.com") && reaches(&everything, "8.8.8.8"));
    for host in [
        "localhost",
        "a.localhost",
        "127.0.0.1",
        "127.1.2.3",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "[::1]",
        "::1",
        "[fe80::1]",
        "[fd00::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "100.64.0.1",
        "2130706433",
        "0x7f.1",
        "127.1",
    ] {
        assert!(!reaches(&everything, host), "{host}");
    }
    assert!(reaches(&named, "127.0.0.1:80") && reaches(&named, "localhost:3000"));
    assert!(reaches(&named, "::1") && !reaches(&named, "localhost:3001"));
}

#[test]
fn only_whole_subtrees_become_grants() {
    let variables = roots(&["/w"]);
    let declared = json!({
        "fs": { "read": ["**", "/usr/share/**", "/etc/hosts"], "write": ["out/**", "*.log", "/var/x/**"] },
        "net": { "hosts": ["example.com"] },
    });
    let one = effective(std::slice::from_ref(&declared), &variables);
    let grants = one.grants();
    assert_eq!(grants.readable, [PathBuf::from("/usr/share"), "/w".into()]);
    assert_eq!(grants.writable, [PathBuf::from("/w/out")], "what is written can be read too");
    assert!(!grants.network && !grants.reads_all);
    for narrow in ["fs.read /etc/hosts", "fs.write /w/*.log", "net.hosts example.com", "/var/x"] {
        assert!(grants.not_granted.iter().any(|refusal| refusal.contains(narrow)), "{narrow}");
    }

    let ceiling =
        json!({ "fs": { "read": ["/**"], "write": ["out/deep/**"] }, "net": { "hosts": ["*"] } });
    let both = Effective::new(vec![
        union(&[declared], &variables).unwrap(),
        union(std::slice::from_ref(&ceiling), &variables).unwrap(),
    ]);
    assert_eq!(both.grants().readable, [PathBuf::from("/usr/share"), "/w".into()]);
    assert_eq!(both.grants().writable, [PathBuf::from("/w/out/deep")]);
    assert!(!both.grants().network, "one of the sets names a host");
    let open = effective(&[ceiling], &variables).grants();
    assert!(open.network && open.reads_all);
}

#[test]
fn a_directory_is_worth_a_look_when_something_below_it_may_match() {
    let effective =
        effective(&[json!({ "fs": { "read": ["src/**/*.rs", "docs/a.md"] } })], &roots(&["/w"]));
    let looks = |path: &str| effective.allows_below(Access::Read, Path::new(path));
    assert!(looks("/w") && looks("/w/src") && looks("/w/src/deep") && looks("/w/docs"));
    assert!(!looks("/w/other") && !looks("/etc") && !looks("/w/docs/sub"));
}

#[test]
fn links_in_an_absolute_pattern_are_followed_but_none_inside_the_workspace() {
    let place = std::env::temp_dir().join(format!("toolwright-policy-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(place.join("real/w")).unwrap();
    std::fs::create_dir_all(place.join("secret")).unwrap();
    let place = place.canonicalize().unwrap();
    std::os::unix::fs::symlink(place.join("real"), place.join("link")).unwrap();
    // What an agent may have made in an earlier session.
    std::os::unix::fs::symlink(place.join("secret"), place.join("real/w/build")).unwrap();
    let variables = Variables { workspace: vec![place.join("link/w")], ..Variables::default() };
    let variables = variables.resolved();
    assert_eq!(variables.workspace, [place.join("real/w")]);
    let set = |pattern: String| effective(&[json!({ "fs": { "read": [pattern] } })], &variables);
    let allowed = |pattern: String, path: PathBuf| set(pattern).allows_path(Access::Read, &path);
    let text = |path: &str| place.join(path).to_string_lossy().into_owned();
    assert!(allowed(text("link/w/src/**"), place.join("real/w/src/a")));
    for pattern in ["build/**".to_owned(), text("real/w/build/**"), text("link/w/build/**")] {
        assert!(!allowed(pattern.clone(), place.join("secret/a")), "{pattern}");
    }
    std::fs::remove_dir_all(&place).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn another_set_never_widens(
        first in proptest::collection::vec("[a-c*?/]{1,6}", 1..4),
        second in proptest::collection::vec("[a-c*?/]{1,6}", 0..4),
        path in "(/[a-c]{1,2}){1,4}",
    ) {
        let variables = roots(&["/a"]);
        let set = |patterns: &[String]| json!({ "fs": { "read": patterns } });
        let (Ok(one), Ok(two)) = (union(&[set(&first)], &variables), union(&[set(&second)], &variables))
        else { return Ok(()) };
        let path = Path::new(&path);
        let alone = Effective::new(vec![one.clone()]);
        let both = Effective::new(vec![one, two]);
        if both.allows_path(Access::Read, path) {
            prop_assert!(alone.allows_path(Access::Read, path));
        }
        // A file that is allowed is never passed over by a look at one of its directories.
        if alone.allows_path(Access::Read, path) {
            for directory in path.ancestors() {
                prop_assert!(alone.allows_below(Access::Read, directory));
            }
        }
        // What a process gets, the capabilities allow.
        for granted in alone.grants().readable {
            prop_assert!(alone.allows_path(Access::Read, &granted.join("x/y")));
        }
    }

    #[test]
    fn no_text_makes_compiling_panic(pattern in "\\PC{0,12}", host in "\\PC{0,12}") {
        let set = json!({ "fs": { "read": [pattern] }, "net": { "hosts": [host.clone()] } });
        let _ = union(&[set], &roots(&["/w"]));
        let _ = Host::parse(&host);
    }
}
