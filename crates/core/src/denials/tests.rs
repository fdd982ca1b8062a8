use toolwright_sandbox::plan::{Files, Limits, Network, Plan};

use super::*;
use crate::voice::refusals::tests::plan;

struct Scene {
    plan: Plan,
    directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let directory =
            tempfile::Builder::new().prefix("denials").tempdir_in(env!("CARGO_MANIFEST_DIR"));
        let directory = directory.expect("a directory");
        let root = directory.path().join("root");
        let store = directory.path().join("store");
        std::fs::create_dir_all(root.join(".git/hooks")).expect("directories");
        std::fs::create_dir(&store).expect("a directory");
        std::fs::write(store.join("key"), "secret").expect("a file");
        let limits =
            Limits { processes: Some(64), memory_bytes: Some(1 << 30), ..Limits::default() };
        let plan = Plan {
            root: root.clone(),
            writable: vec![root.clone()],
            protected: vec![root.join(".git/hooks"), root.join("locked")],
            closed: vec![store],
            limits,
            ..plan(Network::Names, Files::Confined)
        };
        Self { plan, directory }
    }

    fn denials(&self, end: &End, printed: &str) -> Vec<(String, Option<&'static str>)> {
        let printed = printed.replace("HERE", &self.directory.path().to_string_lossy());
        let ended = Ended {
            starts_processes: false,
            end,
            printed: &[&printed],
            plan: &self.plan,
            directory: &self.plan.root,
            connections: &[],
            door: Door::Tools,
            command: ("x", &[]),
            keeps_state: false,
            facts: Facts::default(),
            variables: None,
        };
        let here = format!("{}/", self.directory.path().to_string_lossy());
        let all = of_command(&ended).into_iter();
        all.map(|denial| (denial.subject.replace(&here, ""), denial.option)).collect()
    }
}

const FAILED: End = End::Exited(Exit::Code(1));

#[test]
fn a_path_is_named_if_the_plan_closes_it() {
    let scene = Scene::new();
    for (printed, subject, option) in [
        ("touch: cannot touch '../x': Read-only file system", "x", "sandbox.writableRoots"),
        ("bash: line 1: HERE/x: Read-only file system", "x", "sandbox.writableRoots"),
        ("Error: EROFS: read-only file system, open 'HERE/a b'", "a b", "sandbox.writableRoots"),
        ("OSError: [Errno 30] Read-only file system: 'HERE/x'", "x", "sandbox.writableRoots"),
        ("open HERE/x: read-only file system", "x", "sandbox.writableRoots"),
        (
            "sh: 1: cannot create .git/hooks/x: Read-only file system",
            "root/.git/hooks/x",
            "sandbox.denyWrite",
        ),
        ("sh: 1: cannot create locked: Read-only file system", "root/locked", "sandbox.denyWrite"),
        ("bash: line 1: locked: Read-only file system", "root/locked", "sandbox.denyWrite"),
        (
            "mv: cannot move 'a' to '.git/hooks': Device or resource busy",
            "root/.git/hooks",
            "sandbox.denyWrite",
        ),
        ("cat: HERE/store/key: Permission denied", "store/key", "sandbox.readable"),
        ("cat: HERE/store/key: No such file or directory", "store/key", "sandbox.readable"),
        ("Error: ENOENT: mkdir 'HERE/store/new'", "store/new", "sandbox.readable"),
    ] {
        let expected = vec![(subject.to_owned(), Some(option))];
        assert_eq!(scene.denials(&FAILED, printed), expected, "{printed}");
        assert_eq!(scene.denials(&End::Exited(Exit::Code(0)), printed), [], "it did not fail");
    }
}

/// A note may not tell a command what is in a directory that it is kept from.
#[test]
fn a_closed_path_is_named_whether_it_is_there_or_not() {
    let scene = Scene::new();
    for error in ["Permission denied", "No such file or directory"] {
        for path in ["store/key", "store/absent", "store/no/key"] {
            let printed = format!("cat: HERE/{path}: {error}");
            let expected = [(path.to_owned(), Some("sandbox.readable"))];
            assert_eq!(scene.denials(&FAILED, &printed), expected, "{printed}");
        }
    }
}

#[test]
fn what_the_plan_does_not_close_is_an_ordinary_failure() {
    let scene = Scene::new();
    for printed in [
        "",
        "sh: ./script: Permission denied",
        "cat: HERE/root/x: Permission denied",
        "touch: cannot touch 'x': Read-only file system",
        "cat: HERE/root/absent: No such file or directory",
        "umount: /mnt: target is busy, EBUSY",
        "cannot create a copy of http://echo.test/x",
        "/proc/sys/kernel/x: Read-only file system",
        "Read-only file system",
        "permission denied for table x (/usr)",
        "BlockingIOError: [Errno 11] Resource temporarily unavailable",
        "FATAL ERROR: Ineffective mark-compacts near heap limit Allocation failed - JavaScript heap out of memory",
        "flock: 3: Resource temporarily unavailable",
    ] {
        assert_eq!(scene.denials(&FAILED, printed), [], "{printed}");
    }
}

#[test]
fn a_limit_is_named_if_there_is_one() {
    let mut scene = Scene::new();
    let signal = |number| End::Exited(Exit::Signal { number, name: "SIG".into() });
    let fork = "sh: 0: Cannot fork";
    assert_eq!(
        scene.denials(&FAILED, fork),
        [("processes".to_owned(), Some("sandbox.limits.processes"))]
    );
    assert_eq!(scene.denials(&FAILED, "MemoryError").len(), 1);
    assert_eq!(scene.denials(&End::TimedOut, ""), [("time".to_owned(), Some("toolTimeoutMs"))]);
    assert_eq!(scene.denials(&signal(24), "File too large"), []);
    scene.plan.limits =
        Limits { cpu_seconds: Some(1), file_size_bytes: Some(1), ..Limits::default() };
    assert_eq!(scene.denials(&FAILED, fork), []);
    assert_eq!(
        scene.denials(&signal(24), ""),
        [("processor time".to_owned(), Some("sandbox.limits.cpuSeconds"))]
    );
    assert_eq!(
        scene.denials(&FAILED, "dd: writing to 'x': File too large"),
        [("file size".to_owned(), Some("sandbox.limits.fileSizeBytes"))]
    );
    assert_eq!(scene.denials(&signal(9), ""), []);
}

#[test]
fn a_refused_host_is_named_with_what_refuses_it() {
    let connection = |host: &str, port, verdict| Connection {
        host: host.to_owned(),
        port,
        verdict,
        count: 1,
        bytes: None,
        requests: Vec::new(),
    };
    let connections = [
        connection("a.test", Some(443), Verdict::Opened),
        connection("b.test", Some(443), Verdict::Refused(Refusal::NotAllowed)),
        connection("c.test", None, Verdict::Refused(Refusal::Denied)),
        connection("d.test", None, Verdict::Refused(Refusal::NotGranted)),
        connection("e.test", None, Verdict::Private),
        connection("f.test", None, Verdict::Unknown),
        connection("g.test", Some(1), Verdict::Failed),
        connection("h.test", Some(443), Verdict::Refused(Refusal::OtherName)),
        connection("i.test", Some(443), Verdict::Refused(Refusal::NoName)),
        connection("j.test", Some(443), Verdict::Refused(Refusal::NoTls)),
    ];
    let all: Vec<_> = of_connections(&connections)
        .into_iter()
        .map(|denial| (denial.subject, denial.option))
        .collect();
    let expected = [
        ("b.test:443", "sandbox.network.allow"),
        ("c.test", "sandbox.network.deny"),
        ("d.test", "net.hosts"),
        ("e.test", "sandbox.network.addresses"),
        ("h.test:443", "sandbox.network.tlsNames"),
        ("i.test:443", "sandbox.network.tlsNames"),
        ("j.test:443", "sandbox.network.tlsNames"),
    ];
    assert_eq!(all, expected.map(|(subject, option)| (subject.to_owned(), Some(option))));
}
