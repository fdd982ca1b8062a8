use super::*;

/// A root that is granted and nothing else.
pub(in crate::command) fn resolved(root: &Path) -> Resolved {
    Resolved { root: root.to_owned(), given_root: root.to_owned(), ..Resolved::default() }
}

fn plan(options: &SandboxOptions, root: &Path) -> Plan {
    options.plan(root, &resolved(root), &[]).expect("a plan")
}

#[test]
fn the_network_is_closed_but_for_what_is_asked_for() {
    for (network, loopback, expected) in [
        (false, Loopback::Private, Network::PrivateLoopback),
        (false, Loopback::Nothing, Network::Nothing),
        (false, Loopback::Host, Network::HostLoopback),
        (true, Loopback::Private, Network::Open),
        (true, Loopback::Nothing, Network::Open),
        (true, Loopback::Host, Network::Open),
    ] {
        let options = SandboxOptions { network, loopback, ..SandboxOptions::default() };
        assert_eq!(options.reach(), expected);
    }
}

#[test]
fn only_processes_are_limited_by_default_and_zero_lifts_a_limit() {
    assert_eq!(LimitOptions::default().resolve(), Limits::DEFAULT);
    assert!(Limits::DEFAULT.processes.is_some());
    let zero = Some(0);
    let lifted = LimitOptions {
        processes: zero,
        memory_bytes: zero,
        cpu_seconds: zero,
        file_size_bytes: zero,
    };
    assert_eq!(lifted.resolve(), Limits::default());
    let some = LimitOptions {
        processes: Some(1),
        memory_bytes: Some(2),
        cpu_seconds: Some(3),
        file_size_bytes: Some(4),
    };
    let limits = Limits {
        processes: Some(1),
        memory_bytes: Some(2),
        cpu_seconds: Some(3),
        file_size_bytes: Some(4),
    };
    assert_eq!(some.resolve(), limits);
}

#[test]
fn the_default_plan_writes_the_root_and_protects_what_git_runs() {
    let root = tempfile::tempdir().expect("made");
    let root = root.path().canonicalize().expect("there");
    let plan = plan(&SandboxOptions::default(), &root);
    assert_eq!(plan.network, Network::PrivateLoopback);
    assert_eq!(plan.files, Files::Confined);
    assert_eq!(plan.writable, std::slice::from_ref(&root));
    for path in [".git/hooks", ".git/config"] {
        assert!(plan.protected.contains(&root.join(path)), "{path}");
    }
    assert_eq!(plan.limits, Limits::DEFAULT);
}

#[test]
fn each_option_changes_the_plan() {
    let root = tempfile::tempdir().expect("made");
    let root = root.path().canonicalize().expect("there");
    let full = SandboxOptions { full_files: true, ..SandboxOptions::default() };
    assert_eq!(plan(&full, &root).files, Files::Full);
    let protected =
        SandboxOptions { deny_write: Some(vec!["a".into()]), ..SandboxOptions::default() };
    let protected = plan(&protected, &root).protected;
    assert!(protected.contains(&root.join("a")));
    assert!(!protected.contains(&root.join(".git/hooks")));
    let limits = LimitOptions { processes: Some(7), ..LimitOptions::default() };
    let limited = SandboxOptions { limits, ..SandboxOptions::default() };
    assert_eq!(plan(&limited, &root).limits.processes, Some(7));
    let narrow = SandboxOptions { system_only: true, ..SandboxOptions::default() };
    let wide = plan(&SandboxOptions::default(), &root);
    assert_ne!(plan(&narrow, &root).closed, wide.closed);
}

#[test]
fn the_last_home_of_the_environment_counts_unless_it_is_empty_or_relative() {
    let home = |pairs: &[(&str, &str)]| {
        let pairs: Vec<(OsString, OsString)> =
            pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
        home_of(&pairs)
    };
    let users = env::home_dir().filter(|home| home.is_absolute());
    assert_eq!(home(&[("HOME", "/a"), ("HOME", "/b")]), Some("/b".into()));
    assert_eq!(home(&[("HOME", "/a"), ("OTHER", "/b")]), Some("/a".into()));
    assert_eq!(home(&[("HOME", "")]), users);
    assert_eq!(home(&[]), users);
    assert_eq!(home(&[("HOME", "a")]), None);
}

#[test]
fn a_home_is_writable_where_a_writable_directory_holds_it() {
    let root = tempfile::tempdir().expect("made");
    let root = root.path().canonicalize().expect("there");
    let plan = plan(&SandboxOptions::default(), &root);
    assert!(writes_around(&plan, &root));
    assert!(writes_around(&plan, &root.join("home")));
    assert!(!writes_around(&plan, Path::new("/home/u")));
}
