//! The profile for macOS, read as text, so that it is tested everywhere.

#[path = "seatbelt/profile.rs"]
mod profile;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use profile::Profile;
use proptest::collection::vec;
use proptest::prelude::*;
use toolwright_sandbox::plan::{Files, Network, Plan};
use toolwright_sandbox::seatbelt::{PROGRAM, arguments};

const TEMPORARY: &str = "/private/var/folders/x/T/toolwright";

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

fn plan() -> Plan {
    Plan {
        root: PathBuf::from("/Users/me/project"),
        network: Network::Nothing,
        files: Files::Confined,
        writable: paths(&["/Users/me/project"]),
        closed: paths(&["/Users/me/.ssh", "/Users/me/.netrc"]),
        readable: paths(&["/Users/me/.ssh/known_hosts"]),
        protected: paths(&["/Users/me/project/.git/hooks", "/Users/me/project/.git/config"]),
        ..Plan::default()
    }
}

fn profile(plan: &Plan) -> Profile {
    Profile::new(&arguments(plan, Path::new(TEMPORARY)))
}

const WRITES: [&str; 6] = [
    "file-write-create",
    "file-write-data",
    "file-write-mode",
    "file-write-times",
    "file-write-unlink",
    "file-write-xattr",
];

#[track_caller]
fn check_writable(profile: &Profile, path: &str, expected: bool) {
    for operation in WRITES {
        assert_eq!(profile.allows(operation, Path::new(path)), expected, "{operation} {path}");
    }
}

fn reads(profile: &Profile, path: &str) -> bool {
    profile.allows("file-read-data", Path::new(path))
}

#[test]
fn everything_is_denied_first() {
    for network in [Network::Open, Network::PrivateLoopback, Network::Nothing] {
        for files in [Files::Confined, Files::Full] {
            let profile = profile(&Plan { network, files, ..plan() });
            let words = |at: usize| -> Vec<String> {
                profile.rules()[at].list().iter().map(|word| word.symbol().to_owned()).collect()
            };
            assert_eq!(words(0), ["version", "1"]);
            assert_eq!(words(1), ["deny", "default"]);
        }
    }
    assert_eq!(PROGRAM, "/usr/bin/sandbox-exec");
}

#[test]
fn parameters_are_given_and_used() {
    let profile = profile(&plan());
    let used: BTreeSet<String> = profile.references().into_iter().collect();
    let passed: BTreeSet<String> = profile.parameters.keys().cloned().collect();
    assert_eq!(used, passed);
    let mut values: BTreeSet<PathBuf> = profile.parameters.values().cloned().collect();
    let plan = plan();
    for path in
        [&plan.writable, &plan.closed, &plan.readable, &plan.protected].into_iter().flatten()
    {
        assert!(values.remove(path), "{} is not given", path.display());
    }
    assert!(values.remove(Path::new(TEMPORARY)));
    assert_eq!(values, BTreeSet::from([PathBuf::from("/Users/me/project/.git")]), "on the way");
}

#[test]
fn writes_reach_the_writable_directories_only() {
    let profile = profile(&plan());
    for path in ["/Users/me/project/file", "/Users/me/project/a/b", "/Users/me/project/.git/HEAD"] {
        check_writable(&profile, path, true);
        assert!(reads(&profile, path));
    }
    check_writable(&profile, &format!("{TEMPORARY}/file"), true);
    for path in [
        "/Users/me/file",
        "/Users/me/project-other/file",
        "/Users/me",
        "/private/tmp/file",
        "/private/etc/hosts",
        "/Users/me/.ssh/authorized_keys",
        "/Users/me/.ssh/known_hosts",
        "/Users/me/project/.git/hooks",
        "/Users/me/project/.git/hooks/pre-commit",
        "/Users/me/project/.git/config",
        "/dev/disk0",
        "/dev/ttys001",
    ] {
        check_writable(&profile, path, false);
    }
    for device in ["/dev/null", "/dev/zero", "/dev/fd/1"] {
        assert!(profile.allows("file-write-data", Path::new(device)), "{device}");
        assert!(!profile.allows("file-write-unlink", Path::new(device)), "{device}");
    }
    assert!(!profile.allows("file-write-setugid", Path::new("/Users/me/project/file")));
}

#[test]
fn reads_reach_everything_but_what_is_closed() {
    let profile = profile(&plan());
    for path in ["/", "/usr/bin/git", "/Users/me/other/file", "/private/etc/hosts", "/dev/urandom"]
    {
        assert!(reads(&profile, path), "{path}");
    }
    let shut =
        ["/Users/me/.ssh", "/Users/me/.ssh/id", "/Users/me/.netrc", "/dev/ttys001", "/dev/bpf0"];
    for path in shut {
        assert!(!reads(&profile, path), "{path}");
        assert!(profile.allows("file-read-metadata", Path::new(path)), "{path}");
    }
    assert!(!profile.allows("file-read-xattr", Path::new("/Users/me/.netrc")));
    assert!(reads(&profile, "/Users/me/.ssh/known_hosts"));
}

/// Everything but the root of a user's home is closed, as with a narrow scope of reading.
#[test]
fn the_deeper_path_counts() {
    let mut plan = plan();
    plan.closed = paths(&["/Users", "/Users/me/project/.env", "/Users/me/tools/secret"]);
    plan.readable = paths(&["/Users/me/tools"]);
    let profile = profile(&plan);
    for (path, readable, writable) in [
        ("/Users/you/file", false, false),
        ("/Users/me/file", false, false),
        ("/Users/me/tools/bin", true, false),
        ("/Users/me/tools/secret/key", false, false),
        ("/Users/me/project/file", true, true),
        ("/Users/me/project/.env", false, false),
    ] {
        assert_eq!(reads(&profile, path), readable, "{path}");
        check_writable(&profile, path, writable);
    }
}

/// Rules go by path, so no directory above a closed or protected path may get another name.
#[test]
fn what_is_closed_or_protected_keeps_its_name() {
    let mut plan = plan();
    plan.closed.push(PathBuf::from("/Users/me/project/deep/store/.env"));
    let unlink =
        |plan: &Plan, path: &str| profile(plan).allows("file-write-unlink", Path::new(path));
    let pinned = [
        "/Users/me/project",
        "/Users/me/project/.git",
        "/Users/me/project/.git/hooks",
        "/Users/me/project/deep",
        "/Users/me/project/deep/store",
        "/Users/me/project/deep/store/.env",
        TEMPORARY,
    ];
    for path in pinned {
        assert!(!unlink(&plan, path), "{path}");
    }
    for path in
        ["/Users/me/project/.git/HEAD", "/Users/me/project/deep/other", "/Users/me/project/b"]
    {
        assert!(unlink(&plan, path), "{path}");
    }
    plan.files = Files::Full;
    for path in
        pinned.into_iter().chain(["/Users", "/Users/me", "/Users/me/.ssh", "/Users/me/.ssh/id"])
    {
        assert!(!unlink(&plan, path), "{path}");
    }
    assert!(unlink(&plan, "/Users/me/other"));
    let link = |path: &str| profile(&plan).allows("file-link", Path::new(path));
    for path in ["/Users/me/.ssh/id", "/Users/me/.netrc", "/Users/me/project/.git/config"] {
        assert!(!link(path), "{path}");
    }
    assert!(link("/Users/me/project/file") && link("/Users/me/other"));
    plan.files = Files::Confined;
    let link = |path: &str| profile(&plan).allows("file-link", Path::new(path));
    assert!(link("/Users/me/project/file"));
    assert!(!link("/Users/me/other"), "it could be written to under the new name");
}

#[test]
fn full_access_leaves_closed_and_protected_paths_alone() {
    let profile = profile(&Plan { files: Files::Full, ..plan() });
    for path in ["/Users/me/file", "/private/etc/hosts", "/Users/me/project/file"] {
        check_writable(&profile, path, true);
    }
    for path in ["/Users/me/.ssh/id", "/Users/me/.netrc", "/Users/me/project/.git/hooks/x"] {
        check_writable(&profile, path, false);
    }
    assert!(!reads(&profile, "/Users/me/.ssh/id"));
}

#[test]
fn the_network_is_denied_unless_asked_for() {
    const WAYS: [&str; 3] = ["network-bind", "network-inbound", "network-outbound"];
    let with = |network| profile(&Plan { network, ..plan() });
    for network in [Network::Nothing, Network::PrivateLoopback] {
        let profile = with(network);
        for way in WAYS {
            for end in [&["local", "ip", "localhost:*"], &["remote", "ip", "localhost:*"]] {
                assert!(!profile.allows_where(way, end), "{network:?} {way}");
            }
        }
        assert!(!profile.text.contains("(allow network"), "{network:?}");
    }
    let loopback = with(Network::HostLoopback);
    let (near, far) = (["local", "ip", "localhost:*"], ["remote", "ip", "localhost:*"]);
    assert!(loopback.allows_where("network-bind", &near));
    assert!(loopback.allows_where("network-inbound", &near));
    assert!(loopback.allows_where("network-outbound", &far));
    // The near end of any connection is local.
    assert!(!loopback.allows_where("network-outbound", &near));
    for way in WAYS {
        assert!(!loopback.allows_where(way, &["remote", "ip", "*:*"]));
        assert!(!loopback.allows_where(way, &["remote", "unix-socket"]));
        assert!(with(Network::Open).allows_where(way, &["remote", "ip", "*:*"]));
    }
}

/// Services that start programs outside, or act for the user.
#[test]
fn nothing_leads_out_of_the_sandbox() {
    for network in [Network::Open, Network::HostLoopback, Network::Nothing] {
        for files in [Files::Confined, Files::Full] {
            let profile = profile(&Plan { network, files, ..plan() });
            for operation in [
                "appleevent-send",
                "job-creation",
                "lsopen",
                "mach-priv-host-port",
                "mach-priv-task-port",
                "mach-register",
                "process-info-pidinfo",
                "signal",
                "sysctl-write",
                "user-preference-write",
                "iokit-open",
                "nvram-set",
            ] {
                assert!(!profile.allows_where(operation, &["target", "others"]), "{operation}");
            }
            assert!(profile.allows_where("signal", &["target", "same-sandbox"]));
            for service in [
                "com.apple.coreservices.launchservicesd",
                "com.apple.CoreServices.coreservicesd",
                "com.apple.lsd.mapdb",
                "com.apple.coreservices.appleevents",
                "com.apple.pboard",
                "com.apple.securityd.xpc",
                "com.apple.SecurityServer",
                "com.apple.tccd",
                "com.apple.xpc.smd",
                "com.apple.pasteboard.1",
            ] {
                let asked = ["global-name", service];
                assert!(!profile.allows_where("mach-lookup", &asked), "{service}");
            }
            let user = ["global-name", "com.apple.system.opendirectoryd.libinfo"];
            assert!(profile.allows_where("mach-lookup", &user));
            for name in ["kern.procargs2", "kern.procargs", "kern.proc.all"] {
                assert!(!profile.allows_where("sysctl-read", &["sysctl-name", name]), "{name}");
            }
            for start in ["kern.", "kern.proc", "kern.proc."] {
                let asked = ["sysctl-name-prefix", start];
                assert!(!profile.allows_where("sysctl-read", &asked), "{start}");
            }
            for never in ["no-sandbox", "import", "debug", "system.sb", "mach-lookup)"] {
                assert!(!profile.text.contains(never), "{never}");
            }
        }
    }
}

/// Any path but the empty one; absolute.
fn hostile() -> impl Strategy<Value = PathBuf> {
    let piece = prop_oneof![
        Just(b"\") (allow default) (\"".to_vec()),
        Just(b"))(allow network*)((".to_vec()),
        Just(b"=x".to_vec()),
        Just(b"; \n(allow file-write*)".to_vec()),
        Just(b"#\"^/.*$\"".to_vec()),
        Just(b"-D CLOSED_0".to_vec()),
        Just(vec![0xff, b'\\', b'\'']),
        vec(1u8..=255, 1..6).prop_map(|bytes| {
            bytes.into_iter().map(|byte| if byte == b'/' { b'_' } else { byte }).collect()
        }),
    ];
    vec(piece, 1..4).prop_map(|pieces| {
        let mut path = PathBuf::from("/");
        path.extend(pieces.into_iter().map(OsString::from_vec));
        path
    })
}

/// A path of three letters, so that paths meet.
fn plain() -> impl Strategy<Value = PathBuf> {
    let name = prop_oneof![Just("a"), Just("b")];
    vec(name, 1..5).prop_map(|names| Path::new("/").join(names.into_iter().collect::<PathBuf>()))
}

fn plans<S: Strategy<Value = PathBuf>>(path: fn() -> S) -> impl Strategy<Value = Plan> {
    let some = move || vec(path(), 0..4);
    (some(), some(), some(), some(), any::<bool>()).prop_map(
        |(writable, closed, readable, protected, full)| Plan {
            root: PathBuf::from("/root"),
            files: if full { Files::Full } else { Files::Confined },
            writable,
            closed,
            readable,
            protected,
            ..plan()
        },
    )
}

/// The meaning of a plan for a path: whether it can be read, and written.
fn meaning(plan: &Plan, path: &Path) -> (bool, bool) {
    let depth = |paths: &[PathBuf]| {
        let above = paths.iter().filter(|rule| path.starts_with(rule));
        above.map(|rule| rule.components().count()).max()
    };
    let (closed, readable) = (depth(&plan.closed), depth(&plan.readable));
    let writable = depth(&plan.writable);
    let can_read = closed.max(readable).max(writable) == readable.max(writable);
    let is_open = match plan.files {
        Files::Full => closed.is_none() || writable >= closed,
        Files::Confined => writable.is_some() && writable >= closed,
    };
    (can_read, is_open && depth(&plan.protected).is_none())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The text of a plan is that of a plan of the same form with harmless names.
    #[test]
    fn no_path_changes_the_text(plan in plans(hostile)) {
        let mut tame = plan.clone();
        let mut names = std::collections::BTreeMap::new();
        let mut rename = |path: &mut PathBuf| {
            let mut renamed = PathBuf::from("/");
            for part in path.components().skip(1) {
                let count = names.len();
                let name = names.entry(part.as_os_str().to_owned());
                renamed.push(name.or_insert_with(|| format!("{count:04}")));
            }
            *path = renamed;
        };
        for paths in [&mut tame.writable, &mut tame.closed, &mut tame.readable, &mut tame.protected] {
            paths.iter_mut().for_each(&mut rename);
        }
        let (hostile, tame) = (profile(&plan), profile(&tame));
        let form = |text: &str| -> Vec<String> {
            // Numbers depend on the order of names, where they decide nothing.
            text.lines().map(|line| line.replace(|c: char| c.is_ascii_digit(), "")).collect()
        };
        prop_assert_eq!(form(&hostile.text), form(&tame.text));
        prop_assert!(hostile.text.is_ascii());
        let used: BTreeSet<String> = hostile.references().into_iter().collect();
        let passed: BTreeSet<String> = hostile.parameters.keys().cloned().collect();
        prop_assert_eq!(used, passed);
    }

    #[test]
    fn the_rules_mean_what_the_plan_means(plan in plans(plain), path in plain()) {
        let profile = profile(&plan);
        let (can_read, can_write) = meaning(&plan, &path);
        prop_assert_eq!(profile.allows("file-read-data", &path), can_read);
        prop_assert_eq!(profile.allows("file-write-data", &path), can_write);
        prop_assert!(profile.allows("file-read-metadata", &path));
        prop_assert!(can_write || !profile.allows("file-write-unlink", &path));
    }
}
