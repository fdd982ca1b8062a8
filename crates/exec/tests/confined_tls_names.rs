//! Commands whose connections are held to their names: what passes, what does not, and that nothing else of a
//! connection changes.

#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use support::place::{Place, has_namespaces};
use support::{strings, text};
use toolwright_exec::{
    Bytes, Connection, Connections, ExecError, ExecRequest, Finished, HostRules, Lead, Opening,
    Openings, Refusal, Verdict, run,
};
use toolwright_policy::tls_opening::{Opening as Beginning, asks_for_another_opening};
use toolwright_sandbox::plan::{Names, Network};

/// Names that are all allowed, with what each leads to.
#[derive(Debug, Clone)]
struct Allowed(Vec<(&'static str, SocketAddr)>);

impl HostRules for Allowed {
    fn refusal(&self, host: &str, _: Option<u16>) -> Option<Refusal> {
        (!self.0.iter().any(|(name, _)| *name == host)).then_some(Refusal::NotAllowed)
    }

    fn lead(&self, host: &str) -> Option<Lead> {
        let (_, at) = self.0.iter().find(|(name, _)| *name == host)?;
        Some(Lead { address: at.ip(), port: Some(at.port()) })
    }

    fn denies(&self, _: SocketAddr) -> bool {
        false
    }

    fn may_lead_to(&self, _: IpAddr) -> bool {
        true
    }

    fn openings(&self) -> Option<&dyn Openings> {
        Some(self)
    }
}

/// TLS for the name everywhere, and nothing else at 443.
impl Openings for Allowed {
    fn of_client(&self, name: &str, port: u16, bytes: &[u8], is_second: bool) -> Opening {
        match if is_second { Beginning::read_again(bytes) } else { Beginning::read(bytes) } {
            Beginning::Incomplete => Opening::Incomplete,
            Beginning::Other if port != 443 => Opening::Open,
            Beginning::Other | Beginning::Malformed => Opening::Refused(Refusal::NoTls),
            Beginning::Tls { name: None, .. } => Opening::Refused(Refusal::NoName),
            Beginning::Tls { name: Some(asked), length } if asked == name => {
                Opening::Answerable(length)
            }
            Beginning::Tls { .. } => Opening::Refused(Refusal::OtherName),
        }
    }

    fn asks_again(&self, bytes: &[u8]) -> Option<bool> {
        asks_for_another_opening(bytes)
    }
}

struct Scene {
    place: Place,
    rules: Allowed,
    /// Threads and descriptors are counted, so one test runs at a time.
    _alone: MutexGuard<'static, ()>,
}

impl Scene {
    fn new(names: &[(&'static str, SocketAddr)]) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut place = Place::confined();
        place.plan.network = Network::Names;
        place.plan.names = Some(Arc::new(Names {
            allow: names.iter().map(|name| format!("{name:?}")).collect(),
            tls_names: true,
            ..Names::default()
        }));
        Self { place, rules: Allowed(names.to_vec()), _alone: alone }
    }

    fn run(
        &self,
        timeout: Duration,
        script: &str,
    ) -> (Result<Finished, ExecError>, Vec<Connection>) {
        let connections = Arc::new(Connections::new(Box::new(self.rules.clone())));
        let script = format!("exec 2>&1; python3 - <<'PYTHON'\n{PRELUDE}{script}\nPYTHON");
        let args = strings(&["-c", &script]);
        let request = ExecRequest {
            connections: Some(&connections),
            timeout,
            ..self.place.request("bash", &args)
        };
        (run(&request), connections.list())
    }

    fn python(&self, script: &str) -> (String, Vec<Connection>) {
        let (finished, connections) = self.run(Duration::from_secs(60), script);
        (text(&finished.expect("runs")).trim_end().to_owned(), connections)
    }
}

/// The first message of TLS for a name, and what is done with sockets.
const PRELUDE: &str = "
import os, select, socket, struct, sys, time
def with_length(text):
    return struct.pack('!H', len(text)) + text
def hello(name, more=b''):
    entry = b'\\0' + with_length(name.encode())
    extensions = with_length((b'\\0\\0' + with_length(with_length(entry)) if name else b'') + more)
    body = b'\\3\\3' + bytes(32) + b'\\0' + with_length(b'\\x13\\1') + b'\\1\\0' + extensions
    message = b'\\1\\0' + with_length(body)
    return b'\\x16\\3\\1' + with_length(message)
def opened(name='name.test', port=443):
    return socket.create_connection((name, port), 20)
def rest_of(s):
    text = b''
    while True:
        try:
            block = s.recv(65536)
        except OSError as error:
            return text, error.errno
        if not block:
            return text, 0
        text += block
";

/// A server that does this with each of its clients.
fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a server");
    let at = listener.local_addr().expect("its address");
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    at
}

/// One that answers each block with itself, and tells the test what it has read to the end.
fn echo() -> (SocketAddr, Receiver<Vec<u8>>) {
    let (said, heard) = channel();
    let at = server(move |mut stream| {
        let mut all = Vec::new();
        let mut block = vec![0; 65536];
        while let Ok(count @ 1..) = stream.read(&mut block) {
            all.extend_from_slice(&block[..count]);
            if stream.write_all(&block[..count]).is_err() {
                break;
            }
        }
        let _ = said.send(all);
    });
    (at, heard)
}

fn relay_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("threads").flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("toolwright-tls")).count()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("descriptors").count()
}

fn until(what: &str, is: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn refused(connections: &[Connection], refusal: Refusal) {
    let [one] = connections else { panic!("{connections:?}") };
    assert_eq!((one.verdict, one.bytes), (Verdict::Refused(refusal), None), "{one:?}");
}

#[test]
fn what_asks_for_the_name_passes_however_it_is_cut() {
    if !has_namespaces() {
        return;
    }
    let (at, heard) = echo();
    let scene = Scene::new(&[("name.test", at)]);
    for script in [
        "s.sendall(text)",
        "s.setsockopt(6, 1, 1)\nfor byte in text:\n    s.sendall(bytes([byte]))\n    time.sleep(0.001)",
        // In records of its own, with another extension before.
        "text = b''.join(b'\\x16\\3\\1' + with_length(text[5:][n:n + 7]) for n in range(0, len(text) - 5, 7)); s.sendall(text)",
    ] {
        let (output, connections) = scene.python(&format!(
            "
text = hello('name.test')
s = opened()
{script}
s.shutdown(socket.SHUT_WR)
answer, error = rest_of(s)
print(answer == text, error, len(text))"
        ));
        let (answer, length) = output.rsplit_once(' ').expect("three words");
        assert_eq!(answer, "True 0", "{script}");
        assert_eq!(heard.recv().expect("heard").len().to_string(), length);
        let [one] = &connections[..] else { panic!("{connections:?}") };
        assert_eq!(one.verdict, Verdict::Opened);
        let Bytes { sent, received } = one.bytes.expect("the system tells");
        let length: u64 = length.parse().expect("a number");
        assert_eq!(sent, length, "{one:?}");
        assert!((length..=length + 1).contains(&received), "{one:?}");
    }
}

#[test]
fn another_name_is_refused_and_no_byte_arrives() {
    if !has_namespaces() {
        return;
    }
    let (at, heard) = echo();
    let scene = Scene::new(&[("name.test", at), ("other.test", at)]);
    for (script, refusal) in [
        ("s = opened(); s.sendall(hello('other.test'))", Refusal::OtherName),
        ("s = opened(port=8443); s.sendall(hello('other.test'))", Refusal::OtherName),
        ("s = opened('other.test'); s.sendall(hello('name.test'))", Refusal::OtherName),
        ("s = opened(); s.sendall(hello(''))", Refusal::NoName),
        (
            "s = opened(); s.sendall(b'GET / HTTP/1.1\\r\\nHost: name.test\\r\\n\\r\\n')",
            Refusal::NoTls,
        ),
        ("s = opened(); s.sendall(b'\\x16\\3\\1\\0\\0')", Refusal::NoTls),
        (
            "s = opened(); s.sendall(hello('name.test')[:50]); s.shutdown(socket.SHUT_WR)",
            Refusal::NoTls,
        ),
        (
            "s = opened(); s.sendall(hello('name.test', b'\\0\\x15' + with_length(bytes(17000))))",
            Refusal::NoTls,
        ),
        (
            "t = hello('name.test')[5:] * 2; s = opened(); s.sendall(b'\\x16\\3\\1' + with_length(t))",
            Refusal::NoTls,
        ),
    ] {
        let (output, connections) = scene.python(&format!("{script}\nprint(rest_of(s))"));
        assert_eq!(output, "(b'', 104)", "{script}");
        refused(&connections, refusal);
        assert_eq!(heard.recv().expect("closed"), b"", "{script}");
    }
}

/// The random value of a server that asks for another first message.
const RETRY: [u8; 32] = [
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
    0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
];

/// A server of TLS 1.3 may ask for another first message, and takes the name of that.
#[test]
fn a_second_message_asks_for_the_same_name() {
    if !has_namespaces() {
        return;
    }
    let (said, heard) = channel();
    let said = Mutex::new(said);
    let at = server(move |mut stream| {
        let mut block = [0; 4096];
        let first = stream.read(&mut block).unwrap_or(0);
        let mut answer = vec![22, 3, 3, 0, 58, 2, 0, 0, 54, 3, 3];
        answer.extend(RETRY);
        answer.resize(5 + 58, 0);
        let _ = stream.write_all(&answer);
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        let _ = said.lock().expect("whole").send((first, rest.len()));
    });
    let scene = Scene::new(&[("name.test", at)]);
    let change = "b'\\x14\\3\\3\\0\\1\\1'";
    for (second, passes) in [
        (format!("{change} + hello('name.test')"), true),
        (format!("{change} + hello('other.test')"), false),
        ("hello('other.test')".to_owned(), false),
        ("hello('')".to_owned(), false),
        ("b'anything else'".to_owned(), false),
    ] {
        for waits in [true, false] {
            let (output, connections) = scene.python(&format!(
                "
s = opened()
first, second = hello('name.test'), {second}
answer = b''
if {wait}:
    s.sendall(first)
    while len(answer) < 63:
        answer += s.recv(100)
    s.sendall(second)
else:
    s.sendall(first + second)
try:
    s.shutdown(socket.SHUT_WR)
except OSError:
    pass
more, error = rest_of(s)
print(len(first), len(second), error)",
                wait = if waits { "True" } else { "False" },
            ));
            let numbers: Vec<usize> =
                output.split(' ').map(|word| word.parse().expect(&output)).collect();
            let [first, second, error] = numbers[..] else { panic!("{output}") };
            let arrived = heard.recv().expect("heard");
            if passes {
                assert_eq!((error, arrived), (0, (first, second)));
                assert_eq!(connections[0].verdict, Verdict::Opened);
            } else {
                assert_eq!(arrived, (first, 0), "{second}");
                assert!(matches!(
                    connections[..],
                    [Connection { verdict: Verdict::Refused(_), .. }]
                ));
            }
        }
    }
}

#[test]
fn a_server_that_speaks_first_is_heard_at_any_port() {
    if !has_namespaces() {
        return;
    }
    let at = server(|mut stream| {
        let _ = stream.write_all(b"SSH-2.0-server\r\n");
        let mut line = [0; 16];
        let _ = stream.read_exact(&mut line);
        let _ = stream.write_all(&line);
    });
    let scene = Scene::new(&[("name.test", at)]);
    let (output, connections) = scene.python(
        "
for port in (22, 443):
    s = opened(port=port)
    print(s.recv(100))
    s.sendall(b'SSH-2.0-client\\r\\n')
    print(rest_of(s))",
    );
    let banner = "b'SSH-2.0-server\\r\\n'";
    let expected = format!("{banner}\n(b'SSH-2.0-client\\r\\n', 0)\n{banner}\n(b'', 104)");
    assert_eq!(output, expected);
    let verdicts: Vec<_> = connections.iter().map(|one| (one.port, one.verdict)).collect();
    let refused = Verdict::Refused(Refusal::NoTls);
    assert_eq!(verdicts, [(Some(22), Verdict::Opened), (Some(443), refused)]);
}

#[test]
fn ends_are_passed_on_as_they_come() {
    if !has_namespaces() {
        return;
    }
    let closes = server(|mut stream| {
        let _ = stream.write_all(&vec![7; 300_000]);
    });
    let resets = server(|stream| {
        let _ = (&stream).read(&mut [0; 1]);
        thread::sleep(Duration::from_millis(50));
        // What was not read is answered with a reset.
    });
    let (echo, heard) = echo();
    let scene =
        Scene::new(&[("closes.test", closes), ("resets.test", resets), ("echo.test", echo)]);
    let (output, _) = scene.python(
        "
s = opened('closes.test', 80)
text, error = rest_of(s)
print('server first:', len(text), error)
time.sleep(0.05)
s.sendall(b'x')
time.sleep(0.1)
try:
    s.sendall(b'x')
    print('sent', rest_of(s))
except OSError as error:
    print('then:', error.errno in (32, 104))
s = opened('resets.test', 80)
s.sendall(b'xyz')
print('reset:', rest_of(s))
s = opened('echo.test', 80)
s.sendall(b'half')
s.shutdown(socket.SHUT_WR)
print('half:', rest_of(s))
s = opened('echo.test', 80)
s.shutdown(socket.SHUT_WR)
print('nothing:', rest_of(s))
s = opened('echo.test', 80)
s.sendall(b'lost')
time.sleep(0.05)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
s.close()
s = opened('echo.test', 80)
s.sendall(b'last words')
sys.stdout.flush()
os._exit(0)",
    );
    let expected = "server first: 300000 0\nthen: True\nreset: (b'', 104)\nhalf: (b'half', 0)\nnothing: (b'', 0)";
    assert_eq!(output, expected);
    let said: Vec<_> =
        (0..4).map(|_| heard.recv_timeout(Duration::from_secs(9)).expect("heard")).collect();
    assert_eq!(said[..2], [b"half".to_vec(), Vec::new()]);
    assert!(said[2..].contains(&b"last words".to_vec()), "the end of the command cut it: {said:?}");
}

/// Neither end is read further than the other takes it, and nothing is lost.
#[test]
fn much_goes_both_ways_and_arrives_whole() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(&[("name.test", echo().0)]);
    let (output, connections) = scene.python(
        "
import hashlib, threading
s = opened(port=80)
s.settimeout(60)
block = os.urandom(1 << 20)
sent, got = hashlib.sha256(), hashlib.sha256()
def send():
    for n in range(100):
        text = bytes([n]) + block
        sent.update(text)
        s.sendall(text)
    s.shutdown(socket.SHUT_WR)
thread = threading.Thread(target=send)
thread.start()
count = 0
while True:
    text = s.recv(1 << 18)
    if not text:
        break
    got.update(text)
    count += len(text)
    if count < 1 << 20:
        time.sleep(0.02)
thread.join()
print(count, sent.hexdigest() == got.hexdigest())",
    );
    assert_eq!(output, format!("{} True", 100 * ((1 << 20) + 1)));
    let Bytes { sent, received } = connections[0].bytes.expect("the system tells");
    assert_eq!(sent, 100 * ((1 << 20) + 1));
    assert!((sent..=sent + 1).contains(&received));
}

#[test]
fn why_a_host_cannot_be_reached_is_told_as_ever() {
    if !has_namespaces() {
        return;
    }
    let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let (silent, _full) = silent_server();
    let scene = Scene::new(&[("nobody.test", nobody), ("silent.test", silent)]);
    let (output, connections) = scene.python(
        "
def attempt(family, waits):
    s = socket.socket(family)
    s.setblocking(waits)
    address = socket.gethostbyname('nobody.test')
    return s.connect_ex((address if family == socket.AF_INET else '::ffff:' + address, 443))
for family in (socket.AF_INET, socket.AF_INET6):
    print(attempt(family, True), attempt(family, False))
begun = time.monotonic()
s = socket.socket()
s.settimeout(1)
try:
    s.connect((socket.gethostbyname('silent.test'), 443))
except TimeoutError:
    print('timed out', 0.9 < time.monotonic() - begun < 5)
s = socket.socket()
s.setblocking(False)
print(s.connect_ex((socket.gethostbyname('silent.test'), 443)), select.select([], [s], [], 0.2)[1])",
    );
    assert_eq!(output, "111 111\n111 111\ntimed out True\n115 []");
    let verdicts: Vec<_> = connections.iter().map(|one| (&*one.host, one.verdict)).collect();
    assert_eq!(verdicts, [("nobody.test", Verdict::Failed), ("silent.test", Verdict::Failed)]);
}

/// A program whose socket does not wait does other things until a slow host has answered.
#[test]
fn a_host_that_answers_late_is_reached() {
    if !has_namespaces() {
        return;
    }
    let (silent, (listener, queued)) = silent_server();
    let scene = Scene::new(&[("late.test", silent)]);
    let begun = scene.place.root.join("begun");
    let waiting = thread::spawn(move || {
        until("the program does other things", || begun.exists());
        drop(queued);
        let mut echoed = 0;
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut block = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut block) {
                let _ = stream.write_all(&block[..count]);
                echoed += count;
            }
            if echoed > 0 {
                return echoed;
            }
        }
        0
    });
    let (output, connections) = scene.python(
        "
s = socket.socket()
s.setblocking(False)
begun = time.monotonic()
error = s.connect_ex((socket.gethostbyname('late.test'), 443))
print(error, 0.2 < time.monotonic() - begun < 5)
open('begun', 'w').close()
print(len(select.select([], [s], [], 30)[1]), s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
s.setblocking(True)
text = hello('late.test')
s.sendall(text)
s.shutdown(socket.SHUT_WR)
print(rest_of(s) == (text, 0))",
    );
    assert_eq!(output, "115 True\n1 0\nTrue");
    assert_eq!(connections[0].verdict, Verdict::Opened);
    assert!(waiting.join().expect("served") > 0);
}

#[test]
fn three_hundred_connections_are_counted_and_the_rest_comes_later() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(&[("name.test", echo().0)]);
    let (output, connections) = scene.python(
        "
address = socket.gethostbyname('name.test')
kept, errors = [], []
for n in range(300):
    s = socket.socket()
    error = s.connect_ex((address, 80))
    if error:
        errors.append(error)
    else:
        kept.append(s)
print(len(kept), sorted(set(errors)))
for n, s in enumerate(kept):
    s.sendall(b'%06d' % n)
print(all(s.recv(6, socket.MSG_WAITALL) == b'%06d' % n for n, s in enumerate(kept)))
for s in kept:
    s.close()
time.sleep(0.3)
for n in range(300):
    with socket.create_connection((address, 80)) as s:
        s.sendall(b'again')
        assert s.recv(5) == b'again'
print('again')",
    );
    assert_eq!(output, "256 [11]\nTrue\nagain");
    let counts: Vec<_> = connections.iter().map(|one| (one.verdict, one.count)).collect();
    assert_eq!(counts, [(Verdict::Opened, 556), (Verdict::Failed, 44)]);
    // A busy kernel drops reports of ends. Then nothing is said, and nothing wrong.
    let told = 256 * 6 + 300 * 5;
    let is_right = |bytes: &Bytes| bytes.sent >= told && bytes.received >= told;
    assert!(connections[0].bytes.as_ref().is_none_or(is_right), "{connections:?}");
}

#[test]
fn nothing_is_left_of_a_command_that_has_ended() {
    if !has_namespaces() {
        return;
    }
    let (silent, _full) = silent_server();
    let scene = Scene::new(&[("name.test", echo().0), ("silent.test", silent)]);
    let script = "
address = socket.gethostbyname('name.test')
kept = [socket.create_connection((address, 80)) for n in range(20)]
for s in kept[:10]:
    s.sendall(b'x' * 100)
for s in kept[10:15]:
    s.sendall(b'\\x16\\3')
waiting = []
for n in range(3):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((socket.gethostbyname('silent.test'), 443))
    waiting.append(s)
print('begun', flush=True)
";
    scene.python("print(1)");
    until("no thread is there", || relay_threads() == 0);
    let before = descriptors();
    let (output, _) = scene.python(script);
    assert_eq!(output, "begun");
    until("the thread ends", || relay_threads() == 0);
    until("the descriptors are closed", || descriptors() <= before);
    let (ended, _) = scene.run(Duration::from_secs(2), &format!("{script}\ntime.sleep(60)"));
    assert!(matches!(ended, Err(ExecError::TimedOut { .. })), "{ended:?}");
    until("the thread ends", || relay_threads() == 0);
    until("the descriptors are closed", || descriptors() <= before);
    assert!(scene.place.is_clear());
}

/// Neither an end that takes nothing nor one that is gone keeps the processor busy.
#[test]
fn connections_that_rest_take_no_time() {
    if !has_namespaces() {
        return;
    }
    // Takes nothing.
    let deaf = server(|_stream| thread::sleep(Duration::from_secs(4)));
    let closes = server(|_| {});
    let scene = Scene::new(&[("deaf.test", deaf), ("closes.test", closes)]);
    let used = || {
        let tasks = fs::read_dir("/proc/self/task").expect("threads").flatten();
        let stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
        let relays = stats.filter(|stat| stat.contains("(toolwright-tls"));
        let ticks = |stat: String| -> u64 {
            let fields: Vec<_> = stat.rsplit(')').next().expect("fields").split(' ').collect();
            fields[12].parse::<u64>().expect("ticks") + fields[13].parse::<u64>().expect("ticks")
        };
        relays.map(ticks).sum::<u64>()
    };
    let measured = thread::spawn(move || {
        until("a thread is there", || relay_threads() == 1);
        thread::sleep(Duration::from_secs(1));
        let before = used();
        thread::sleep(Duration::from_secs(1));
        used() - before
    });
    let (output, _) = scene.python(
        "
kept = []
for n in range(4):
    s = opened('deaf.test', 80)
    s.setblocking(False)
    try:
        while True:
            s.send(b'x' * 65536)
    except BlockingIOError:
        pass
    kept.append(s)
# Gone while what it has said is not taken.
kept[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
kept[0].close()
kept[1].close()
kept.append(opened('closes.test', 80))
kept.append(opened('closes.test', 443))
kept[-1].send(b'\\x16')
time.sleep(2.3)
print('rested')",
    );
    assert_eq!(output, "rested");
    let ticks = measured.join().expect("measured");
    assert!(ticks < 20, "{ticks} of 100 ticks");
}

/// A port that answers nobody: its queue is full, and nobody takes from it.
fn silent_server() -> (SocketAddr, (TcpListener, Vec<TcpStream>)) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    rustix::net::listen(&listener, 0).expect("a short queue");
    let address = listener.local_addr().expect("an address");
    let connects = || TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
    let queued: Vec<_> = std::iter::from_fn(connects).take(16).collect();
    assert!(queued.len() < 16, "the queue has no end");
    (address, (listener, queued))
}
