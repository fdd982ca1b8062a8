//! Commands that reach hosts by name, and nothing else.

#![cfg(target_os = "linux")]

mod support;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use support::place::{Place, has_namespaces};
use support::{strings, text};
use toolwright_exec::{
    Bytes, Connection, Connections, ExecError, ExecRequest, Exit, Finished, HostRules, Lead,
    Refusal, Verdict, run,
};
use toolwright_sandbox::plan::{Names, Network};

/// What the host of a test allows: names with the address each leads to, and literal addresses.
#[derive(Debug, Default, Clone)]
struct Allowed {
    names: Vec<(&'static str, Option<u16>, Option<Lead>)>,
}

impl HostRules for Allowed {
    fn refusal(&self, host: &str, port: Option<u16>) -> Option<Refusal> {
        let is_allowed = self.names.iter().any(|(name, only, _)| {
            let is_name = name.strip_prefix('*').map_or(*name == host, |end| host.ends_with(end));
            is_name && (port.is_none() || only.is_none() || *only == port)
        });
        (!is_allowed).then_some(Refusal::NotAllowed)
    }

    fn lead(&self, host: &str) -> Option<Lead> {
        self.names.iter().find(|(name, ..)| *name == host).and_then(|(.., lead)| *lead)
    }

    fn denies(&self, _: SocketAddr) -> bool {
        false
    }

    fn may_lead_to(&self, address: IpAddr) -> bool {
        !address.is_loopback()
    }
}

fn here(port: u16) -> Lead {
    Lead { address: Ipv4Addr::LOCALHOST.into(), port: Some(port) }
}

/// A server of HTTP on this machine that answers each request with its first line.
fn server() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a server");
    let port = listener.local_addr().expect("its address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    port
}

fn answer(mut stream: TcpStream) {
    let mut request = Vec::new();
    let mut block = [0; 4096];
    while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        match stream.read(&mut block) {
            Ok(count) if count > 0 => request.extend_from_slice(&block[..count]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let line = text.lines().next().unwrap_or_default();
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{line}",
        line.len()
    );
}

struct Scene {
    place: Place,
    rules: Allowed,
}

impl Scene {
    fn new(names: &[(&'static str, Option<u16>, Option<Lead>)]) -> Self {
        let mut place = Place::confined();
        place.plan.network = Network::Names;
        place.plan.names = Some(Arc::new(Names {
            allow: names.iter().map(|name| format!("{name:?}")).collect(),
            ..Names::default()
        }));
        Self { place, rules: Allowed { names: names.to_vec() } }
    }

    fn run(
        &self,
        timeout: Duration,
        script: &str,
    ) -> (Result<Finished, ExecError>, Vec<Connection>) {
        let connections = Arc::new(Connections::new(Box::new(self.rules.clone())));
        let args = strings(&["-c", script]);
        let request = ExecRequest {
            connections: Some(&connections),
            timeout,
            ..self.place.request("bash", &args)
        };
        (run(&request), connections.list())
    }

    fn sh(&self, script: &str) -> (String, Vec<Connection>) {
        let (finished, connections) = self.run(Duration::from_secs(60), script);
        let finished = finished.expect("runs");
        (text(&finished).trim_end().to_owned(), connections)
    }

    fn output(&self, script: &str) -> String {
        self.sh(script).0
    }

    /// Runs it again where the system has lost reports, as it does when many sockets of this machine end at once.
    fn sh_with_bytes(&self, script: &str) -> (String, Vec<Connection>) {
        let knows_all = |connections: &[Connection]| {
            connections.iter().all(|one| one.verdict != Verdict::Opened || one.bytes.is_some())
        };
        let mut attempts = (0..5).map(|_| self.sh(script));
        attempts.find(|(_, connections)| knows_all(connections)).expect("what was carried")
    }

    fn python(&self, script: &str) -> (String, Vec<Connection>) {
        self.sh(&python_line(script))
    }
}

fn python_line(script: &str) -> String {
    format!("exec 2>&1; python3 - <<'PYTHON'\n{script}\nPYTHON")
}

fn has(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: there is no {program}");
    }
    there
}

fn connection(host: &str, port: impl Into<Option<u16>>, verdict: Verdict) -> Connection {
    Connection {
        host: host.to_owned(),
        port: port.into(),
        verdict,
        count: 1,
        bytes: None,
        requests: Vec::new(),
    }
}

#[test]
fn programs_reach_an_allowed_name_with_nothing_in_their_environment() {
    if !has_namespaces() {
        return;
    }
    let port = server();
    let scene = Scene::new(&[("registry.test", Some(80), Some(here(port)))]);
    for (program, script) in [
        (
            "bash",
            "exec 3<>/dev/tcp/registry.test/80; printf 'GET /bash HTTP/1.0\\r\\n\\r\\n' >&3; tail -n1 <&3",
        ),
        ("curl", "curl -sS http://registry.test/curl 2>&1"),
        (
            "node",
            "node -e \"fetch('http://registry.test/node').then((r) => r.text()).then(console.log)\" 2>&1",
        ),
        (
            "python3",
            "python3 -c \"import urllib.request as u; print(u.urlopen('http://registry.test/python3').read().decode())\" 2>&1",
        ),
    ] {
        if !has(program) {
            continue;
        }
        let (output, connections) = scene.sh_with_bytes(script);
        let path = format!("GET /{program} HTTP/1.");
        assert!(output.starts_with(&path), "{program}: {output}");
        let [opened] = &connections[..] else { panic!("{program}: {connections:?}") };
        let Bytes { sent, received } = opened.bytes.expect("the system tells");
        assert!(sent > 20 && received > 30, "{program}: {opened:?}");
        let without = Connection { bytes: None, ..opened.clone() };
        assert_eq!(without, connection("registry.test", 80, Verdict::Opened), "{program}");
    }
}

#[test]
fn what_is_not_allowed_is_not_there() {
    if !has_namespaces() || !has("python3") {
        return;
    }
    let port = server();
    let scene = Scene::new(&[("registry.test", Some(80), Some(here(port)))]);
    let (output, connections) = scene.python(
        "
import socket
def attempt(host, port):
    try:
        socket.create_connection((host, port), 5)
        print('connected to', host, port)
    except OSError as error:
        print(host, port, type(error).__name__, error.errno)
attempt('other.test', 80)
attempt('sub.registry.test', 80)
attempt('registry.test', 81)
attempt('192.0.2.7', 80)
attempt('198.18.200.9', 80)
attempt('2001:db8::7', 80)
attempt('::ffff:192.0.2.8', 80)",
    );
    let expected = "other.test 80 gaierror -2\n\
        sub.registry.test 80 gaierror -2\n\
        registry.test 81 OSError 101\n\
        192.0.2.7 80 OSError 101\n\
        198.18.200.9 80 OSError 101\n\
        2001:db8::7 80 OSError 101\n\
        ::ffff:192.0.2.8 80 OSError 101";
    assert_eq!(output, expected);
    let refused = connections.iter().map(|noted| {
        assert_eq!(noted.verdict, Verdict::Refused(Refusal::NotAllowed), "{noted:?}");
        (&*noted.host, noted.port)
    });
    let refused: Vec<_> = refused.collect();
    assert_eq!(
        refused,
        [
            ("192.0.2.7", Some(80)),
            ("192.0.2.8", Some(80)),
            ("198.18.200.9", Some(80)),
            ("[2001:db8::7]", Some(80)),
            ("other.test", None),
            ("registry.test", Some(81)),
            ("sub.registry.test", None),
        ]
    );
}

/// The services of this machine are out of reach under any name and any of its addresses.
#[test]
fn loopback_is_the_commands_own() {
    if !has_namespaces() || !has("python3") {
        return;
    }
    let port = server();
    let scene =
        Scene::new(&[("registry.test", Some(80), Some(here(port))), ("localhost", None, None)]);
    let (output, _) = scene.python(&format!(
        "
import socket
for host in ['127.0.0.1', '127.5.5.5', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1', 'localhost']:
    try:
        socket.create_connection((host, {port}), 5)
        print('connected to', host)
    except OSError as error:
        assert error.errno == 111, (host, error)
server = socket.create_server(('127.0.0.1', 8080))
client = socket.create_connection(('localhost', 8080))
accepted, _ = server.accept()
client.sendall(b'own')
print(accepted.recv(3).decode())
pair = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
pair[0].bind(('127.0.0.1', 0))
pair[1].connect(pair[0].getsockname())
pair[1].send(b'datagram')
print(pair[0].recv(9).decode())"
    ));
    assert_eq!(output, "own\ndatagram");
}

/// The socket that takes the place of another is one of this machine's network.
#[test]
fn a_socket_of_the_host_does_nothing_else() {
    if !has_namespaces() || !has("python3") {
        return;
    }
    let port = server();
    let scene = Scene::new(&[("registry.test", None, Some(here(port)))]);
    let (output, _) = scene.python(&format!(
        "
import socket, struct, ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def host():
    return socket.create_connection(('registry.test', 80))
def attempt(what, call):
    try:
        call()
        print(what, 'worked')
    except OSError as error:
        print(what, error.errno)
def dissolve(s):
    if libc.connect(s.fileno(), struct.pack('H14x', 0), 16) < 0:
        raise OSError(ctypes.get_errno(), '')
s = host()
assert s.getpeername() == ('127.0.0.1', {port}), s.getpeername()
attempt('again', lambda: s.connect(('127.0.0.1', {port})))
attempt('elsewhere', lambda: s.connect(('192.0.2.1', 80)))
attempt('dissolve', lambda: dissolve(s))
attempt('bind', lambda: s.bind(('127.0.0.1', 0)))
attempt('listen', lambda: s.listen())
attempt('source route', lambda: s.setsockopt(0, 4, bytes([1, 131, 7, 4, 192, 0, 2, 1])))
attempt('interface', lambda: s.setsockopt(1, 25, b'lo'))
attempt('mark', lambda: s.setsockopt(1, 36, 1))
attempt('ULP', lambda: s.setsockopt(6, 31, b'tls'))
attempt('repair', lambda: s.setsockopt(6, 19, 1))
s.shutdown(socket.SHUT_RDWR)
attempt('again', lambda: s.connect(('127.0.0.1', {port})))
attempt('dissolve', lambda: dissolve(s))
attempt('bind', lambda: s.bind(('0.0.0.0', 0)))
attempt('listen', lambda: s.listen())
f = socket.socket()
attempt('fast open', lambda: f.sendto(b'x', socket.MSG_FASTOPEN, ('192.0.2.1', 80)))
attempt('fast open', lambda: f.setsockopt(6, 30, 1))"
    ));
    let expected = "again 106\nelsewhere 106\ndissolve 106\nbind 22\nlisten 22\n\
        source route 92\ninterface 92\nmark 92\nULP 92\nrepair 92\n\
        again 106\ndissolve 106\nbind 22\nlisten 22\nfast open 95\nfast open 92";
    assert_eq!(output, expected);
}

/// A descriptor is exchanged all the time while another thread connects: never does a socket of the host's
/// network connect to what was asked for with one of the private network.
#[test]
fn exchanging_descriptors_meanwhile_leads_nowhere() {
    if !has_namespaces() || !has("python3") {
        return;
    }
    let (port, other) = (server(), TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a server"));
    other.set_nonblocking(true).expect("set");
    let forbidden = other.local_addr().expect("its address").port();
    let scene = Scene::new(&[("registry.test", None, Some(here(port)))]);
    let (output, _) = scene.python(&format!(
        "
import socket, threading, os, time
end = time.monotonic() + 3
address = socket.gethostbyname('registry.test')
number = socket.socket().detach()
def exchange():
    while time.monotonic() < end:
        host = socket.socket()
        host.setblocking(False)
        try:
            host.connect((address, 80))
        except OSError:
            pass
        try:
            host.shutdown(2)
        except OSError:
            pass
        os.dup2(host.fileno(), number)
        own = socket.socket()
        os.dup2(own.fileno(), number)
threads = [threading.Thread(target=exchange) for _ in range(2)]
[thread.start() for thread in threads]
count = 0
while time.monotonic() < end:
    target = socket.socket(fileno=os.dup(number)) if count % 2 else None
    victim = socket.socket(fileno=number)
    try:
        victim.connect(('127.0.0.1', {forbidden}))
        print('connected')
    except OSError:
        pass
    victim.detach()
    count += 1
[thread.join() for thread in threads]
print(count > 100)"
    ));
    assert_eq!(output, "True");
    assert!(other.accept().is_err(), "the forbidden server had a visitor");
}

/// Asks the resolver itself, which no setting of the system can lead around.
const ASK: &str = "
import socket
def ask(name, kind=1):
    question = bytes([7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    for label in name.encode().split(b'.'):
        question += bytes([len(label)]) + label
    question += bytes([0, 0, kind, 0, 1])
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server = open('/etc/resolv.conf').read().split()[1]
    s.sendto(question, (server, 53))
    s.settimeout(30)
    answer = s.recv(512)
    return answer[3] & 15, answer[7]";

#[test]
fn a_name_leads_to_no_private_address() {
    if !has_namespaces() || !has("python3") {
        return;
    }
    // The system knows where this one leads.
    let scene = Scene::new(&[("localhost", None, None)]);
    let (output, connections) = scene.python(&format!("{ASK}\nprint(ask('localhost'))"));
    assert_eq!(output, "(3, 0)");
    assert_eq!(connections, [connection("localhost", None, Verdict::Private)]);
}

#[test]
fn only_names_that_are_allowed_are_asked_for() {
    if !has_namespaces() || !has("python3") {
        return;
    }
    let scene = Scene::new(&[("*.wild.test", None, None), ("exact.test", None, Some(here(1)))]);
    let (output, connections) = scene.python(&format!(
        "{ASK}
print(ask('exact.test'), ask('EXACT.test'), ask('exact.test', 28), ask('exact.test', 16))
print(ask('secret-word.elsewhere.test'), ask('exact.test.elsewhere.test'), ask('wild.test'))
print(ask('a b.wild.test'), ask('nothing.wild.test', 16))"
    ));
    assert_eq!(output, "(0, 1) (0, 1) (0, 0) (0, 0)\n(3, 0) (3, 0) (3, 0)\n(3, 0) (0, 0)");
    let refused: Vec<_> = connections.iter().map(|noted| &*noted.host).collect();
    assert_eq!(refused, ["exact.test.elsewhere.test", "secret-word.elsewhere.test", "wild.test"]);
}

#[test]
fn nothing_but_the_resolver_takes_datagrams() {
    if !has_namespaces() || !has("python3") {
        return;
    }
    let scene = Scene::new(&[("registry.test", None, Some(here(1)))]);
    let (output, _) = scene.python(
        "
import socket
for address in ['192.0.2.1', '8.8.8.8', '255.255.255.255', '224.0.0.251', '10.0.0.1']:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        s.sendto(b'x', (address, 53))
        print('sent', address)
    except OSError as error:
        assert error.errno in (101, 13), (address, error)
print('done')",
    );
    assert_eq!(output, "done");
}

/// A port that answers nobody: its queue is full, and nobody takes from it. What other networks do with an
/// address that nobody has is up to them.
fn silent_server() -> (u16, (TcpListener, Vec<TcpStream>)) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    rustix::net::listen(&listener, 0).expect("a short queue");
    let address = listener.local_addr().expect("an address");
    let connects = || TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
    let queued: Vec<_> = std::iter::from_fn(connects).take(16).collect();
    assert!(queued.len() < 16, "the queue has no end");
    (address.port(), (listener, queued))
}

#[test]
fn sockets_that_do_not_wait_are_told_later() {
    if !has_namespaces() || !has("python3") {
        return;
    }
    let port = server();
    let (silent, _full) = silent_server();
    let scene = Scene::new(&[
        ("registry.test", None, Some(here(port))),
        ("silent.test", None, Some(here(silent))),
    ]);
    let (output, _) = scene.python(
        "
import asyncio, socket, fcntl, os, time
async def one(number):
    reader, writer = await asyncio.open_connection('registry.test', 80)
    writer.write(f'GET /{number} HTTP/1.0\\r\\n\\r\\n'.encode())
    text = (await reader.read()).decode()
    assert f'GET /{number} ' in text, text
    writer.close()
async def main():
    await asyncio.gather(*(one(number) for number in range(100)))
asyncio.run(main())
print('all')
address = socket.gethostbyname('registry.test')
s = socket.socket()
s.setblocking(False)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
error = s.connect_ex((address, 80))
assert error in (0, 115), error
assert fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK
assert fcntl.fcntl(s, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
assert s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
b = socket.socket()
os.set_inheritable(b.fileno(), True)
b.connect((address, 80))
assert not fcntl.fcntl(b, fcntl.F_GETFL) & os.O_NONBLOCK
assert not fcntl.fcntl(b, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
six = socket.socket(socket.AF_INET6)
six.connect(('::ffff:' + address, 80))
print('kept')
started = time.monotonic()
silent = socket.socket()
silent.setblocking(False)
error = silent.connect_ex((socket.gethostbyname('silent.test'), 80))
assert error == 115, error
assert time.monotonic() - started < 5
print('at once')",
    );
    assert_eq!(output, "all\nkept\nat once");
}

/// What a connection has carried is known however it ended, and one that nobody took was not opened.
#[test]
fn every_connection_is_noted_with_what_it_carried() {
    if !has_namespaces() || !has("python3") {
        return;
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a server");
    let port = listener.local_addr().expect("its address").port();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut block = [0; 1000];
            let _ = stream.read_exact(&mut block);
            let _ = stream.write_all(&[7; 300]);
            kept.push(stream);
        }
    });
    let (silent, _full) = silent_server();
    let scene = Scene::new(&[
        ("counted.test", None, Some(here(port))),
        ("closed.test", None, Some(here(1))),
        ("silent.test", None, Some(here(silent))),
    ]);
    let connects = "
import socket, os
def one(close):
    s = socket.create_connection(('counted.test', 80))
    s.sendall(b'x' * 1000)
    assert len(s.recv(300, socket.MSG_WAITALL)) == 300
    if close:
        s.close()
    else:
        return s
for _ in range(9):
    one(True)
kept = one(False)
for name in ['closed.test', 'silent.test']:
    s = socket.socket()
    s.settimeout(0.2)
    try:
        s.connect((name, 80))
        print('connected', name)
    except OSError:
        pass
print('done', flush=True)
os._exit(0)";
    let (output, connections) = scene.sh_with_bytes(&python_line(connects));
    assert_eq!(output, "done");
    let [closed, counted, silent] = &connections[..] else { panic!("{connections:?}") };
    assert_eq!(*closed, connection("closed.test", 80, Verdict::Failed));
    assert_eq!(*silent, connection("silent.test", 80, Verdict::Failed));
    assert_eq!(
        (&*counted.host, counted.verdict, counted.count),
        ("counted.test", Verdict::Opened, 10)
    );
    let Bytes { sent, received } = counted.bytes.expect("the system tells");
    // The end of a stream may count as one.
    assert!(sent == 10_000 && (3000..=3010).contains(&received), "{counted:?}");
}

/// A command that waits for a host that does not answer ends when it is to end.
#[test]
fn a_command_that_waits_is_killed() {
    if !has_namespaces() || !has("curl") {
        return;
    }
    let (port, _full) = silent_server();
    let scene = Scene::new(&[("slow.test", None, Some(here(port)))]);
    let script = "for n in 1 2 3 4 5 6; do (exec 3<>/dev/tcp/slow.test/80; sleep 60) & done; wait";
    let started = Instant::now();
    let (ended, _) = scene.run(Duration::from_millis(700), script);
    assert!(matches!(ended, Err(ExecError::TimedOut { .. })), "{ended:?}");
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(scene.place.is_clear());
    assert_eq!(scene.output("echo next"), "next");
}

#[test]
fn a_command_without_a_gate_reaches_nothing() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(&[("registry.test", None, Some(here(1)))]);
    let finished = scene.place.sh("echo begun; exec 3<>/dev/tcp/198.18.0.2/80").expect("runs");
    assert!(text(&finished).starts_with("begun\n"));
    assert_ne!(finished.exit, Exit::Code(0));
}
