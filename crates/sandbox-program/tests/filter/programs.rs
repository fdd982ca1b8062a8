//! Ordinary programs run under the narrowest filter, and sockets in the file system stay out of reach.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::process::Command;

use toolwright_sandbox_program::filter::install;

use super::*;

/// The output of a program under the filter, or `None` if the program does not exist.
fn output(plan: FilterPlan, program: &str, arguments: &[&str]) -> Option<String> {
    let filter = filter(plan);
    let mut command = Command::new(program);
    command.args(arguments);
    // SAFETY: the closure makes two calls and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            install(&filter)
        })
    };
    match command.output() {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{program} {arguments:?}: {errors}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) => {
            println!("{program}: {error}: left out");
            None
        }
    }
}

fn prints(program: &str, arguments: &[&str], expected: &str) {
    for plan in [NARROWEST, PLANS[5]] {
        if let Some(output) = output(plan, program, arguments) {
            assert_eq!(output, expected, "{program} {arguments:?} under {plan:?}");
        }
    }
}

#[test]
fn shells_have_their_pipes_and_substitutions() {
    prints("bash", &["-c", "cat <(echo one) <(echo two) | tr a-z A-Z; wait"], "ONE\nTWO\n");
    prints("bash", &["-c", "sleep 5 & kill %1; wait %1; (exit 3); echo $?"], "3\n");
    prints("bash", &["-c", "ulimit -n 64; ulimit -n; nice -n 1 timeout 5 echo x"], "64\nx\n");
    prints("getent", &["hosts", "127.0.0.1"], "127.0.0.1       localhost\n");
}

#[test]
fn node_talks_to_its_children() {
    let script = "const c=require('child_process');\
        process.stdout.write(c.execFileSync('echo',['one']));\
        c.spawn('cat',{stdio:['pipe','inherit','inherit']}).stdin.end('two\\n');\
        const w=new (require('worker_threads').Worker)('require(\"worker_threads\").parentPort.postMessage(3)',{eval:true});\
        w.on('message',m=>console.log(m===3));";
    if let Some(output) = output(NARROWEST, "node", &["-e", script]) {
        let mut lines: Vec<_> = output.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["one", "true", "two"]);
    }
}

#[test]
fn python_has_pools_and_event_loops() {
    let script = "import asyncio, multiprocessing\n\
        def f(x): return x * x\n\
        print(multiprocessing.get_context('fork').Pool(2).map(f, [1, 2, 3]))\n\
        async def g():\n    p = await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)\n    print(await p.communicate())\n\
        asyncio.run(g())\n";
    prints("python3", &["-c", script], "[1, 4, 9]\n(b'x\\n', None)\n");
}

/// A connected pair cannot be turned to another address, not even when its other end is gone.
#[test]
fn a_pair_reaches_nobody_else() {
    let place = tempfile::tempdir().unwrap();
    let (stream_path, datagram_path) = (place.path().join("s"), place.path().join("d"));
    let listener = UnixListener::bind(&stream_path).unwrap();
    let receiver = UnixDatagram::bind(&datagram_path).unwrap();
    listener.set_nonblocking(true).unwrap();
    receiver.set_nonblocking(true).unwrap();
    let filter = filter(NARROWEST);
    let report = in_child(Setup { filters: &[&filter], user: None }, || {
        let mut results = Vec::new();
        for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET] {
            for orphaned in [false, true] {
                for path in [&stream_path, &datagram_path] {
                    results.extend(attempts(kind, orphaned, path));
                }
            }
        }
        results
    });
    assert_eq!(report.answers.len(), 2 * 2 * 2 * 3);
    // A packet socket ignores the address and sends to its peer; everything else fails.
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(receiver.recv(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    for answers in report.answers.chunks(3) {
        assert!(answers[0] < 0 && answers[2] < 0, "{answers:?}");
    }
}

/// The reason why pairs of datagram sockets are refused: without the filter, one reaches a
/// stranger.
#[test]
fn a_datagram_pair_would_reach_anybody() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("d");
    let receiver = UnixDatagram::bind(&path).unwrap();
    receiver.set_nonblocking(true).unwrap();
    let report = in_child(Setup { filters: &[], user: None }, || {
        attempts(libc::SOCK_DGRAM, false, &path).to_vec()
    });
    assert_eq!(report.answers[..2], [0, 1]);
    assert_eq!(receiver.recv(&mut [0]).unwrap(), 1);
}

/// Connects, sends and listens with one end of a new pair.
fn attempts(kind: c_int, orphaned: bool, path: &std::path::Path) -> [i64; 3] {
    use rustix::net::SocketAddrUnix;
    use rustix::net::addr::SocketAddrArg;
    let mut ends = [0; 2];
    // SAFETY: fills the array; the descriptors are owned from here on.
    let [one, other] = unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        if libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) != 0 {
            return [0; 3];
        }
        ends.map(|fd| <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd))
    };
    let _other = (!orphaned).then_some(other);
    let address = SocketAddrUnix::new(path).unwrap().as_any();
    let (fd, place, len) = (
        c_long::from(one.as_raw_fd()),
        address.as_ptr() as c_long,
        c_long::from(address.addr_len()),
    );
    let text = b"x".as_ptr() as c_long;
    [
        call(libc::SYS_connect, [fd, place, len, 0, 0, 0]),
        call(libc::SYS_sendto, [fd, text, 1, 0, place, len]),
        call(libc::SYS_listen, [fd, 1, 0, 0, 0, 0]),
    ]
}
