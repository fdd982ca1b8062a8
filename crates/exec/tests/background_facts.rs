//! What the kernel says of a background process: where it listens, and whether it waits for input.

#![cfg(target_os = "linux")]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use support::background::{ProcessOptions, TestProcess};
use support::place::{Place, has_namespaces};
use support::{LONG, soon};
use toolwright_exec::Stream;
use toolwright_exec::process::{InputState, Process, WatchedFacts};

const PORTS: WatchedFacts = WatchedFacts { ports: true, input: false };
const INPUT: WatchedFacts = WatchedFacts { ports: false, input: true };
const PYTHON: &str = "/usr/bin/python3";

/// `count`, times what a soak asks for.
fn runs(count: u32) -> u32 {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok();
    factor.and_then(|factor| factor.parse().ok()).unwrap_or(1) * count
}

fn has(program: &str) -> bool {
    let is_installed = Path::new(program).exists();
    if !is_installed {
        eprintln!("skipped: there is no {program}");
    }
    is_installed
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("time").as_secs_f64()
}

/// A server that says when it began to listen, and at which port. It waits before, and after.
fn server(port: u16, pause: f64) -> String {
    format!(
        "import socket,time\nl=socket.socket()\nl.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n\
         l.bind(('127.0.0.1',{port}))\ntime.sleep({pause})\nl.listen()\n\
         print(time.time(),l.getsockname()[1],flush=True)\n\
         while True:\n c=l.accept()[0]\n data=c.recv(65536)\n c.sendall(b'you said '+data)\n c.close()\n"
    )
}

fn serve(place: &Place, port: u16, pause: f64) -> TestProcess {
    TestProcess::with(place, PYTHON, &["-c", &server(port, pause)], &ProcessOptions::default())
        .expect("started")
}

/// When it said that it began, and where.
fn announced(process: &TestProcess) -> (f64, u16) {
    let line = process.says("\n");
    let (time, port) = line.trim().split_once(' ').expect("two words");
    (time.parse().expect("a time"), port.parse().expect("a port"))
}

#[test]
fn a_port_is_known_when_the_process_listens_and_never_before() {
    let place = Place::confined();
    if !has(PYTHON) || !has_namespaces() {
        return;
    }
    let mut late = Vec::new();
    for run in 0..runs(20) {
        // Others listen at the same time, in the same network.
        let other = serve(&place, 0, 0.0);
        let process = serve(&place, 0, if run % 4 == 0 { 0.1 } else { 0.0 });
        let _watching = (process.watch(PORTS), other.watch(PORTS));
        let ports =
            process.until(LONG, |process| process.ports().filter(|ports| !ports.is_empty()));
        let seen = now();
        let (listened, port) = announced(&process);
        assert_eq!(ports, Some(vec![port]));
        late.push((seen - listened) * 1000.0);
        let other_port = announced(&other).1;
        let theirs = other.until(LONG, |process| process.ports().filter(|ports| !ports.is_empty()));
        assert_eq!(theirs, Some(vec![other_port]));
        assert_ne!(port, other_port);
    }
    late.sort_by(f64::total_cmp);
    let at = |percent: usize| late[(late.len() - 1) * percent / 100];
    let (median, percentile_95, last) = (at(50), at(95), at(100));
    eprintln!(
        "noticed after {median:.2} ms in the middle, {percentile_95:.2} of 95 %, {last:.2} of all"
    );
    assert!(median < 20.0, "{late:?}");
}

#[test]
fn ports_come_and_go() {
    let place = Place::confined();
    if !has(PYTHON) || !has_namespaces() {
        return;
    }
    let script = "import socket,sys\n\
        for family,address in ((socket.AF_INET6,'::1'),(socket.AF_INET,'0.0.0.0')):\n \
        l=socket.socket(family)\n l.bind((address,0))\n l.listen()\n \
        print(l.getsockname()[1],flush=True)\n sys.stdin.readline()\n l.close()\n\
        print('closed',flush=True)\nsys.stdin.readline()\n";
    let process = TestProcess::with(&place, PYTHON, &["-c", script], &ProcessOptions::default())
        .expect("started");
    let ports = |want: &[u16]| {
        process.until(LONG, |process| process.ports().filter(|ports| ports == want)).is_some()
    };
    assert_eq!(process.ports(), None);
    let watching = process.watch(PORTS);
    let first: u16 = process.says("\n").trim().parse().expect("a port");
    assert!(ports(&[first]));
    process.write(b"\n").expect("taken");
    assert!(soon(|| process.output(Stream::Stdout).lines().count() == 2));
    let second = process.output(Stream::Stdout).lines().nth(1).and_then(|line| line.parse().ok());
    assert!(ports(&[second.expect("a port")]));
    process.write(b"\n").expect("taken");
    assert!(ports(&[]));
    drop(watching);
    assert_eq!(process.ports(), None);
}

#[test]
fn a_server_stays_in_reach_of_its_plan_however_many_others_there_are() {
    let place = Place::confined();
    if !has(PYTHON) || !has_namespaces() {
        return;
    }
    let process = serve(&place, 0, 0.0);
    let port = announced(&process).1;
    for _ in 0..40 {
        let other = Place::confined();
        assert_eq!(other.output("echo other"), "other");
    }
    let script = format!(
        "import socket; c=socket.create_connection(('127.0.0.1',{port})); c.sendall(b'x'); print(c.recv(99))"
    );
    let ran = place.run(PYTHON, &["-c", &script]).expect("runs");
    assert_eq!(support::text(&ran).trim(), "b'you said x'");
}

fn ask(address: std::net::SocketAddr, what: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(what)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map(|_| answer)
}

#[test]
fn a_preview_leads_to_the_process_and_ends_with_it() {
    let place = Place::confined();
    if !has(PYTHON) || !has_namespaces() {
        return;
    }
    let process = serve(&place, 0, 0.0);
    let port = announced(&process).1;
    let preview = process.preview(port).expect("open");
    let address = preview.address();
    assert!(address.ip().is_loopback());
    for _ in 0..20 {
        assert_eq!(ask(address, b"hello").expect("answered"), b"you said hello");
    }
    let together: Vec<_> = (0..10).map(|_| thread::spawn(move || ask(address, b"all"))).collect();
    for one in together {
        assert_eq!(one.join().expect("whole").expect("answered"), b"you said all");
    }
    // The ports of others are not in reach, nor are those at which nothing listens.
    let other = serve(&place, 0, 0.0);
    let other_port = announced(&other).1;
    let wrong = process.preview(other_port).expect("open");
    assert_eq!(ask(wrong.address(), b"").unwrap_or_default(), b"");
    // Closed by its owner, and with the process.
    drop(preview);
    assert!(ask(address, b"").is_err());
    let preview = process.preview(port).expect("open");
    let mut open = TcpStream::connect(preview.address()).expect("connected");
    process.kill();
    process.ended();
    assert!(soon(|| ask(preview.address(), b"").is_err()));
    assert_eq!(open.read(&mut [0; 9]).unwrap_or(0), 0);
    assert!(process.preview(port).is_err());
}

#[test]
fn much_goes_through_a_preview_in_both_directions() {
    const SIZE: usize = 8 << 20;
    let place = Place::confined();
    if !has(PYTHON) || !has_namespaces() {
        return;
    }
    let script = "import socket\nl=socket.socket()\nl.bind(('127.0.0.1',0))\nl.listen()\n\
        print(l.getsockname()[1],flush=True)\nc=l.accept()[0]\n\
        while True:\n data=c.recv(65536)\n if not data: break\n c.sendall(data)\nc.close()\n";
    let process = TestProcess::with(&place, PYTHON, &["-c", script], &ProcessOptions::default())
        .expect("started");
    let port = process.says("\n").trim().parse().expect("a port");
    let preview = process.preview(port).expect("open");
    let mut stream = TcpStream::connect(preview.address()).expect("connected");
    let mut writer = stream.try_clone().expect("a copy");
    let sent: Vec<u8> = (0..=250_u8).cycle().take(SIZE).collect();
    let expected = sent.clone();
    let writing = thread::spawn(move || {
        writer.write_all(&sent).expect("sent");
        writer.shutdown(std::net::Shutdown::Write).expect("ended");
    });
    let mut got = Vec::new();
    stream.read_to_end(&mut got).expect("received");
    writing.join().expect("sent");
    assert!(got == expected, "{} of {SIZE}", got.len());
}

/// A server that sends as much as there is room for, and has ended before the client reads.
#[test]
fn what_a_process_sends_last_arrives_through_a_preview() {
    let place = Place::confined();
    if !has(PYTHON) || !has_namespaces() {
        return;
    }
    let script = "
import socket, time
l = socket.socket()
l.bind(('127.0.0.1', 0))
l.listen()
print(l.getsockname()[1], flush=True)
c = l.accept()[0]
c.recv(1)
c.setblocking(False)
sent, since = 0, time.monotonic()
while time.monotonic() - since < 0.5:
    try:
        sent += c.send(b'x' * 65536)
        since = time.monotonic()
    except BlockingIOError:
        time.sleep(0.01)
print('sent', sent, flush=True)";
    let process = TestProcess::with(&place, PYTHON, &["-c", script], &ProcessOptions::default())
        .expect("started");
    let port = process.says("\n").trim().parse().expect("a port");
    let preview = process.preview(port).expect("open");
    let mut stream = TcpStream::connect(preview.address()).expect("connected");
    stream.write_all(b"?").expect("asked");
    process.ended();
    assert!(process.preview(port).is_err() && TcpStream::connect(preview.address()).is_err());
    let said = process.says("sent");
    let sent: usize = said.rsplit(' ').next().expect("a word").trim().parse().expect("a number");
    let mut got = Vec::new();
    stream.read_to_end(&mut got).expect("received");
    assert_eq!(got.len(), sent);
}

fn waits(process: &TestProcess, limit: Duration) -> bool {
    let _watching = process.watch(INPUT);
    process
        .until(limit, |process| process.input_state().filter(|state| *state == InputState::Waiting))
        .is_some()
}

/// Programs that ask, as they are started, and what is typed before.
fn asking(place: &Place) -> Vec<(&'static str, Vec<String>)> {
    let git = "export HOME=/tmp GIT_EDITOR=vim GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
        GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; cd /tmp && rm -rf r && git init -q r && cd r && \
        for n in 1 2 3; do git commit -q --allow-empty -m $n; done; git rebase -i --root";
    std::fs::write(place.root.join("long"), "line\n".repeat(500)).expect("written");
    let sh = |script: &str| vec!["-c".to_owned(), script.to_owned()];
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    vec![
        ("sh", sh("read x")),
        ("bash", sh("read -s -p 'password: ' x")),
        ("bash", words(&["--norc", "-i"])),
        ("sh", words(&["-i"])),
        ("cat", vec![]),
        (PYTHON, words(&["-q"])),
        (PYTHON, sh("input('name? ')")),
        (PYTHON, sh("import getpass; getpass.getpass()")),
        ("/usr/bin/node", words(&["-i"])),
        (
            "/usr/bin/node",
            words(&[
                "-e",
                "require('readline').createInterface({input:process.stdin,output:process.stdout}).question('? ',console.log)",
            ]),
        ),
        ("/usr/bin/perl", words(&["-e", "print 'name? '; <STDIN>"])),
        ("/usr/bin/sqlite3", vec![]),
        ("/usr/bin/bc", words(&["-q"])),
        ("/usr/bin/ed", vec![]),
        ("/usr/bin/vim", words(&["-u", "NONE", "long"])),
        ("/usr/bin/less", words(&["long"])),
        ("/usr/bin/more", words(&["long"])),
        ("/usr/bin/tclsh", vec![]),
        ("/usr/bin/gdb", words(&["-q", "-nx"])),
        ("/usr/bin/ssh-keygen", words(&["-f", "/tmp/key"])),
        ("/usr/bin/openssl", words(&["passwd"])),
        ("rm", words(&["-i", "long"])),
        ("sh", sh(git)),
        ("sh", sh("cd /tmp && mkdir -p p && cd p && HOME=/tmp /usr/bin/npm init")),
    ]
}

#[test]
fn programs_that_ask_are_seen_to_wait() {
    let place = Place::confined();
    if !has_namespaces() {
        return;
    }
    let (mut seen, mut missed) = (0, Vec::new());
    for (program, args) in asking(&place) {
        if program.starts_with('/') && !has(program) {
            continue;
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let process = TestProcess::in_terminal(&place, program, &args);
        if waits(&process, Duration::from_secs(15)) {
            seen += 1;
        } else {
            let output = process.output(Stream::Stdout);
            let state = {
                let _watching = process.watch(INPUT);
                process.until(Duration::from_secs(1), Process::input_state)
            };
            missed.push((program, args.join(" "), state, process.end(), output));
        }
    }
    eprintln!("seen: {seen}, missed: {missed:#?}");
    assert!(missed.len() * 20 <= seen + missed.len(), "{missed:#?}");
}

/// Programs that do their work, for half a second at most.
const ORDINARY: [&str; 12] = [
    "sleep 0.3",
    "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done",
    "seq 1 30000",
    "find /usr/share -maxdepth 2 | head -n 2000",
    "for i in 1 2 3 4 5 6; do sleep 0.02; echo $i; done",
    "/usr/bin/python3 -c 'import time; [time.sleep(0.01) for _ in range(20)]'",
    "echo text | cat | tr a-z A-Z | sort",
    "sleep 0.2 & wait",
    "tar -cf - /usr/include 2>/dev/null | head -c 3000000 | wc -c",
    "yes | head -n 20000 | wc -l",
    "/usr/bin/node -e 'setTimeout(() => console.log(1), 200)'",
    "dd if=/dev/zero of=file bs=64k count=50 2>&1; rm file",
];

#[test]
fn programs_that_work_are_not_taken_for_waiting() {
    let place = Place::confined();
    if !has_namespaces() {
        return;
    }
    let mut wrong = Vec::new();
    for run in 0..runs(24) {
        let script = ORDINARY[run as usize % ORDINARY.len()];
        // The terminal is there to be read, and nobody reads it.
        let process = if run % 2 == 0 {
            TestProcess::in_terminal(&place, "sh", &["-c", script])
        } else {
            TestProcess::start(&place, script)
        };
        let _watching = process.watch(INPUT);
        let mistaken = process.until(LONG, |process| match process.input_state() {
            Some(InputState::Waiting) => Some(true),
            _ => process.end().map(|_| false),
        });
        if mistaken != Some(false) {
            wrong.push(script);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn waiting_ends_with_input_and_begins_again() {
    let place = Place::confined();
    if !has_namespaces() {
        return;
    }
    for in_terminal in [true, false] {
        let script = "read a; sleep 0.4; echo \"<$a>\"; read b";
        let process = if in_terminal {
            TestProcess::in_terminal(&place, "sh", &["-c", script])
        } else {
            TestProcess::start(&place, script)
        };
        assert!(waits(&process, LONG));
        let _watching = process.watch(INPUT);
        process.write(b"x\n").expect("taken");
        let state = process.until(LONG, Process::input_state);
        assert_eq!(state, Some(InputState::Busy));
        assert!(waits(&process, LONG));
        // What was printed before the question is there with the report.
        assert!(process.output(Stream::Stdout).contains("<x>"));
    }
}
