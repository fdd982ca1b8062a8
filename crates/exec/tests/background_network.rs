//! Later commands reach the servers that are kept running and share their temporary directories, whatever
//! the disk adds to their plans.

#![cfg(target_os = "linux")]

mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use rustix::process::Signal;
use support::background::{ProcessOptions, TestProcess};
use support::place::{Place, has_namespaces, signal, supervisor, supervisors};
use support::{all_as_another_user, descriptors, done_alone, soon, text};
use toolwright_exec::{ExecError, Stream};
use toolwright_sandbox::plan::{Files, Network, Origin, Plan};

const PYTHON: &str = "/usr/bin/python3";
const SERVER: &str = "import socket\nl=socket.socket()\nl.bind(('127.0.0.1',0))\nl.listen()\n\
    print(l.getsockname()[1],flush=True)\n\
    while True:\n c=l.accept()[0]\n c.sendall(b'served')\n c.close()\n";
/// Which network, user namespace and files a command has.
const SPACES: &str = "readlink /proc/self/ns/net /proc/self/ns/user /proc/self/ns/mnt \
    /proc/self/ns/pid /proc/self/ns/ipc";

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

fn can_run() -> bool {
    let has_python = std::path::Path::new(PYTHON).exists();
    if !has_python {
        eprintln!("skipped: there is no {PYTHON}");
    }
    has_python && has_namespaces()
}

/// A place whose plans have an origin, as those that are made of options have.
fn place() -> Place {
    let mut place = Place::confined();
    let Plan { root, network, files, limits, .. } = place.plan.clone();
    let origin = Origin { root: Some(root), network, files, limits, ..Origin::default() };
    place.plan.origin = Some(Arc::new(origin));
    place
}

fn serve(place: &Place) -> (TestProcess, u16) {
    try_serve(place).expect("started")
}

fn try_serve(place: &Place) -> Result<(TestProcess, u16), ExecError> {
    let process = TestProcess::with(place, PYTHON, &["-c", SERVER], &ProcessOptions::default())?;
    let port = process.says("\n").trim().parse().expect("a port");
    Ok((process, port))
}

/// What a command gets from a server at the port, or nothing.
fn ask(place: &Place, port: u16) -> String {
    let script = format!(
        "import socket,sys\ntry:\n c=socket.create_connection(('127.0.0.1',{port}))\n\
         except ConnectionRefusedError:\n sys.exit(0)\nprint(c.recv(99).decode())"
    );
    text(&place.run(PYTHON, &["-c", &script]).expect("runs")).trim().to_owned()
}

fn directory(place: &Place, name: &str) -> PathBuf {
    let path = place.outside.join(name);
    fs::create_dir(&path).expect("made");
    path
}

#[test]
fn a_server_is_reached_while_the_disk_changes_the_plan() {
    if !can_run() {
        return;
    }
    let mut place = place();
    let (first, port) = serve(&place);
    let plan = place.plan.clone();
    for round in 0..3 {
        // A session or a store appears.
        place.plan.closed.push(directory(&place, &format!("session{round}")));
        assert_eq!(ask(&place, port), "served");
        // A repository is made in the root.
        place.plan.protected.push(place.root.join(format!("repository{round}/.git/config")));
        assert_eq!(ask(&place, port), "served");
        place.plan.readable.push(directory(&place, &format!("toolchain{round}")));
        assert_eq!(ask(&place, port), "served");
        // A server of the new plan is in reach of the old one.
        let (second, other_port) = serve(&place);
        place.plan.clone_from(&plan);
        assert_eq!(
            (ask(&place, port), ask(&place, other_port)),
            ("served".into(), "served".into())
        );
        second.kill();
    }
    assert!(first.end().is_none());
}

#[test]
fn fifty_plans_in_turn_reach_it() {
    if !can_run() {
        return;
    }
    let mut place = place();
    let (_process, port) = serve(&place);
    for number in 0..50 {
        place.plan.closed = vec![directory(&place, &number.to_string())];
        assert_eq!(ask(&place, port), "served", "plan {number}");
    }
}

#[test]
fn a_plan_that_was_used_before_gets_the_network_of_the_server() {
    if !can_run() {
        return;
    }
    let mut place = place();
    let closed = directory(&place, "closed");
    // Both have idle workers, each in a network of its own.
    place.output("true");
    place.plan.closed.push(closed.clone());
    let before = place.output(SPACES);
    place.plan.closed.clear();
    let (_process, port) = serve(&place);
    place.plan.closed.push(closed);
    assert_eq!(ask(&place, port), "served");
    let after = place.output(SPACES);
    assert_ne!(before.lines().next(), after.lines().next());
    // And once more, by a worker that waited.
    assert_eq!(place.output(SPACES), after);
}

#[test]
fn what_is_replaced_or_retired_does_not_hide_the_server() {
    if !can_run() || done_alone("what_is_replaced_or_retired_does_not_hide_the_server", "") {
        return;
    }
    let mut place = place();
    let protected = place.root.join("protected");
    fs::write(&protected, "old").expect("written");
    place.plan.protected.push(protected.clone());
    let closed = directory(&place, "closed");
    place.plan.closed.push(closed.clone());
    let (process, port) = serve(&place);
    for round in 0..3 {
        fs::write(place.outside.join("new"), "new").expect("written");
        fs::rename(place.outside.join("new"), &protected).expect("replaced");
        assert_eq!(ask(&place, port), "served", "replaced {round}");
        fs::rename(&closed, place.outside.join(format!("moved{round}"))).expect("moved");
        fs::create_dir(&closed).expect("made");
        assert_eq!(ask(&place, port), "served", "moved {round}");
    }
    // As if the host had no descriptor left.
    toolwright_exec::release_directory(&place.root);
    assert_eq!(ask(&place, port), "served", "released");
    // The supervisor of the server dies, and those of all others.
    for process in supervisors(std::process::id()) {
        signal(process, Signal::KILL);
    }
    assert!(soon(|| supervisors(std::process::id()).is_empty()));
    if process.end().is_none() {
        assert_eq!(ask(&place, port), "served", "killed");
    }
}

#[test]
fn servers_that_start_at_once_are_in_one_network() {
    if !can_run() {
        return;
    }
    for round in 0..4 {
        let places: Vec<Place> = {
            let first = place();
            let plan = first.plan.clone();
            let closed = directory(&first, "closed");
            let others = (0..3).map(|number| {
                let mut other = Place::confined();
                other.root.clone_from(&first.root);
                other.plan = plan.clone();
                other.plan.protected.push(first.root.join(format!("file{number}")));
                other
            });
            let mut all: Vec<Place> = others.collect();
            let mut first = first;
            first.plan.closed.push(closed);
            all.push(first);
            all
        };
        let started: Vec<(TestProcess, u16)> = thread::scope(|scope| {
            let threads: Vec<_> =
                places.iter().map(|place| scope.spawn(move || serve(place))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        for place in &places {
            for (_, port) in &started {
                assert_eq!(ask(place, *port), "served", "round {round}");
            }
        }
    }
}

#[test]
fn what_was_asked_for_otherwise_stays_apart() {
    if !can_run() {
        return;
    }
    let mut place = place();
    let (_process, port) = serve(&place);
    let plan = place.plan.clone();
    let origin = |change: &dyn Fn(&mut Origin)| {
        let mut origin = Origin::clone(plan.origin.as_deref().expect("it has one"));
        change(&mut origin);
        Some(Arc::new(origin))
    };
    let others = [
        origin(&|origin| origin.writable.push("/other".into())),
        origin(&|origin| origin.readable.push("/other".into())),
        origin(&|origin| origin.closed.push("/other".into())),
        origin(&|origin| origin.protected.push("/other".into())),
        origin(&|origin| origin.is_narrow = true),
        origin(&|origin| origin.files = Files::Full),
        origin(&|origin| origin.network = Network::Nothing),
        origin(&|origin| origin.limits.processes = None),
        origin(&|origin| origin.root = None),
        origin(&|origin| origin.home = Some("/home".into())),
        None,
    ];
    for other in others {
        place.plan.origin = other;
        assert_eq!(ask(&place, port), "", "{:?}", place.plan.origin);
        // Nor does a server of theirs meet it.
        let (other, other_port) = serve(&place);
        assert_eq!(ask(&place, other_port), "served");
        let spaces = place.output(SPACES);
        place.plan.clone_from(&plan);
        assert_ne!(place.output(SPACES).lines().next(), spaces.lines().next());
        other.kill();
    }
    place.isolated = true;
    assert_eq!(ask(&place, port), "");
    place.isolated = false;
    // Without an origin, another plan is another network, as ever.
    place.plan.origin = None;
    let (_other, port) = serve(&place);
    place.plan.protected.push(place.root.join("file"));
    assert_eq!(ask(&place, port), "");
}

/// A command that joins has its own of everything but the network and the temporary directories, and may
/// do as little as any other.
#[test]
fn joining_gives_nothing_but_the_network() {
    if !can_run() {
        return;
    }
    let mut place = place();
    let secret = directory(&place, "root/secret");
    fs::write(secret.join("file"), "secret").expect("written");
    let look = format!("{SPACES}; cat {}/file; sleep 60", secret.display());
    let process = TestProcess::start(&place, &look);
    let theirs = process.says("secret");
    let theirs: Vec<&str> = theirs.lines().take(5).collect();
    // Here it may not be read any more.
    place.plan.closed.push(secret.clone());
    let ours = place.output(SPACES);
    let ours: Vec<&str> = ours.lines().collect();
    assert_eq!(ours[0], theirs[0], "the network");
    for index in 2..5 {
        assert_ne!(ours[index], theirs[index]);
    }
    let limits = "grep -E '^(Cap|NoNewPrivs|Seccomp|Uid|Gid)' /proc/self/status; ls /dev | sort; \
        cat /proc/sys/user/max_user_namespaces /proc/self/uid_map /proc/self/gid_map \
        /proc/self/setgroups; ulimit -a; ip link 2>/dev/null | grep -c UP";
    let joined = place.output(limits);
    let refused = format!(
        "for it in 'unshare --user true' 'unshare --net true' 'unshare --mount true' \
         'mount -t tmpfs none /tmp' 'touch /etc/x' 'touch {outside}/x' 'cat {secret}/file' \
         'nsenter --net=/proc/1/ns/net true' 'ls /proc/1/root/' \
         'ip link set lo down' 'ip addr add 10.0.0.1/8 dev lo' 'cat /proc/1/environ'; \
         do sh -c \"$it\" >/dev/null 2>&1 && echo \"$it\"; done; ls /proc | grep -c '^[0-9]*$'",
        outside = place.outside.display(),
        secret = secret.display(),
    );
    let seen: u32 = place.output(&refused).parse().expect("none of them worked");
    assert!(seen < 10, "{seen} processes are seen");
    assert!(!place.outside.join("x").exists());
    process.kill();
    process.ended();
    // A supervisor that made its network gives the same.
    let apart = self::place();
    assert_eq!(joined, apart.output(limits));
    assert_ne!(apart.output(SPACES).lines().next(), Some(ours[0]));
}

/// In the temporary directories, each sees what the other writes, with the same modes and programs.
#[test]
fn temporary_directories_are_those_of_the_process() {
    if !can_run() {
        return;
    }
    let mut place = place();
    let write = "for it in /tmp /var/tmp /dev/shm; do echo theirs > $it/theirs; done; \
        printf '#!/bin/sh\\necho ran\\n' > /tmp/program; chmod +x /tmp/program; mkdir /tmp/below; \
        echo up; until cat /tmp/ours 2>/dev/null; do sleep 0.01; done; sleep 60";
    let process = TestProcess::start(&place, write);
    process.says("up");
    for number in 0..3 {
        place.plan.closed = vec![directory(&place, &number.to_string())];
        assert_eq!(
            place.output("cat /tmp/theirs /var/tmp/theirs /dev/shm/theirs"),
            "theirs\ntheirs\ntheirs"
        );
        assert_eq!(place.output("/tmp/program; stat -c %a /tmp"), "ran\n1777");
        place.output(&format!("echo {number} >> /tmp/below/rounds"));
    }
    assert_eq!(place.output("cat /tmp/below/rounds; echo ours > /tmp/ours"), "0\n1\n2");
    process.says("ours");
    // Whoever was asked for otherwise has others.
    let others = self::place();
    assert_eq!(others.output("ls /tmp/theirs 2>/dev/null || echo none"), "none");
    process.kill();
    process.ended();
    drop(process);
    toolwright_exec::release_directory(&place.root);
    place.plan.closed = vec![directory(&place, "after")];
    assert_eq!(place.output("ls /tmp/theirs 2>/dev/null || echo none"), "none");
}

/// Mounts of the later tree do not appear in the tree of the process, whatever lies below `/tmp`.
#[test]
fn what_is_mounted_in_a_shared_directory_stays_in_its_tree() {
    if !can_run() {
        return;
    }
    let mut place = place();
    let granted = tempfile::Builder::new().prefix("toolwright-granted").tempdir_in("/tmp");
    let granted = granted.expect("made");
    fs::write(granted.path().join("file"), "host").expect("written");
    let look = format!("echo up; while sleep 0.01; do cat {}/file; done", granted.path().display());
    let process = TestProcess::start(&place, &format!("exec 2>/dev/null; {look}"));
    process.says("up");
    place.plan.readable.push(granted.path().to_owned());
    let file = granted.path().join("file");
    assert_eq!(place.output(&format!("cat {}", file.display())), "host");
    assert_eq!(
        place.output(&format!("(echo x > {}) 2>/dev/null || echo refused", file.display())),
        "refused"
    );
    thread::sleep(Duration::from_millis(50));
    assert_eq!(process.output(Stream::Stdout).trim(), "up");
    assert_eq!(fs::read_to_string(&file).expect("read"), "host");
}

/// What a command has put where a later tree needs a place does not lead that tree elsewhere, and does not
/// stop later commands: they have a directory of their own then.
#[test]
fn a_place_that_a_command_has_taken_is_not_followed() {
    if !can_run() {
        return;
    }
    for taken in ["ln -s /etc", "ln -s .", "mkdir -p /tmp/x; echo x >", "mkfifo"] {
        let mut place = place();
        let granted = tempfile::Builder::new().prefix("toolwright-granted").tempdir_in("/tmp");
        let granted = granted.expect("made");
        fs::write(granted.path().join("file"), "host").expect("written");
        let at = granted.path().display();
        let process = TestProcess::start(&place, &format!("{taken} {at}; echo up; sleep 60"));
        process.says("up");
        place.plan.readable.push(granted.path().to_owned());
        assert_eq!(place.output(&format!("cat {at}/file; ls {at}")), "hostfile", "{taken}");
        assert!(process.end().is_none());
    }
}

#[test]
fn the_network_ends_with_its_last_process() {
    if !can_run() || done_alone("the_network_ends_with_its_last_process", "") {
        return;
    }
    let mut place = place();
    place.output("true");
    let (process, port) = serve(&place);
    let (second, _) = serve(&place);
    process.kill();
    process.ended();
    place.plan.closed = vec![directory(&place, "one")];
    let joined = place.output(SPACES);
    assert_eq!(ask(&place, port), "");
    second.kill();
    second.ended();
    // Those that have joined stay there. Others are not asked to.
    assert_eq!(place.output(SPACES), joined);
    place.plan.closed = vec![directory(&place, "two")];
    assert_ne!(place.output(SPACES).lines().next(), joined.lines().next());
    drop((process, second));
    toolwright_exec::release_directory(&place.root);
    let before = descriptors();
    for number in 0..5 {
        let (process, port) = serve(&place);
        place.plan.closed = vec![directory(&place, &format!("again{number}"))];
        assert_eq!(ask(&place, port), "served");
        process.kill();
        process.ended();
    }
    toolwright_exec::release_directory(&place.root);
    assert!(soon(|| descriptors() <= before), "{} of {before}", descriptors());
}

/// The supervisor of a server is retired and waits for it. Neither it nor the one that has joined keeps
/// anything alive when all is over.
#[test]
fn nothing_is_left_of_supervisors_that_have_joined() {
    if !can_run() || done_alone("nothing_is_left_of_supervisors_that_have_joined", "") {
        return;
    }
    let mut place = place();
    let (process, port) = serve(&place);
    let old = supervisor(place.worker()).expect("it has one");
    toolwright_exec::release_directory(&place.root);
    assert_eq!(ask(&place, port), "served");
    let new: Vec<u32> = supervisors(std::process::id());
    assert!(new.contains(&old) && new.len() == 2, "{old}, {new:?}");
    assert_eq!(user(old), user(new[0]));
    place.plan.closed = vec![directory(&place, "closed")];
    assert_eq!(ask(&place, port), "served");
    drop(process);
    toolwright_exec::release_directory(&place.root);
    assert!(soon(|| supervisors(std::process::id()).is_empty()));
    thread::sleep(Duration::from_millis(20));
    assert!(place.is_clear());
}

fn user(process: u32) -> u32 {
    fs::metadata(format!("/proc/{process}")).expect("it is there").uid()
}

/// Commands come while servers start and end and the plan changes, and none fails.
#[test]
fn commands_beside_servers_that_come_and_go() {
    if !can_run() {
        return;
    }
    let place = place();
    let closed: Vec<PathBuf> =
        (0..3).map(|number| directory(&place, &number.to_string())).collect();
    let with = |number: usize| {
        let mut other = Place::confined();
        other.root.clone_from(&place.root);
        other.plan = place.plan.clone();
        other.plan.closed = vec![closed[number % closed.len()].clone()];
        other
    };
    thread::scope(|scope| {
        for caller in 0..2 {
            let with = &with;
            scope.spawn(move || {
                for number in 0..30 {
                    assert_eq!(with(number + caller).output("echo fine"), "fine");
                }
            });
        }
        for caller in 0..2 {
            let with = &with;
            scope.spawn(move || {
                for number in 0..8 {
                    let (process, port) = serve(&with(number + caller));
                    assert_eq!(ask(&with(number + caller + 1), port), "served");
                    assert!(process.output(Stream::Stdout).starts_with(&port.to_string()));
                    drop(process);
                }
            });
        }
    });
}

/// The host has become another user: the kernel lets it enter neither the network nor the temporary
/// directories of root. Its commands have their own then, and run as ever.
#[test]
fn a_join_that_the_kernel_refuses_leaves_a_network_of_its_own() {
    let test = "a_join_that_the_kernel_refuses_leaves_a_network_of_its_own";
    if !can_run() || !rustix::process::getuid().is_root() || done_alone(test, "") {
        return;
    }
    let mut place = place();
    for path in [&place.root, &place.outside] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("changed");
    }
    let (kept, port) = serve(&place);
    let theirs = fs::metadata("/proc/self").expect("it is there").uid();
    assert_eq!(theirs, 0);
    // Of this thread alone, which starts the supervisors.
    let nobody = rustix::process::Uid::from_raw(65_534);
    rustix::thread::set_thread_res_uid(nobody, nobody, nobody).expect("changed");
    place.plan.closed = vec![directory(&place, "closed")];
    let spaces = "readlink /proc/self/ns/net; cat /tmp/file 2>/dev/null; echo own > /tmp/file; cat /tmp/file";
    let said = place.output(spaces);
    let network = said.lines().next().expect("a network");
    assert!(said.ends_with("own"), "{said}");
    assert_ne!(
        Some(network),
        fs::read_link("/proc/self/ns/net").ok().as_ref().and_then(|path| path.to_str())
    );
    // The server is in another network, and goes on. Its loopback interface works, as that of the new one does.
    assert_eq!(ask(&place, port), "");
    assert!(kept.end().is_none());
    let loopback = "import socket\nl=socket.socket()\nl.bind(('127.0.0.1',0))\nl.listen()\n\
        socket.create_connection(l.getsockname())\nprint('up')";
    assert_eq!(text(&place.run(PYTHON, &["-c", loopback]).expect("runs")).trim(), "up");
}

/// What replaces this process by one in other namespaces, which runs the test alone after `prepare`.
fn in_namespaces(test: &str, options: &str, prepare: &str) -> String {
    format!(
        "exec unshare {options} sh -c '{prepare}; \
         exec \"$0\" --exact --nocapture --test-threads=1 {test}' \"$0\""
    )
}

/// As in a container that permits no user namespaces: the network belongs to the host's.
#[test]
fn root_without_user_namespaces_joins_too() {
    let test = "root_without_user_namespaces_joins_too";
    let prepare = "echo 0 > /proc/sys/user/max_user_namespaces";
    let shell = in_namespaces(test, "--user --map-root-user --mount", prepare);
    if !can_run() || !rustix::process::getuid().is_root() || done_alone(test, &shell) {
        return;
    }
    let mut place = place();
    let (process, port) = serve(&place);
    for number in 0..3 {
        place.plan.closed = vec![directory(&place, &number.to_string())];
        assert_eq!(ask(&place, port), "served");
        let refused = "! touch /etc/x && ! mount -t tmpfs none /tmp && echo refused";
        assert_eq!(place.output(&format!("{{ {refused}; }} 2>/dev/null")), "refused");
    }
    process.kill();
    process.ended();
    assert_eq!(ask(&place, port), "");
}

/// Commands of one user namespace would see each other there, so those of another plan do not come in.
#[test]
fn without_process_namespaces_nobody_joins() {
    let test = "without_process_namespaces_nobody_joins";
    // As container runtimes do it.
    let prepare = "mount --bind /dev/null /proc/timer_list; mount -t tmpfs none /proc/fs";
    let shell = in_namespaces(test, "--mount", prepare);
    let can_run = std::path::Path::new(PYTHON).exists() && rustix::process::getuid().is_root();
    if !can_run || done_alone(test, &shell) {
        return;
    }
    let mut place = place();
    place.required = false;
    let (_process, port) = serve(&place);
    assert_eq!(ask(&place, port), "served");
    place.plan.closed = vec![directory(&place, "closed")];
    assert_eq!(ask(&place, port), "");
}
