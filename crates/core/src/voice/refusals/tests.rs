use toolwright_exec::process::{CallKind, Facts, RefusedCall};
use toolwright_sandbox::plan::{Files, Limits, Network, Plan};

use super::*;
use crate::denials;

mod corpus;

pub(crate) fn plan(network: Network, files: Files) -> Plan {
    Plan {
        root: "/srv/root".into(),
        network,
        names: None,
        files,
        writable: vec!["/srv/root".into()],
        closed: vec!["/home/u/.ssh".into()],
        protected: vec!["/srv/root/.git/hooks".into(), "/srv/root/.git/config".into()],
        limits: Limits { processes: Some(64), ..Limits::default() },
        ..Plan::default()
    }
}

/// A directory with a root, a closed store, a linked work tree and a socket beside it.
pub(in crate::voice) struct Scene {
    pub(in crate::voice) plan: Plan,
    pub(in crate::voice) facts: Facts,
    directory: tempfile::TempDir,
    _socket: std::os::unix::net::UnixListener,
}

impl Scene {
    pub(in crate::voice) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("r").tempdir_in(env!("CARGO_MANIFEST_DIR"));
        let directory = directory.expect("a directory");
        let at = |name: &str| directory.path().join(name);
        for name in ["root/.git/hooks", "root/sub", "store", "beside", "main/.git/worktrees/w"] {
            std::fs::create_dir_all(at(name)).expect("directories");
        }
        std::fs::write(at("store/key"), "secret").expect("a file");
        std::fs::write(at("main/.git/worktrees/w/HEAD"), "ref: x").expect("a file");
        let socket = std::os::unix::net::UnixListener::bind(at("d.sock")).expect("a socket");
        let limits = Limits {
            processes: Some(64),
            memory_bytes: Some(1 << 30),
            cpu_seconds: Some(5),
            file_size_bytes: Some(1 << 20),
        };
        let plan = Plan {
            root: at("root"),
            writable: vec![at("root")],
            protected: vec![at("root/.git/hooks")],
            closed: vec![at("store")],
            limits,
            ..plan(Network::PrivateLoopback, Files::Confined)
        };
        let facts = Facts {
            unreachable: Some(0),
            memory_kills: Some(0),
            refused_processes: Some(0),
            ..Facts::default()
        };
        Self { plan, facts, directory, _socket: socket }
    }

    /// What a model reads of a line that has printed this. `HERE` is the directory of all.
    pub(super) fn note(&self, line: &str, end: &End, printed: &str, door: Door) -> Option<String> {
        let here = self.directory.path().to_string_lossy();
        let printed = printed.replace("HERE", &here);
        let arguments = ["-c".to_owned(), line.replace("HERE", &here)];
        let ended = Ended {
            starts_processes: false,
            end,
            printed: &[&printed],
            plan: &self.plan,
            directory: &self.plan.root,
            connections: &[],
            door,
            command: ("sh", &arguments),
            keeps_state: false,
            facts: self.facts,
            variables: None,
        };
        let denials = denials::of_command(&ended);
        explain(&ended, &denials).map(|note| note.replace(&*here, "HERE"))
    }

    pub(super) fn failed(&self, line: &str, printed: &str) -> Option<String> {
        self.note(line, &End::Exited(Exit::Code(1)), printed, Door::Tools)
    }
}

/// A call that was refused counts, whatever was printed; long before the end only if the error was printed too.
#[test]
fn a_refused_call_is_named_by_what_it_is_for() {
    let mut scene = Scene::new();
    let refused = |kind, is_recent| Some(RefusedCall { kind, is_recent });
    for (kind, words) in [
        (CallKind::Mount, "cannot mount"),
        (CallKind::Namespace, "cannot make namespaces"),
        (CallKind::Root, "root directory"),
        (CallKind::Device, "cannot make devices"),
        (CallKind::SetId, "rights of its owner or group"),
        (CallKind::Measure, "cannot measure"),
        (CallKind::Handle, "by handles"),
        (CallKind::System, "no rights over the system"),
        (CallKind::RawSocket, "no raw sockets"),
    ] {
        for printed in ["", "failed: 1", "it: Operation not permitted"] {
            scene.facts.refused_call = refused(kind, true);
            let note = scene.failed("./a", printed).expect("a note");
            assert!(note.starts_with("This is the sandbox: ") && note.contains(words), "{note}");
            scene.facts.refused_call = refused(kind, false);
            let is_said = printed.contains("not permitted");
            assert_eq!(scene.failed("./a", printed).is_some(), is_said, "{kind:?} {printed}");
        }
        assert_eq!(scene.note("./a", &End::Exited(Exit::Code(0)), "", Door::Tools), None);
    }
    for (kind, printed) in [
        (CallKind::Keys, "keyctl: Function not implemented"),
        (CallKind::Memory, "OSError: [Errno 1] Operation not permitted"),
        (CallKind::Datagram, "PermissionError: [Errno 13] Permission denied"),
        (CallKind::OtherSocket, "OSError: [Errno 97] Address family not supported by protocol"),
    ] {
        scene.facts.refused_call = refused(kind, true);
        assert!(scene.failed("./a", printed).is_some(), "{kind:?}");
        assert_eq!(scene.failed("./a", "1 test failed"), None, "{kind:?}");
    }
    scene.plan.files = Files::Full;
    scene.facts.refused_call = refused(CallKind::Mount, true);
    assert_eq!(scene.failed("./a", "it: Operation not permitted"), None);
}

const KILLED: i32 = 128 + 9;

#[test]
fn a_kill_for_memory_is_told_from_every_other() {
    let mut scene = Scene::new();
    let killed = |scene: &Scene| scene.note("x", &End::Exited(Exit::Code(KILLED)), "", Door::Tools);
    assert_eq!(killed(&scene), None);
    // Where the kernel counts, a program that speaks of memory has met no limit.
    assert_eq!(scene.failed("x", "MemoryError"), None);
    scene.facts.memory_kills = Some(1);
    let note = killed(&scene).expect("a note");
    assert!(note.contains("more memory than the host allows (1 GiB)"), "{note}");
    assert!(note.contains("sandbox.limits.memoryBytes"), "{note}");
    let session = scene.note("x", &End::Exited(Exit::Code(KILLED)), "", Door::Session);
    assert!(!session.expect("a note").contains("sandbox.limits"));
    scene.facts.memory_kills = None;
    assert_eq!(killed(&scene), None);
    for printed in [
        "MemoryError",
        "RangeError: Array buffer allocation failed",
        "ERR_MEMORY_ALLOCATION_FAILED",
    ] {
        let note = scene.failed("x", printed).expect(printed);
        assert!(
            note.starts_with("This may be the sandbox: each process has at most 1 GiB"),
            "{note}"
        );
    }
}

#[test]
fn the_network_is_named_if_something_tried_to_leave() {
    let mut scene = Scene::new();
    let words = "curl: (6) Could not resolve host: example.org";
    assert_eq!(scene.failed("curl https://example.org", words), None);
    let timed_out = |scene: &Scene, line| scene.note(line, &End::TimedOut, "", Door::Tools);
    for line in [
        "npx --no-install x",
        "cargo run --offline",
        "GOPROXY=off go run .",
        "npx nx show projects",
    ] {
        assert_eq!(timed_out(&scene, line), None, "{line}");
    }
    scene.facts.unreachable = Some(3);
    let note = scene.failed("curl https://example.org", words).expect("a note");
    assert!(note.contains("the network is blocked"), "{note}");
    assert_eq!(scene.failed("make test", "1 test failed"), None);
    let note = timed_out(&scene, "cd x && npx y").expect("a note");
    assert!(note.contains("`npx` tried to reach the network"), "{note}");
    assert_eq!(timed_out(&scene, "sleep 9"), None);
    let quiet = |line, code| scene.note(line, &End::Exited(Exit::Code(code)), "", Door::Tools);
    assert!(quiet("curl -s https://x", 6).is_some_and(|text| text.contains("find the host")));
    assert_eq!(quiet("curl -s https://x", 22), None);
    assert_eq!(quiet("make", 6), None);
    assert_eq!(quiet("curl -s http://localhost:1/", 7), None);
    // Where nothing counts, what can do nothing else has waited for it.
    scene.facts.unreachable = None;
    assert!(timed_out(&scene, "npm install").is_some());
    assert_eq!(timed_out(&scene, "npm test"), None);
}

/// Where the kernel lists who listens.
#[cfg(target_os = "linux")]
#[test]
fn a_service_of_this_machine_is_named_if_it_is_there() {
    let scene = Scene::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a server");
    let port = server.local_addr().expect("its address").port();
    let refused = format!("connect ECONNREFUSED 127.0.0.1:{port}");
    let note = scene.failed("npm test", &refused).expect("a note");
    assert!(
        note.contains(&format!("port {port} of")) && note.contains("sandbox.loopback"),
        "{note}"
    );
    let quiet = format!("curl -s http://localhost:{port}/");
    assert!(scene.note(&quiet, &End::Exited(Exit::Code(7)), "", Door::Tools).is_some());
    assert_eq!(scene.failed(&quiet, "404 not found"), None);
    drop(server);
    assert_eq!(scene.failed("npm test", &refused), None);
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_outside_is_named_if_the_command_line_names_it() {
    let scene = Scene::new();
    let own = std::process::id();
    let printed = format!("sh: 1: kill: ({own}) - No such process");
    let note = scene.failed(&format!("kill -9 {own}"), &printed).expect("a note");
    assert!(note.contains(&format!("process {own} runs outside")), "{note}");
    assert_eq!(scene.failed("kill -9 $!", &printed), None);
    assert_eq!(scene.failed("kill 999999999", "No such process"), None);
    assert_eq!(scene.failed(&format!("kill {own}"), "usage"), None);
}

/// The kernel refuses the owner of a file no mode but one with such a bit.
#[test]
fn a_mode_that_was_not_permitted_is_one_with_rights() {
    let scene = Scene::new();
    std::fs::write(scene.plan.root.join("a"), "").expect("a file");
    for (line, printed) in [
        ("x", "tar: a: Cannot change mode to rwsr-xr-x: Operation not permitted"),
        ("x", "cp: preserving permissions for 'a': Operation not permitted"),
        (
            "python3 -c 'os.chmod(\"a\", 0o4755)'",
            "PermissionError: [Errno 1] Operation not permitted: 'a'",
        ),
        ("node x", "  code: 'EPERM',\n  syscall: 'chmod',\n  path: 'a'"),
        ("php -r 'chmod(\"a\", 04755)'", "PHP Warning:  chmod(): Operation not permitted"),
    ] {
        let note = scene.failed(line, printed).expect(printed);
        assert!(note.contains("rights of its owner"), "{note}");
    }
    for printed in [
        "    a:3: chmod: changing permissions of b: Operation not permitted",
        "PermissionError: [Errno 1] Operation not permitted: 'a'",
        "rename 'a': Operation not permitted\nchmod",
    ] {
        assert_eq!(scene.failed("x", printed), None, "{printed}");
    }
}

#[test]
fn a_repository_outside_of_the_root_is_named() {
    let scene = Scene::new();
    let lock =
        "fatal: Unable to create 'HERE/main/.git/worktrees/w/index.lock': Read-only file system";
    let note = scene.failed("git add b", lock).expect("a note");
    assert!(note.contains("sandbox.writableRoots: ['HERE/main/.git']"), "{note}");
    let lost = "fatal: not a git repository: HERE/main/.git/worktrees/w";
    let end = End::Exited(Exit::Code(128));
    let note = scene.note("git status", &end, lost, Door::Session).expect("a note");
    assert!(note.contains("fs.read and fs.write for `HERE/main/.git/**`"), "{note}");
    assert_eq!(scene.failed("git status", "fatal: not a git repository: HERE/other/.git"), None);
}

/// Models send patches to a shell, where the program of another agent would be.
#[test]
fn a_patch_sent_to_a_shell_is_for_a_tool() {
    let scene = Scene::new();
    for printed in [
        "bash: line 1: apply_patch: command not found\n",
        "sh: 1: apply_patch: not found\n",
        "zsh:1: command not found: apply_patch\n",
    ] {
        assert_eq!(scene.failed("x", printed).as_deref(), Some(APPLY_PATCH));
    }
}

/// A session has capabilities where tools have options, and no limits.
#[test]
fn a_hint_names_what_the_host_of_its_reader_has() {
    let mut scene = Scene::new();
    scene.facts = Facts {
        unreachable: Some(1),
        memory_kills: Some(0),
        refused_processes: Some(1),
        ..Facts::default()
    };
    let end = End::Exited(Exit::Code(1));
    for (printed, words) in [
        ("Could not resolve host: example.org", "net.hosts"),
        ("touch: cannot touch 'HERE/x': Read-only file system", "fs.write"),
        ("sh: fork: Resource temporarily unavailable", "start fewer"),
        ("cat: HERE/store/key: Permission denied", "fs.read"),
    ] {
        let note = scene.note("x", &end, printed, Door::Session).expect(printed);
        assert!(note.contains(words), "{note}");
        for option in ["allowNetwork", "writableRoots", "sandbox.readable", "sandbox.limits"] {
            assert!(!note.contains(option), "{note}");
        }
    }
}
