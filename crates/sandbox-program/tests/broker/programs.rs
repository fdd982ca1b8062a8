//! Ordinary programs, started as a worker starts them: in a child that shares its memory.

use std::ffi::CString;
use std::io::{Read, Write, pipe};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null;
use std::thread;

use libc::{c_char, c_int, c_void};
use rustix::process::Pid;
use toolwright_sandbox_program::broker::{Channel, install_in_child, probe, program};
use toolwright_sandbox_program::filter::{Program, install};

use super::calls::server;
use super::worker::{NOBODY, become_worker, fork, serve, wait};

struct Start<'a> {
    filter: Program,
    channel: BorrowedFd<'a>,
    output: c_int,
    argv: Vec<*const c_char>,
    environment: Vec<*const c_char>,
}

const STACK: usize = 64 * 1024;

extern "C" fn start(start_arguments: *mut c_void) -> c_int {
    // SAFETY: the worker waits, and its values live, until this child has executed the program.
    let start_arguments = unsafe { &*start_arguments.cast::<Start>() };
    // SAFETY: plain calls; the strings live.
    unsafe {
        for place in [1, 2] {
            libc::dup2(start_arguments.output, place);
        }
        if install_in_child(&start_arguments.filter, start_arguments.channel, None).is_err() {
            libc::_exit(99);
        }
        libc::syscall(libc::SYS_close_range, 3, c_int::MAX, 0);
        libc::execve(
            start_arguments.argv[0],
            start_arguments.argv.as_ptr(),
            start_arguments.environment.as_ptr(),
        );
        libc::_exit(98)
    }
}

/// Runs a program under a worker, and returns its output.
fn output(user: Option<u32>, arguments: &[&str]) -> String {
    let (mut reader, writer) = pipe().unwrap();
    let strings: Vec<_> = arguments.iter().map(|it| CString::new(*it).unwrap()).collect();
    let path = CString::new("PATH=/usr/local/bin:/usr/bin:/bin").unwrap();
    let worker = fork(|| {
        become_worker(user);
        let channel = Channel::new().unwrap();
        let mut start_arguments = Start {
            filter: program().unwrap(),
            channel: channel.child_end(),
            output: writer.as_raw_fd(),
            argv: strings.iter().map(|it| it.as_ptr()).chain([null()]).collect(),
            environment: vec![path.as_ptr(), null()],
        };
        let mut stack = vec![0_u128; STACK / 16];
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the stack and the values live until the child has left this memory, for which the
        // call waits.
        let command = unsafe {
            let top = stack.as_mut_ptr().add(stack.len());
            libc::clone(start, top.cast(), flags, (&raw mut start_arguments).cast())
        };
        let command = Pid::from_raw(command).unwrap();
        let mut broker = channel.take().unwrap().unwrap();
        // Nothing is left for the next one.
        assert!(channel.take().unwrap().is_none());
        serve(&mut broker, command);
        wait(command);
    });
    drop(writer);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    wait(worker);
    text
}

/// A web server for any number of clients.
fn web() -> u16 {
    let (listener, port) = server("127.0.0.1");
    listener.set_nonblocking(false).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 1024];
            if stream.read(&mut request).is_ok_and(|len| len > 0) {
                let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello");
            }
        }
    });
    port
}

fn each_user(arguments: &[&str], expected: &str) {
    if !std::path::Path::new(arguments[0]).exists() {
        println!("no {}: left out", arguments[0]);
        return;
    }
    let mut users = vec![None];
    if rustix::process::geteuid().is_root() {
        users.push(Some(NOBODY));
    }
    for user in users {
        assert_eq!(output(user, arguments), expected, "{arguments:?}");
    }
}

#[test]
fn shells_and_clients_reach_a_server() {
    let port = web();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo GET >&3; tail -n 1 <&3");
    each_user(&["/bin/bash", "-c", &script], "hello");
    let url = format!("http://localhost:{port}/");
    each_user(&["/usr/bin/curl", "-sS", "--max-time", "20", &url], "hello");
    let script = "exec 3<>/dev/tcp/192.0.2.1/80 || echo refused";
    let expected = "/bin/bash: connect: Permission denied\n\
        /bin/bash: line 1: /dev/tcp/192.0.2.1/80: Permission denied\nrefused\n";
    each_user(&["/bin/bash", "-c", script], expected);
}

#[test]
fn node_serves_and_fetches() {
    let port = web();
    let script = format!(
        "const http = require('http');
        const server = http.createServer((_, answer) => answer.end('served')).listen(0, 'localhost', async () => {{
            for (const port of [server.address().port, {port}])
                console.log(await (await fetch(`http://localhost:${{port}}/`)).text());
            server.closeAllConnections();
            server.close();
        }});"
    );
    each_user(&["/usr/bin/node", "-e", &script], "served\nhello\n");
}

#[test]
fn python_serves_and_fetches() {
    let port = web();
    let script = format!(
        "import threading, http.server, urllib.request as u
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'served')
    def log_message(self, *_): pass
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
for p in (s.server_port, {port}):
    print(u.urlopen(f'http://127.0.0.1:{{p}}/', timeout=20).read().decode())
"
    );
    each_user(&["/usr/bin/python3", "-c", &script], "served\nhello\n");
}

/// The worker finds out beforehand whether it can be a broker.
#[test]
fn a_worker_probes() {
    let mut users = vec![None];
    if rustix::process::geteuid().is_root() {
        users.push(Some(NOBODY));
    }
    for user in users {
        let (mut reader, writer) = pipe().unwrap();
        let worker = fork(|| {
            become_worker(user);
            let works = probe(&program().unwrap());
            // Not without the filter's call: a filter around this one may refuse it.
            let refused = [
                (0x20, 0, 0, 0),
                (0x15, 0, 1, getfd()),
                (0x06, 0, 0, 0x5_0001),
                (0x06, 0, 0, 0x7FFF_0000),
            ];
            let refused = refused.map(|(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k });
            install(&refused).unwrap();
            let fails = probe(&program().unwrap());
            let channel = Channel::new().unwrap();
            let nothing = channel.take().unwrap().is_none();
            write!(&writer, "{works:?} {} {nothing}", fails.unwrap_err().kind()).unwrap();
        });
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        wait(worker);
        assert_eq!(text, "Ok(()) permission denied true");
    }
}

fn getfd() -> u32 {
    u32::try_from(libc::SYS_pidfd_getfd).unwrap()
}
