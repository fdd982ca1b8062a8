//! Unix sockets among a command's own processes work as outside.

use std::fs;

use toolwright_sandbox::plan::{Files, Network, Plan};

use super::place::{Place, users};
use super::sandbox::Sandbox;

/// A sandbox of a user, with the program. `None`: there is none here.
pub(crate) fn with(
    user: Option<u32>,
    change: impl FnOnce(&mut Plan),
) -> Option<(Place, Sandbox, String)> {
    let place = Place::new(user);
    let program = place.compile("sockets", &[])?;
    let sandbox = place.start(change);
    if !sandbox.layers.own_sockets.holds() {
        let layers = sandbox.layers;
        assert!(!layers.mount.holds() || !layers.pid.holds(), "{layers:?}");
        eprintln!("skipped: {layers:?}");
        return None;
    }
    Some((place, sandbox, program.display().to_string()))
}

const NETWORKS: [Network; 5] = [
    Network::PrivateLoopback,
    Network::Nothing,
    Network::Names,
    Network::HostLoopback,
    Network::Open,
];

/// In the network of the host, only what lies in private directories is known to be a command's own.
fn is_apart(network: Network) -> bool {
    matches!(network, Network::PrivateLoopback | Network::Nothing | Network::Names)
}

fn id(user: Option<u32>) -> u32 {
    user.unwrap_or_else(|| rustix::process::geteuid().as_raw())
}

#[test]
fn own_sockets_are_reached_by_name() {
    for user in users() {
        for network in NETWORKS {
            for hides in [true, false] {
                let plan = |plan: &mut Plan| {
                    (plan.network, plan.hides_git_directories) = (network, hides);
                };
                let Some((_place, mut sandbox, program)) = with(user, plan) else { return };
                let served = format!("connect 0\nown {0} {0}\nserver {0} {0}\n", id(user));
                for kind in ["stream", "seqpacket"] {
                    for name in ["/tmp/s", "/var/tmp/s", "/dev/shm/s", "s", "@s"] {
                        let script = format!(
                            "{program} serve {kind} {name}; {program} connect {kind} {name}"
                        );
                        let output = sandbox.output(&script);
                        let is_private = name.starts_with('/');
                        let expected = if is_apart(network) || is_private {
                            format!("listen 0\n{served}")
                        } else if name == "@s" {
                            format!("listen -{0}\nconnect -{0}\n", libc::EACCES)
                        } else {
                            format!("listen 0\nconnect -{}\n", libc::EACCES)
                        };
                        assert_eq!(output, expected, "{network:?} {hides} {kind} {name} {user:?}");
                        sandbox.output("rm -f s /tmp/s /var/tmp/s /dev/shm/s");
                    }
                }
            }
        }
    }
}

#[test]
fn a_name_may_be_written_in_any_way() {
    for user in users() {
        let Some((place, mut sandbox, program)) = with(user, |_| {}) else { return };
        let root = place.root.display().to_string();
        let names = [
            "s".to_owned(),
            "./s".to_owned(),
            format!("{root}/s"),
            "d/../s".to_owned(),
            "soft".to_owned(),
            "hard".to_owned(),
            "absolute".to_owned(),
            "/proc/self/cwd/s".to_owned(),
            "/proc/thread-self/cwd/s".to_owned(),
            format!("/proc/self/root{root}/s"),
            "/proc/$$/cwd/s".to_owned(),
        ];
        let made = format!(
            "mkdir d; {program} serve stream s; ln -s s soft; ln s hard; ln -s {root}/s absolute"
        );
        let connects =
            names.map(|name| format!("{program} connect stream {name} | head -1;")).concat();
        let output = sandbox.output(&format!("{made}; {connects}"));
        assert_eq!(output, format!("listen 0\n{}", "connect 0\n".repeat(11)));
        let script = format!(
            "rm -f s; {program} serve stream s; mv s moved; {program} connect stream moved | head -1; \
             {program} descriptor moved /proc/self/fd/%d | head -1; {program} passed moved | head -1"
        );
        let output = sandbox.output(&script);
        assert_eq!(output, "listen 0\nconnect 0\nconnect 0\nconnect 0\n");
        // A path that is longer than an address, by its directory.
        let long = "d".repeat(100);
        let script = format!(
            "mkdir {long}; cd {long}; {program} serve stream s; {program} connect stream s | head -1"
        );
        assert_eq!(sandbox.output(&script), "listen 0\nconnect 0\n");
    }
}

#[test]
fn errors_are_the_kernels() {
    for user in users() {
        let Some((_place, mut sandbox, program)) = with(user, |_| {}) else { return };
        let script = format!(
            "for name in none f d f/s /tmp/none @none l; do {program} connect stream $name; done"
        );
        let output = sandbox.output(&format!("touch f; mkdir d; ln -s l l; {script}"));
        let expected = [
            libc::ENOENT,
            libc::ECONNREFUSED,
            libc::ECONNREFUSED,
            libc::ENOTDIR,
            libc::ENOENT,
            libc::ECONNREFUSED,
            libc::ELOOP,
        ];
        let expected = expected
            .map(|errno| {
                format!(
                    "connect -{errno}
"
                )
            })
            .concat();
        assert_eq!(output, expected);
        // In a private directory also a socket that is gone is known to be an own one.
        let script = format!(
            "{program} serve stream /tmp/gone; kill %1 2>&1; {program} connect seqpacket /tmp/gone"
        );
        let output = sandbox.output(&format!("set +e; {script}; true"));
        assert!(output.ends_with(&format!("connect -{}\n", libc::EPROTOTYPE)), "{output}");
        for kind in ["dgram", "raw"] {
            let output = sandbox.output(&format!("{program} make {kind}; {program} pair {kind}"));
            assert_eq!(output, format!("socket -{0}\npair -{0}\n", libc::EACCES));
        }
        let output = sandbox.output(&format!("{program} pair stream; {program} pair seqpacket"));
        assert_eq!(output, "pair 0\npair 0\n");
    }
}

#[test]
fn who_finds_a_server_busy_waits() {
    for user in users() {
        for name in ["/tmp/s", "s"] {
            let Some((_place, mut sandbox, program)) = with(user, |_| {}) else { return };
            let output = sandbox.output(&format!("{program} backlog {name}"));
            let again = libc::EAGAIN;
            let expected =
                format!("full -{again}\nlate -{again}\nwaited 1\nlimit 10\nwaits 1\nwaiter 0\n");
            assert_eq!(output, expected);
        }
    }
}

/// Servers compare the user of their clients with their own.
#[test]
fn a_server_is_told_the_callers_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for name in ["/tmp/s", "@s"] {
        let Some((_place, mut sandbox, program)) = with(None, |_| {}) else { return };
        let script = format!(
            "{program} serve stream {name}; chmod 777 /tmp/s 2>/dev/null || :; {program} as connect {name} 65534; \
             {program} connect stream {name}"
        );
        let expected =
            "listen 0\nconnect 0\nown 65534 65534\nserver 0 0\nconnect 0\nown 0 0\nserver 0 0\n";
        assert_eq!(sandbox.output(&script), expected);
    }
    // As its file says, and not more.
    let Some((_place, mut sandbox, program)) = with(None, |_| {}) else { return };
    let script = format!(
        "{program} serve stream /tmp/s; chmod 600 /tmp/s; {program} as connect /tmp/s 65534; {program} as serve /tmp/t 65534; \
         {program} connect stream /tmp/t"
    );
    let refused = libc::EACCES;
    let expected =
        format!("listen 0\nconnect -{refused}\nlisten 0\nconnect 0\nown 0 0\nserver 65534 65534\n");
    assert_eq!(sandbox.output(&script), expected);
}

#[test]
fn a_process_that_cannot_be_dumped_is_answered() {
    for user in users() {
        let Some((_place, mut sandbox, program)) = with(user, |_| {}) else { return };
        let script = format!("{program} serve stream s; {program} undumpable s | head -1");
        assert_eq!(sandbox.output(&script), "listen 0\nconnect 0\n");
    }
}

/// A process that is kept, and commands of other workers.
#[test]
fn workers_of_one_supervisor_reach_each_other() {
    for user in users() {
        let Some((_place, mut sandbox, program)) = with(user, |_| {}) else { return };
        for name in ["/tmp/s", "s"] {
            let kept = sandbox.start(&format!("{program} serve stream {name}; sleep 100"));
            let mut first = sandbox.exchange_worker();
            let script = format!(
                "until test -S {name}; do sleep 0.01; done; sleep 0.05; {program} connect stream {name} | head -1"
            );
            assert_eq!(sandbox.output(&script), "connect 0\n", "{name}");
            toolwright_sandbox::wire::send(&first, &toolwright_sandbox::wire::kill_frame(), &[])
                .unwrap();
            drop(kept);
            Sandbox::end_on(&mut first);
        }
    }
}

/// With `git: 'strict'` no socket gets a name where git could look. The root of this test lies below `/tmp`.
#[test]
fn a_strict_plan_has_names_in_private_directories() {
    let Some((_place, mut sandbox, program)) = with(None, |plan| plan.is_git_strict = true) else {
        return;
    };
    let output = sandbox.output(&format!(
        "{program} serve stream /dev/shm/s; {program} connect stream /dev/shm/s | head -1; {program} serve stream s; \
         {program} serve stream /tmp/s"
    ));
    assert_eq!(output, format!("listen 0\nconnect 0\nlisten -{0}\nlisten -{0}\n", libc::EACCES));
}

/// Nothing of git is added to the host.
#[test]
fn a_name_in_a_git_directory_stays_inside() {
    let place = Place::new(None);
    let Some(program) = place.compile("sockets", &[]) else { return };
    let git = |arguments: &[&str]| {
        std::process::Command::new("git").current_dir(&place.root).args(arguments).output()
    };
    if !git(&["init", "-q"]).is_ok_and(|made| made.status.success()) {
        eprintln!("skipped: there is no git");
        return;
    }
    let fork = place.root.join(".git");
    let mut sandbox = place.start(|plan| plan.forks = vec![fork.clone()]);
    if !sandbox.layers.own_sockets.holds() || !sandbox.layers.forks.holds() {
        eprintln!("skipped: {:?}", sandbox.layers);
        return;
    }
    let name = ".git/fsmonitor--daemon.ipc";
    let program = program.display();
    let output = sandbox.output(&format!(
        "{program} serve stream {name}; {program} connect stream {name} | head -1"
    ));
    // An overlay numbers its files otherwise than the kernel's list does.
    assert_eq!(output, format!("listen 0\nconnect -{}\n", libc::EACCES));
    assert!(!fs::exists(place.root.join(name)).unwrap());
}

#[test]
fn files_may_be_open_while_the_network_is_not() {
    let change = |plan: &mut Plan| plan.files = Files::Full;
    let Some((place, mut sandbox, program)) = with(None, change) else { return };
    let host = super::host::Host::new();
    host.at(&place.root.join("h"));
    let output = sandbox.output(&format!(
        "{program} serve stream s; {program} connect stream s | head -1; {program} connect stream h"
    ));
    assert_eq!(output, format!("listen 0\nconnect 0\nconnect -{}\n", libc::EACCES));
    host.assert_alone();
}
