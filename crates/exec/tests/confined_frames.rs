//! Messages to a worker, frame by frame, at moments that a host cannot choose.

#![cfg(target_os = "linux")]

mod support;

use std::io::{PipeReader, Read, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, getuid, prlimit};
use support::place::{Place, supervisors};
use support::{all_as_another_user, soon};
use toolwright_sandbox::step::FailedStep;
use toolwright_sandbox::wire::{
    Inbox, Order, Reply, Request, WORKER, kill_frame, plain_frame, run_frame, send, write_order,
};

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

/// A supervisor and its one worker.
struct Peer {
    supervisor: Child,
    _socket: OwnedFd,
    inbox: Inbox,
    _place: Place,
}

impl Peer {
    fn new(idle_ms: u32) -> Self {
        let place = Place::confined();
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let supervisor = Command::new(env!("TOOLWRIGHT_SANDBOX_PROGRAM"))
            .arg0("toolwright-sandbox")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let plan = place.plan.clone();
        let order = Order {
            plan,
            without_mounts: None,
            idle_ms,
            joins_network: false,
            shares_temporary: false,
        };
        send(&ours, &plain_frame(&write_order(&order)), &[]).expect("sent");
        let (socket, theirs) = UnixStream::pair().expect("sockets");
        send(&ours, &plain_frame(WORKER), &[theirs.as_fd()]).expect("sent");
        let inbox = Inbox::new(socket.into());
        let mut peer = Self { supervisor, _socket: ours.into(), inbox, _place: place };
        drop(theirs);
        assert!(matches!(peer.recv(), Some(Reply::Ready(_))));
        peer.inbox.take_descriptor();
        peer
    }

    /// The next word of the worker; `None`: it has left.
    fn recv(&mut self) -> Option<Reply> {
        let content = self.inbox.wait().expect("read");
        content.map(|content| Reply::read(&content).expect("a reply"))
    }

    fn send(&self, bytes: &[u8], script: Option<PipeWriters>) {
        let writers = script.unwrap_or_default();
        let pipes: Vec<_> = writers.iter().map(AsFd::as_fd).collect();
        send(&self.inbox, bytes, &pipes).expect("sent");
    }

    /// Asks for a shell that runs this.
    fn run(&self, before: &[u8], script: &str, after: &[u8]) -> PipeReader {
        let (reader, writer) = pipe().expect("pipe");
        let frame = [before, &shell(script), after].concat();
        self.send(&frame, Some(vec![writer.into()]));
        reader
    }

    fn output(&mut self, before: &[u8], script: &str) -> String {
        let mut out = String::new();
        self.run(before, script, &[]).read_to_string(&mut out).expect("text");
        let done = self.recv();
        assert!(matches!(done, Some(Reply::Done(0, 0, ..))), "{done:?}");
        out
    }

    fn pid(&self) -> Pid {
        i32::try_from(self.worker()).ok().and_then(Pid::from_raw).expect("a number")
    }

    fn worker(&self) -> u32 {
        let mut supervisor = None;
        assert!(soon(|| {
            supervisor = supervisors(self.supervisor.id()).first().copied();
            supervisor.is_some()
        }));
        supervisor.expect("found")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.supervisor.kill();
        let _ = self.supervisor.wait();
    }
}

type PipeWriters = Vec<OwnedFd>;

fn shell(script: &str) -> Vec<u8> {
    let request = Request { program: b"/bin/sh", cwd: b"", ..Request::default() };
    let arguments = ["sh", "-c", script];
    let path: (&[u8], &[u8]) = (b"PATH", b"/usr/bin:/bin");
    run_frame(&request, arguments.iter().map(|word| word.as_bytes()), [path].into_iter())
}

fn was_killed(reply: Option<&Reply>) -> bool {
    matches!(reply, Some(Reply::Done(status, ..)) if ExitStatus::from_raw(*status).signal() == Some(9))
}

#[test]
fn it_leaves_when_nobody_wants_a_command() {
    for before in [Vec::new(), kill_frame(), shell("echo out")[..20].to_vec()] {
        let mut peer = Peer::new(60);
        peer.send(&before, None);
        assert_eq!(peer.recv(), Some(Reply::Goodbye));
        assert!(peer.inbox.wait().map_or(true, |message| message.is_none()));
    }
}

#[test]
fn a_kill_and_a_command_in_one_piece() {
    let mut peer = Peer::new(30_000);
    for _ in 0..20 {
        // For the command before, and too late.
        assert_eq!(peer.output(&kill_frame(), "echo out"), "out\n");
        // For this one, and before it runs.
        let _out = peer.run(&[], "sleep 60", &kill_frame());
        let reply = peer.recv();
        assert!(was_killed(reply.as_ref()), "{reply:?}");
    }
    // The kill for a command that did not run is dropped.
    let request = Request { program: b"/missing", cwd: b"", ..Request::default() };
    let frame = run_frame(&request, [&b"missing"[..]].into_iter(), std::iter::empty());
    let (_reader, writer) = pipe().expect("pipe");
    peer.send(&[frame, kill_frame()].concat(), Some(vec![writer.into()]));
    assert!(matches!(peer.recv(), Some(Reply::NotRun(FailedStep::Execute, _))));
    assert_eq!(peer.output(&[], "echo out"), "out\n");
}

#[test]
fn half_a_command_is_none() {
    let place = Place::confined();
    let proof = place.outside.join("proof");
    for half in [3, 10, 60] {
        let mut peer = Peer::new(30_000);
        let frame = shell(&format!("echo > {}", proof.display()));
        peer.send(&frame[..half.min(frame.len() - 1)], None);
        let (worker, inbox) = (peer.worker(), peer.inbox.as_fd());
        rustix::net::shutdown(inbox, rustix::net::Shutdown::Write).expect("shut");
        assert_eq!(peer.recv(), None);
        assert!(soon(|| !support::is_alive(worker)));
        assert!(!proof.exists());
    }
}

/// Whichever descriptor is its last, the worker is there for the next command.
#[test]
fn out_of_descriptors() {
    let (limit, mut peer) = (getrlimit(Resource::Nofile), Peer::new(30_000));
    assert_eq!(peer.output(&[], "echo out"), "out\n");
    let pid = peer.pid();
    let limited = |current| {
        let limit = Rlimit { current, maximum: limit.maximum };
        prlimit(Some(pid), Resource::Nofile, limit).expect("limited");
    };
    let (mut ran, mut failed) = (0, 0);
    for max in (3..40).rev() {
        limited(Some(max));
        // For the process that was there already, and for the next one.
        for _ in 0..2 {
            let mut out = String::new();
            let mut reader = peer.run(&[], "echo out", &[]);
            match peer.recv() {
                Some(Reply::Done(0, ..)) => ran += 1,
                Some(Reply::Done(..) | Reply::NotRun(..)) => failed += 1,
                other => panic!("{other:?}"),
            }
            // Descriptors that could not be passed are closed everywhere.
            reader.read_to_string(&mut out).expect("read");
            assert!(out.is_empty() || out == "out\n");
        }
        limited(limit.current);
        let _ = peer.run(&[], ":", &[]);
        assert!(peer.recv().is_some());
        assert_eq!(peer.output(&[], "echo out"), "out\n", "after {max}");
    }
    assert!(ran > 0 && failed > 0, "{ran} ran, {failed} failed");
}

/// Nothing can be started, and that may be over when a command is asked for.
#[test]
fn out_of_processes() {
    if getuid().is_root() {
        eprintln!("skipped: root is not bound by this limit");
        return;
    }
    let mut peer = Peer::new(30_000);
    assert_eq!(peer.output(&[], "echo out"), "out\n");
    let worker = peer.worker();
    let pid = peer.pid();
    let limit = getrlimit(Resource::Nproc);
    let limited = |current| {
        let limit = Rlimit { current, maximum: limit.maximum };
        prlimit(Some(pid), Resource::Nproc, limit).expect("limited");
    };
    for too_late in [Vec::new(), kill_frame()] {
        limited(Some(1));
        let _ = peer.run(&[], ":", &[]);
        let reply = peer.recv();
        assert!(matches!(reply, Some(Reply::Done(..) | Reply::NotRun(..))), "{reply:?}");
        assert!(soon(|| supervisors(worker).is_empty()));
        for _ in 0..3 {
            let mut out = String::new();
            let mut reader = peer.run(&[], "echo out", &[]);
            assert!(matches!(peer.recv(), Some(Reply::NotRun(FailedStep::Fork, _))));
            // The worker has kept no end of it.
            reader.read_to_string(&mut out).expect("read");
            assert_eq!(out, "");
        }
        peer.send(&too_late, None);
        // Whatever it makes of that, it has done so by then.
        std::thread::sleep(Duration::from_millis(50));
        limited(limit.current);
        assert_eq!(peer.output(&[], "echo out"), "out\n");
    }
}
