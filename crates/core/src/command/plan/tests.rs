use super::*;

/// A root that is granted and nothing else.
pub(in crate::command) fn resolved(root: &Path) -> Resolved {
    Resolved { root: root.to_owned(), named_root: root.to_owned(), ..Resolved::default() }
}

fn plan(options: &SandboxOptions, root: &Path) -> Plan {
    options.plan(root, &resolved(root), &[])
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
fn loopback_is_private_unless_the_host_names_another() {
    assert_eq!(Loopback::named(Some("none")), Loopback::Nothing);
    assert_eq!(Loopback::named(Some("host")), Loopback::Host);
    for name in [None, Some("private"), Some("open")] {
        assert_eq!(Loopback::named(name), Loopback::Private);
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
    assert!(plan.hides_git_directories);
    assert_eq!(plan.looks_below.as_ref(), Some(&root));
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

/// A home with a credential store, and a root beside it.
fn home_with_keys() -> (tempfile::TempDir, PathBuf, PathBuf, PathBuf) {
    let place = tempfile::tempdir().expect("made");
    let real = place.path().canonicalize().expect("there");
    let (root, home) = (real.join("root"), real.join("home"));
    let keys = home.join(".ssh");
    std::fs::create_dir_all(&keys).expect("made");
    std::fs::create_dir(&root).expect("made");
    (place, root, home, keys)
}

fn closed(
    options: &SandboxOptions,
    root: &Path,
    variables: &[(&str, &Path)],
) -> std::collections::HashSet<PathBuf> {
    let variables: Vec<(OsString, OsString)> =
        variables.iter().map(|&(name, value)| (name.into(), value.into())).collect();
    let plan = options.plan(root, &resolved(root), &variables);
    plan.closed.into_iter().collect()
}

#[test]
fn the_stores_of_the_host_s_home_are_closed_unless_they_are_named() {
    let (_place, root, home, keys) = home_with_keys();
    let default = SandboxOptions::default();
    let readable = SandboxOptions { readable: vec![keys.clone()], ..SandboxOptions::default() };
    let writable =
        SandboxOptions { writable_roots: vec![keys.clone()], ..SandboxOptions::default() };
    let variables = [("HOME", home.as_path())];
    assert!(closed(&default, &root, &variables).contains(&keys));
    assert!(!closed(&default, &root, &[]).contains(&keys), "of nobody's home");
    assert!(!closed(&readable, &root, &variables).contains(&keys));
    assert!(!closed(&writable, &root, &variables).contains(&keys));
}

#[test]
fn a_store_is_closed_where_a_variable_moves_it() {
    let (place, root, _home, _keys) = home_with_keys();
    let moved = place.path().canonicalize().expect("there").join("credentials");
    std::fs::write(&moved, "").expect("written");
    let variables = [("AWS_SHARED_CREDENTIALS_FILE", moved.as_path())];
    assert!(closed(&SandboxOptions::default(), &root, &variables).contains(&moved));
}

#[test]
fn programs_in_temporary_directories_can_be_read() {
    let (place, root, _home, _keys) = home_with_keys();
    let real = place.path().canonicalize().expect("there");
    let bin = real.join("toolchain/bin");
    std::fs::create_dir_all(&bin).expect("made");
    let readable = |variables: &[(OsString, OsString)]| {
        let plan = SandboxOptions::default().plan(&root, &resolved(&root), variables);
        plan.readable
    };
    let path = [("PATH".into(), bin.clone().into())];
    let is_readable = |paths: &[PathBuf]| paths.iter().any(|path| bin.starts_with(path));
    assert!(is_readable(&readable(&path)));
    assert!(!is_readable(&readable(&[])));
}

#[test]
fn a_narrow_scope_closes_the_host_s_home_to_reading() {
    let (_place, root, home, _keys) = home_with_keys();
    let variables = [("HOME", home.as_path())];
    let narrow = SandboxOptions { system_only: true, ..SandboxOptions::default() };
    assert!(closed(&narrow, &root, &variables).contains(&home));
    assert!(!closed(&SandboxOptions::default(), &root, &variables).contains(&home));
}

#[test]
fn the_stores_of_the_user_s_home_are_closed_whatever_home_the_host_names() {
    let Some(user) = stores::home_of_user() else { return };
    let (_place, root, home, _keys) = home_with_keys();
    let options = SandboxOptions { full_files: true, ..SandboxOptions::default() };
    let closed_stores = |home: &Path| {
        let variables = [("HOME".into(), home.into())];
        let plan = options.plan(&root, &resolved(&root), &variables);
        let paths = plan.closed.into_iter().chain(plan.protected);
        paths.filter(|path| path.starts_with(user)).collect::<std::collections::HashSet<_>>()
    };
    let stores = closed_stores(user);
    assert!(!stores.is_empty());
    assert!(stores.is_subset(&closed_stores(&home)));
}

#[test]
fn the_files_of_sessions_are_closed() {
    use std::os::unix::fs::DirBuilderExt;

    let (_place, root, _home, _keys) = home_with_keys();
    let sessions = policy::sessions_directory();
    let mut private = std::fs::DirBuilder::new();
    private.recursive(true).mode(0o700).create(&sessions).expect("made");
    let _session = tempfile::tempdir_in(&sessions).expect("made");
    let sessions = sessions.canonicalize().expect("there");
    assert!(closed(&SandboxOptions::default(), &root, &[]).contains(&sessions));
}

#[test]
fn a_report_is_refused_for_a_root_that_was_replaced() {
    let (place, root, _home, _keys) = home_with_keys();
    let granted = std::sync::Arc::new(DirectoryGrant::new("rootDir", &root));
    granted.identify().expect("there");
    let grants = grants(std::sync::Arc::clone(&granted), vec![], vec![], vec![], None);
    std::fs::rename(&root, place.path().join("moved")).expect("moved");
    std::fs::create_dir(&root).expect("made");
    let stop = std::sync::atomic::AtomicBool::new(true);
    let report = SandboxOptions::default().report(&granted, &grants, &[], false, &stop);
    let Err(Unfinished::Failed(failure)) = report else { panic!("it was made") };
    assert_eq!(failure.code.as_str(), "TOOL_ROOT_CHANGED");
}

/// A process warns once in its life, so the test calls itself.
#[test]
fn a_writable_home_is_warned_of_once_on_stderr() {
    const CHILD: &str = "TOOLWRIGHT_TEST_WARNING";
    if let Some(root) = env::var_os(CHILD) {
        let plan = plan(&SandboxOptions::default(), Path::new(&root));
        warn_of_writable_home(&plan);
        warn_of_writable_home(&plan);
        return;
    }
    let (place, root, home, _keys) = home_with_keys();
    let warnings = |root: &Path| {
        let name = "command::plan::tests::a_writable_home_is_warned_of_once_on_stderr";
        let output = std::process::Command::new(env::current_exe().expect("known"))
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, root)
            .env("HOME", &home)
            .output()
            .expect("ran");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.matches("commands may write the home directory").count()
    };
    assert_eq!(warnings(&root), 0);
    assert_eq!(warnings(&place.path().canonicalize().expect("there")), 1);
}
