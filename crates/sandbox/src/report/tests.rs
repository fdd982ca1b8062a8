use super::*;
use crate::plan::Limits;

fn plan(files: Files) -> Plan {
    Plan {
        root: "/srv/root".into(),
        network: Network::PrivateLoopback,
        files,
        writable: vec!["/srv/root".into()],
        limits: Limits { processes: Some(64), ..Limits::default() },
        ..Plan::default()
    }
}

fn whole() -> Layers {
    let holds = Layer::Holds;
    Layers {
        user: holds,
        mount: holds,
        pid: holds,
        ipc: holds,
        net: holds,
        loopback: holds,
        seccomp: holds,
        landlock: holds,
        landlock_abi: 7,
        scope: holds,
        closed: holds,
        protected: holds,
        processes: Bound::Namespace,
        ..Layers::default()
    }
}

const REFUSED: Layer = Layer::Refused(libc::EPERM);

#[test]
fn nothing_is_missing_where_all_layers_hold() {
    for files in [Files::Confined, Files::Full] {
        assert_eq!(shortfall(&plan(files), &whole()), None);
    }
}

/// A caller that requires the layers misses whatever the report calls less than held, whichever
/// layer it is.
#[test]
fn whatever_layer_is_missing_is_told_and_required() {
    type Change = fn(&mut Layers);
    let cases: [(&str, Change, &str); 6] = [
        ("Landlock", |all| all.landlock = REFUSED, "named pipes"),
        ("mounts", |all| all.mount = REFUSED, "a mount namespace"),
        (
            "mounts, old Landlock",
            |all| (all.mount, all.landlock_abi) = (REFUSED, 2),
            "cut to nothing",
        ),
        ("both", |all| (all.mount, all.landlock) = (REFUSED, REFUSED), "Landlock"),
        ("IPC and seccomp", |all| (all.ipc, all.seccomp) = (REFUSED, REFUSED), "IPC"),
        ("processes and scopes", |all| (all.pid, all.scope) = (REFUSED, REFUSED), "process group"),
    ];
    for (name, change, expected) in cases {
        let mut layers = whole();
        change(&mut layers);
        let (_, row) = shortfall(&plan(Files::Confined), &layers).expect(name);
        assert_ne!(row.level, Level::Kernel, "{name}");
        assert!(row.mechanism.to_string().contains(expected), "{name}: {}", row.mechanism);
    }
}

/// Where the calls are missing, allowing namespaces does not help.
#[test]
fn the_advice_for_mounts_follows_the_error() {
    for (errno, expected) in [(libc::ENOSYS, Advice::Mounts), (libc::EPERM, Advice::Namespaces)] {
        let layers = Layers { mount: Layer::Refused(errno), landlock_abi: 2, ..whole() };
        let report = report(&plan(Files::Confined), &layers, false);
        assert_eq!([report.files.advice, report.file_metadata.advice], [Some(expected); 2]);
    }
}

/// Docker hides parts of `/proc`, and a process namespace with another one would show them.
#[test]
fn the_advice_for_processes_follows_what_else_holds() {
    for (mount, expected) in [(whole().mount, Advice::Processes), (REFUSED, Advice::Namespaces)] {
        let layers = Layers { pid: REFUSED, hidden_git: REFUSED, mount, ..whole() };
        let plan = Plan { hides_git_directories: true, ..plan(Files::Confined) };
        let report = report(&plan, &layers, false);
        assert_eq!([report.git.advice, report.process_kill.advice], [Some(expected); 2]);
        assert!(
            expected == Advice::Namespaces
                || report.git.mechanism.to_string().contains("a process namespace")
        );
    }
}

#[test]
fn metadata_is_not_held_without_mounts_and_no_plan_makes_it_so() {
    let layers = Layers { mount: REFUSED, ..whole() };
    let report = report(&plan(Files::Confined), &layers, false);
    assert_eq!((report.files.level, report.file_metadata.level), (Level::Kernel, Level::None));
    // With nothing protected and nothing closed, this alone is missing.
    let (purpose, _) = shortfall(&plan(Files::Confined), &layers).expect("missing");
    assert!(purpose.contains("modes"), "{purpose}");
}

#[test]
fn limits_say_of_what_they_are() {
    for bound in [Bound::Namespace, Bound::ControlGroup] {
        let layers = Layers { processes: bound, ..whole() };
        let row = report(&plan(Files::Confined), &layers, false).limits;
        assert!(
            row.mechanism.to_string().contains("processes of each command"),
            "{}",
            row.mechanism
        );
    }
}
