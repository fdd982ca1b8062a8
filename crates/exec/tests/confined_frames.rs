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
struct Said {
    supervisor: Child,
    _socket: OwnedFd,
    inbox: Inbox,
    _place: Place,
}

impl Said {
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
        let order = Order { plan: place.plan.clone(), without_mounts: None, idle_ms };
        send(&ours, &plain_frame(&write_order(&order)), &[]).expect("sent");
        let (socket, theirs) = UnixStream::pair().expect("sockets");
        send(&ours, &plain_frame(WORKER), &[theirs.as_fd()]).expect("sent");
        let inbox = Inbox::new(socket.into());
        let mut said = Self { supervisor, _socket: ours.into(), inbox, _place: place };
        drop(theirs);
        assert!(matches!(said.recv(), Some(Reply::Ready(_))));
        said.inbox.take_descriptor();
        said
    }

    /// The next word of the worker; `None`: it has left.
    fn recv(&mut self) -> Option<Reply> {
        let content = self.inbox.wait().expect("read");
        content.map(|content| Reply::read(&content).expect("a reply"))
    }

    fn say(&self, bytes: &[u8], script: Option<PipeWriters>) {
        let writers = script.unwrap_or_default();
        let pipes: Vec<_> = writers.iter().map(AsFd::as_fd).collect();
        send(&self.inbox, bytes, &pipes).expect("sent");
    }

    /// Asks for a shell that runs this.
    fn run(&self, before: &[u8], script: &str, after: &[u8]) -> PipeReader {
        let (reader, writer) = pipe().expect("pipe");
        let frame = [before, &shell(script), after].concat();
        self.say(&frame, Some(vec![writer.into()]));
        reader
    }

    fn says(&mut self, before: &[u8], script: &str) -> String {
        let mut out = String::new();
        self.run(before, script, &[]).read_to_string(&mut out).expect("text");
        let done = self.recv();
        assert_eq!(done, Some(Reply::Done(0, 0)));
        out
    }

    fn pid(&self) -> Pid {
        i32::try_from(self.worker()).ok().and_then(Pid::from_raw).expect("a number")
    }

    fn worker(&self) -> u32 {
        let mut found = None;
        assert!(soon(|| {
            found = supervisors(self.supervisor.id()).first().copied();
            found.is_some()
        }));
        found.expect("found")
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        let _ = self.supervisor.kill();
        let _ = self.supervisor.wait();
    }
}

type PipeWriters = Vec<OwnedFd>;

fn shell(script: &str) -> Vec<u8> {
    let request = Request { program: b"/bin/sh", cwd: b"", stderr_apart: false };
    let arguments = ["sh", "-c", script];
    let path: (&[u8], &[u8]) = (b"PATH", b"/usr/bin:/bin");
    run_frame(&request, arguments.iter().map(|word| word.as_bytes()), [path].into_iter())
}

fn was_killed(reply: Option<&Reply>) -> bool {
    matches!(reply, Some(Reply::Done(status, _)) if ExitStatus::from_raw(*status).signal() == Some(9))
}

#[test]
fn it_leaves_when_nobody_wants_a_command() {
    for before in [Vec::new(), kill_frame(), shell("echo out")[..20].to_vec()] {
        let mut said = Said::new(60);
        said.say(&before, None);
        assert_eq!(said.recv(), Some(Reply::Goodbye));
        assert!(said.inbox.wait().map_or(true, |heard| heard.is_none()));
    }
}

#[test]
fn a_kill_and_a_command_in_one_piece() {
    let mut said = Said::new(30_000);
    for _ in 0..20 {
        // For the command before, and too late.
        assert_eq!(said.says(&kill_frame(), "echo out"), "out\n");
        // For this one, and before it runs.
        let _out = said.run(&[], "sleep 60", &kill_frame());
        let reply = said.recv();
        assert!(was_killed(reply.as_ref()), "{reply:?}");
    }
    // The kill for a command that did not run is dropped.
    let request = Request { program: b"/missing", cwd: b"", stderr_apart: false };
    let frame = run_frame(&request, [&b"missing"[..]].into_iter(), std::iter::empty());
    let (_reader, writer) = pipe().expect("pipe");
    said.say(&[frame, kill_frame()].concat(), Some(vec![writer.into()]));
    assert!(matches!(said.recv(), Some(Reply::NotRun(FailedStep::Execute, _))));
    assert_eq!(said.says(&[], "echo out"), "out\n");
}

#[test]
fn half_a_command_is_none() {
    let place = Place::confined();
    let proof = place.outside.join("proof");
    for half in [3, 10, 60] {
        let mut said = Said::new(30_000);
        let frame = shell(&format!("echo > {}", proof.display()));
        said.say(&frame[..half.min(frame.len() - 1)], None);
        let (worker, said_inbox) = (said.worker(), said.inbox.as_fd());
        rustix::net::shutdown(said_inbox, rustix::net::Shutdown::Write).expect("shut");
        assert_eq!(said.recv(), None);
        assert!(soon(|| !support::is_alive(worker)));
        assert!(!proof.exists());
    }
}

/// Whichever descriptor is its last, the worker is there for the next command.
#[test]
fn out_of_descriptors() {
    let (limit, mut said) = (getrlimit(Resource::Nofile), Said::new(30_000));
    assert_eq!(said.says(&[], "echo out"), "out\n");
    let pid = said.pid();
    let limited = |current| {
        let limit = Rlimit { current, maximum: limit.maximum };
        prlimit(Some(pid), Resource::Nofile, limit).expect("limited");
    };
    let (mut ran, mut failed) = (0, 0);
    for most in (3..40).rev() {
        limited(Some(most));
        // For the process that was there already, and for the next one.
        for _ in 0..2 {
            let mut out = String::new();
            let mut reader = said.run(&[], "echo out", &[]);
            match said.recv() {
                Some(Reply::Done(0, _)) => ran += 1,
                Some(Reply::Done(..) | Reply::NotRun(..)) => failed += 1,
                other => panic!("{other:?}"),
            }
            // Descriptors that could not be passed are closed everywhere.
            reader.read_to_string(&mut out).expect("read");
            assert!(out.is_empty() || out == "out\n");
        }
        limited(limit.current);
        let _ = said.run(&[], ":", &[]);
        assert!(said.recv().is_some());
        assert_eq!(said.says(&[], "echo out"), "out\n", "after {most}");
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
    let mut said = Said::new(30_000);
    assert_eq!(said.says(&[], "echo out"), "out\n");
    let worker = said.worker();
    let pid = said.pid();
    let limit = getrlimit(Resource::Nproc);
    let limited = |current| {
        let limit = Rlimit { current, maximum: limit.maximum };
        prlimit(Some(pid), Resource::Nproc, limit).expect("limited");
    };
    for too_late in [Vec::new(), kill_frame()] {
        limited(Some(1));
        let _ = said.run(&[], ":", &[]);
        let reply = said.recv();
        assert!(matches!(reply, Some(Reply::Done(..) | Reply::NotRun(..))), "{reply:?}");
        assert!(soon(|| supervisors(worker).is_empty()));
        for _ in 0..3 {
            let mut out = String::new();
            let mut reader = said.run(&[], "echo out", &[]);
            assert!(matches!(said.recv(), Some(Reply::NotRun(FailedStep::Fork, _))));
            // The worker has kept no end of it.
            reader.read_to_string(&mut out).expect("read");
            assert_eq!(out, "");
        }
        said.say(&too_late, None);
        // Whatever it makes of that, it has done so by then.
        std::thread::sleep(Duration::from_millis(50));
        limited(limit.current);
        assert_eq!(said.says(&[], "echo out"), "out\n");
    }
}
