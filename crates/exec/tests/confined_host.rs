//! Hosts that die, and hosts that are short of something or do what others do not expect.

#![cfg(target_os = "linux")]

mod support;

use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use rustix::io::dup;
use rustix::process::{
    Pid, Resource, Signal, getpid, getrlimit, getuid, kill_process, set_child_subreaper, setrlimit,
};
use support::place::{Place, has_namespaces, processes, supervisors, workers};
use support::{
    all_as_another_user, children, descriptors, done_alone, factor, pids, soon, stat, text,
};
use toolwright_exec::{ExecError, Exit, SpawnReason};

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

const HOST: &str = "TOOLWRIGHT_EXEC_HOST";

/// What would be left of a host that died, if anything could be.
const LINGERING: [&str; 6] = [
    "sleep 60",
    "setsid sleep 60 & (setsid sh -c 'trap \"\" HUP INT TERM; sleep 60 & sleep 61' &); sleep 62",
    "trap '' HUP INT QUIT TERM PIPE; while :; do sleep 1; done",
    "setsid sh -c 'sleep 60 & kill -STOP $$' & sleep 61",
    "while :; do setsid sleep 0.5 & sleep 0.01; done",
    "kill -STOP $$",
];

/// Runs as a host, in a process of its own: `None` there, after its commands have begun. `Some` is
/// that process, and the mark of its commands.
fn host(test: &str) -> Option<(Child, String)> {
    if env::var_os(HOST).is_none() {
        let temporary = env::temp_dir();
        let args = ["--exact", "--nocapture", "--test-threads=1", test];
        let mut host = Command::new(env::current_exe().expect("path"));
        let host = host.args(args).env(HOST, test).stdout(std::process::Stdio::null());
        let host = host.spawn().expect("started");
        let ready = temporary.join(host.id().to_string());
        assert!(soon(|| ready.exists()), "the commands did not begin");
        return Some((host, fs::read_to_string(ready).expect("a mark")));
    }
    // Both are left as they are when this process dies.
    let place: &'static Place = Box::leak(Box::new(Place::confined()));
    for (number, script) in LINGERING.iter().enumerate() {
        thread::spawn(move || place.sh(&format!(": > begun{number}; {script}")));
    }
    let begun = |number: usize| place.root.join(format!("begun{number}")).exists();
    assert!(soon(|| (0..LINGERING.len()).all(begun)), "the commands did not begin");
    let ready = env::temp_dir().join(std::process::id().to_string());
    fs::write(ready.with_extension("new"), &place.mark).expect("written");
    fs::rename(ready.with_extension("new"), ready).expect("renamed");
    None
}

/// Within a second.
fn nothing_is_left(mark: &str) {
    let died = Instant::now();
    let own = std::process::id().to_string();
    // Whatever loses its parent becomes a child of this process. Zombies are nothing any more.
    let lives =
        |pid: &u32| stat(&pid.to_string()).is_some_and(|stat| stat[1] == own && stat[0] != "Z");
    let left = || {
        let adopted = pids(children().replace(' ', "\n").as_bytes());
        [processes(mark), adopted.into_iter().filter(lives).collect()].concat()
    };
    while !left().is_empty() {
        let late = died.elapsed();
        assert!(late < Duration::from_secs(1), "{late:?}: {:?}", left());
    }
}

#[test]
fn a_host_that_is_killed_leaves_nothing() {
    let test = "a_host_that_is_killed_leaves_nothing";
    if env::var_os(HOST).is_none() && done_alone(test, "") {
        return;
    }
    set_child_subreaper(Some(getpid())).expect("a reaper");
    for _ in 0..2 * factor() {
        let Some((mut host, mark)) = host(test) else {
            loop {
                thread::park();
            }
        };
        assert!(processes(&mark).len() >= LINGERING.len());
        host.kill().expect("killed");
        host.wait().expect("reaped");
        nothing_is_left(&mark);
    }
}

#[test]
fn a_host_that_exits_leaves_nothing() {
    let test = "a_host_that_exits_leaves_nothing";
    if env::var_os(HOST).is_none() && done_alone(test, "") {
        return;
    }
    set_child_subreaper(Some(getpid())).expect("a reaper");
    let Some((mut host, mark)) = host(test) else { std::process::exit(0) };
    assert!(host.wait().expect("reaped").success());
    nothing_is_left(&mark);
}

/// Held by what counts the processes of this user, and by what starts many of them.
static COUNTED: Mutex<()> = Mutex::new(());

/// In the middle of whatever it does: making supervisors and workers, starting, ending.
#[test]
fn a_host_that_is_killed_at_any_time_leaves_nothing() {
    let test = "a_host_that_is_killed_at_any_time_leaves_nothing";
    if env::var_os(HOST).is_some() {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let mut place = Place::confined();
                        for isolated in [false, true] {
                            place.isolated = isolated;
                            let _ = place
                                .within(Duration::from_millis(7), "setsid sleep 60 & sleep 60");
                        }
                    }
                });
            }
        });
    }
    let counted = COUNTED.lock();
    if done_alone(test, "") {
        return;
    }
    drop(counted);
    set_child_subreaper(Some(getpid())).expect("a reaper");
    for round in 0..6 * factor() {
        let args = ["--exact", "--nocapture", "--test-threads=1", test];
        let mut host = Command::new(env::current_exe().expect("path"));
        let mut host = host.args(args).env(HOST, test).spawn().expect("started");
        thread::sleep(Duration::from_millis(40 + round * 17 % 60));
        host.kill().expect("killed");
        host.wait().expect("reaped");
        nothing_is_left("nobody's");
    }
}

/// Where an unconfined command would be lost: it is not the host's child.
#[test]
fn a_host_that_knows_nothing_of_its_children() {
    let test = "a_host_that_knows_nothing_of_its_children";
    // A shell does not hand on that it ignores this signal.
    let alone = "--exact --nocapture --test-threads=1";
    let ignoring = "env --ignore-signal=CHLD --ignore-signal=TERM";
    let skipped = "{ echo 'test result: 1 passed (skipped)'; exit 0; }";
    let shell = format!("{ignoring} true || {skipped}; exec {ignoring} \"$0\" {alone} {test}");
    if done_alone(test, &shell) {
        return;
    }
    let place = Place::confined();
    let finished = place.within(Duration::from_secs(5), "echo out; sleep 60 & exit 3");
    let finished = finished.expect("runs");
    assert_eq!((text(&finished).as_str(), finished.exit), ("out\n", Exit::Code(3)));
    let finished = place.sh("kill -TERM $$").expect("runs");
    assert_eq!(finished.exit, Exit::Signal { number: 15, name: "SIGTERM".into() });
    assert!(place.is_clear());
}

#[test]
fn a_host_that_waits_for_every_child() {
    if done_alone("a_host_that_waits_for_every_child", "") {
        return;
    }
    thread::spawn(|| {
        loop {
            if rustix::process::wait(rustix::process::WaitOptions::empty()).is_err() {
                thread::sleep(Duration::from_micros(200));
            }
        }
    });
    let mut place = Place::confined();
    for number in 0..20 {
        place.isolated = number % 2 == 0;
        let finished = place.sh("sleep 60 & echo out; exit 3").expect("runs");
        assert_eq!((text(&finished).as_str(), finished.exit), ("out\n", Exit::Code(3)));
    }
    assert!(place.is_clear());
}

/// Whether a call succeeded. Otherwise it must have failed for want of resources.
fn went_well(place: &Place, script: &str) -> bool {
    match place.sh(script) {
        Ok(finished) => finished.exit == Exit::Code(0) || panic!("{finished:?}"),
        Err(ExecError::Spawn { reason: SpawnReason::Resources, .. }) => false,
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn a_host_that_is_out_of_descriptors() {
    if done_alone("a_host_that_is_out_of_descriptors", "ulimit -n 120") {
        return;
    }
    // Whichever step of the first call the last one is missing for, and then with a supervisor.
    for isolated in [true, false] {
        let mut place = Place::confined();
        place.isolated = isolated;
        let file = fs::File::open("/dev/null").expect("opened");
        let mut taken: Vec<OwnedFd> = std::iter::from_fn(|| dup(&file).ok()).collect();
        for _ in 0..24 {
            went_well(&place, "true");
            taken.pop();
        }
        assert!(went_well(&place, "true"), "it has recovered");
    }
    let (place, well) = (Place::confined(), AtomicUsize::new(0));
    let at_once = |count: usize| {
        well.store(0, Ordering::Relaxed);
        thread::scope(|scope| {
            for _ in 0..count {
                scope.spawn(|| {
                    let one = usize::from(went_well(&place, "sleep 0.3"));
                    well.fetch_add(one, Ordering::Relaxed);
                });
            }
        });
        well.load(Ordering::Relaxed)
    };
    // Each of 200 may take a few of 120 descriptors and find no more: how many go well is not
    // promised. What they give back is enough for the next ones.
    let peak = at_once(200);
    assert!(peak < 200, "none was short of descriptors");
    assert_eq!(at_once(10), 10);
    let of_program = |name: &str| name.starts_with("toolwright-sandbox");
    let names = fs::read_dir(env::temp_dir()).expect("dir").flatten();
    assert!(!names.into_iter().any(|entry| entry.file_name().to_str().is_some_and(of_program)));
}

#[test]
fn a_host_that_is_out_of_processes() {
    if getuid().is_root() {
        eprintln!("skipped: root is not bound by this limit");
        return;
    }
    if done_alone("a_host_that_is_out_of_processes", "") {
        return;
    }
    let (place, limit) = (Place::confined(), getrlimit(Resource::Nproc));
    let mut none = limit;
    none.current = Some(1);
    setrlimit(Resource::Nproc, none).expect("limited");
    assert!(!went_well(&place, "true"));
    setrlimit(Resource::Nproc, limit).expect("as before");
    assert!(went_well(&place, "true"));
}

/// Any of the processes that a first call needs may be missing. The call then fails, or has every
/// layer: a want of resources is not taken for a system without namespaces.
#[test]
fn a_want_of_processes_is_not_remembered() {
    if getuid().is_root() || !has_namespaces() {
        eprintln!("skipped: root is not bound by this limit, or there is nothing to remember");
        return;
    }
    let counted = COUNTED.lock();
    if done_alone("a_want_of_processes_is_not_remembered", "") {
        return;
    }
    drop(counted); // this is the process that does it
    let namespace = fs::read_link("/proc/self/ns/pid").expect("a link").display().to_string();
    let is_whole = |place: &Place| match place.sh("readlink /proc/self/ns/pid") {
        Ok(finished) if finished.exit == Exit::Code(0) => {
            assert_ne!(text(&finished).trim_end(), namespace);
            true
        }
        // The shell itself may be unable to start a process.
        Ok(_) | Err(ExecError::Spawn { reason: SpawnReason::Resources, .. }) => false,
        Err(error) => panic!("{error:?}"),
    };
    // Others may run as this user, too, and come and go.
    let mut limit = getrlimit(Resource::Nproc);
    limit.current = Some(tasks_of_this_user() + ROOM);
    setrlimit(Resource::Nproc, limit).expect("limited");
    let (mut failed, mut went_well) = (0, 0);
    for left in 0..16 {
        let place = Place::confined();
        let whole = thread::scope(|scope| {
            let fill = || {
                let (filler, over) = mpsc::channel::<()>();
                let wait = move || over.recv().is_ok();
                let thread = thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, wait);
                thread.ok().map(|thread| (filler, thread))
            };
            let mut fillers: Vec<_> = std::iter::from_fn(fill).take(2000).collect();
            for (filler, thread) in fillers.split_off(fillers.len().saturating_sub(left)) {
                drop(filler);
                thread.join().expect("no panic");
            }
            is_whole(&place)
        });
        *(if whole { &mut went_well } else { &mut failed }) += 1;
        // Others of this user may have taken the room that was made.
        assert!(soon(|| is_whole(&place)), "with {left} left it has recovered");
        // Its supervisor and worker make room again.
        drop(place);
        for process in [supervisors(std::process::id()), workers(std::process::id())].concat() {
            // A worker that could not be set up may have ended by now.
            let process = i32::try_from(process).ok().and_then(Pid::from_raw);
            let _ = kill_process(process.expect("a number"), Signal::KILL);
        }
        assert!(soon(|| supervisors(std::process::id()).is_empty()));
    }
    assert!(failed > 0 && went_well > 0, "{failed} failed, {went_well} went well");
}

/// How many processes and threads there is room for.
const ROOM: u64 = 60;

/// As the limit counts them.
fn tasks_of_this_user() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let own = getuid().as_raw();
    let entries = fs::read_dir("/proc").expect("proc").flatten();
    let processes = entries.filter(|entry| {
        entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok())
            && entry.metadata().is_ok_and(|metadata| metadata.uid() == own)
    });
    let tasks = |process: fs::DirEntry| {
        fs::read_dir(process.path().join("task")).map_or(0, |tasks| tasks.count() as u64)
    };
    processes.map(tasks).sum()
}

/// They are inherited by whatever the host starts, so the sandbox program begins with all of them.
#[test]
fn a_host_with_many_inheritable_descriptors() {
    if done_alone("a_host_with_many_inheritable_descriptors", "ulimit -n 4000 2>/dev/null") {
        return;
    }
    let file = fs::File::open("/dev/null").expect("opened");
    let mut taken: Vec<OwnedFd> = std::iter::from_fn(|| dup(&file).ok()).collect();
    assert!(taken.len() > 200);
    taken.truncate(taken.len() - 30);
    let before = descriptors();
    for isolated in [false, true] {
        let mut place = Place::confined();
        place.isolated = isolated;
        assert_eq!(place.output("ls /proc/self/fd"), "0\n1\n2\n3");
        // The interpreter of a script does not inherit them either.
        let host = std::process::id();
        for process in [supervisors(host), workers(host)].concat() {
            let open = fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count);
            assert!(open < 40, "{open}");
        }
    }
    assert!(descriptors() < before + 20);
}
