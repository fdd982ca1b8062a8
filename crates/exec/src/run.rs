//! One command from start to end.

use std::{
    io::{self, PipeReader, Read},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::{
    capture::{Capture, Output},
    error::ExecError,
    exit::Exit,
    leader::Leader,
    request::ExecRequest,
    spawn::spawn,
};

/// How long a child that still holds the pipe may write after the command has ended, as `tee` in
/// `>(tee log)` does. Not waited for when nobody holds the pipe.
pub const GRACE: Duration = Duration::from_millis(20);

/// How often the cancel flag is looked at while nothing happens.
const TICK: Duration = Duration::from_millis(10);
/// The same where the end of the command must be asked for too.
const TICK_WITHOUT_PIDFD: Duration = Duration::from_millis(2);
/// One read. A pipe holds as much by default.
const BLOCK: usize = 64 << 10;
/// No pipe of an unprivileged process holds more. What a process outside the group still writes is
/// not read for ever.
const PIPE_MAX: usize = 1 << 20;

const NO_PROCESS: Option<&PipeReader> = None;

/// A command that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// What it wrote.
    pub output: Output,
    /// From before its start until it was reaped.
    pub duration: Duration,
}

/// Runs a command to its end, its timeout or its cancellation.
pub fn run(request: &ExecRequest<'_>) -> Result<Finished, ExecError> {
    request.check()?;
    let program = || request.cmd.to_owned();
    if request.cancel.load(Ordering::Relaxed) {
        return Err(ExecError::Cancelled { program: program(), output: Output::default() });
    }
    let started = Instant::now();
    let (leader, pipe) = spawn(request)?;
    let mut session = Session {
        leader,
        stream: Stream { pipe: Some(pipe), block: vec![0; BLOCK] },
        capture: Capture::new(request.max_output_bytes),
    };
    // A timeout past the end of time is none.
    let ended = session.follow(started.checked_add(request.timeout), request.cancel);
    let ended = ended.and_then(|ended| session.close(ended).map(|status| (ended, status)));
    let output = session.capture.finish();
    match ended {
        Ok((Ended::Exited, Some(exit))) => {
            Ok(Finished { exit, output, duration: started.elapsed() })
        }
        Ok((Ended::Exited, None)) => {
            Err(ExecError::Lost { program: program(), output, source: Errno::CHILD.into() })
        }
        Ok((Ended::TimedOut, _)) => {
            Err(ExecError::TimedOut { program: program(), output, timeout: request.timeout })
        }
        Ok((Ended::Cancelled, _)) => Err(ExecError::Cancelled { program: program(), output }),
        Err(source) => Err(ExecError::Lost { program: program(), output, source }),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Exited,
    TimedOut,
    Cancelled,
}

struct Session {
    leader: Leader,
    stream: Stream,
    capture: Capture,
}

impl Session {
    /// Captures until the command ends or is to be ended.
    fn follow(&mut self, deadline: Option<Instant>, cancel: &AtomicBool) -> io::Result<Ended> {
        let tick = if self.leader.pidfd().is_some() { TICK } else { TICK_WITHOUT_PIDFD };
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Ok(Ended::Cancelled);
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                // An end that nobody has looked at yet is still an end.
                let exited = self.leader.has_ended()?;
                return Ok(if exited { Ended::Exited } else { Ended::TimedOut });
            }
            let wait = left.map_or(tick, |left| left.min(tick));
            let ready = ready(self.stream.pipe.as_ref(), self.leader.pidfd(), wait)?;
            if (ready.process || self.leader.pidfd().is_none()) && self.leader.has_ended()? {
                return Ok(Ended::Exited);
            }
            if ready.pipe {
                self.stream.read(&mut self.capture)?;
            }
        }
    }

    /// Ends what is left of the group and takes what is left of its output.
    fn close(&mut self, ended: Ended) -> io::Result<Option<Exit>> {
        if ended == Ended::Exited {
            self.stream.read_until(Instant::now() + GRACE, &mut self.capture)?;
        }
        let status = self.leader.end();
        // What was in the pipe when the group was killed.
        self.stream.read_rest(&mut self.capture)?;
        Ok(status?.map(Exit::from_status))
    }
}

#[derive(Default)]
struct Ready {
    pipe: bool,
    process: bool,
}

/// Waits until the pipe can be read, the process has ended, or the time is over.
fn ready<P: std::os::fd::AsFd>(
    pipe: Option<&PipeReader>,
    process: Option<&P>,
    wait: Duration,
) -> io::Result<Ready> {
    let mut fds = Vec::with_capacity(2);
    fds.extend(pipe.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    fds.extend(process.map(|process| PollFd::new(process, PollFlags::IN)));
    let timeout = Timespec::try_from(wait).unwrap_or_default();
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Ready::default()),
        Err(error) => return Err(error.into()),
    }
    // Any event counts: a closed pipe and a vanished process report no `IN`.
    let mut events = fds.iter().map(|fd| !fd.revents().is_empty());
    Ok(Ready {
        pipe: pipe.is_some() && events.next().unwrap_or_default(),
        process: process.is_some() && events.next().unwrap_or_default(),
    })
}

/// The read end of the pipe, until it has been read to its end.
struct Stream {
    pipe: Option<PipeReader>,
    block: Vec<u8>,
}

impl Stream {
    /// Reads once. To be called when there is something, since the only reader is here and then
    /// does not block.
    fn read(&mut self, capture: &mut Capture) -> io::Result<usize> {
        let Some(pipe) = &mut self.pipe else { return Ok(0) };
        match pipe.read(&mut self.block) {
            Ok(0) => {
                self.pipe = None;
                Ok(0)
            }
            Ok(count) => {
                capture.push(&self.block[..count]);
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Reads until the end of the stream, at most until `deadline`.
    fn read_until(&mut self, deadline: Instant, capture: &mut Capture) -> io::Result<()> {
        while self.pipe.is_some() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if ready(self.pipe.as_ref(), NO_PROCESS, left)?.pipe {
                self.read(capture)?;
            }
        }
        Ok(())
    }

    /// Reads what is in the pipe now.
    fn read_rest(&mut self, capture: &mut Capture) -> io::Result<()> {
        let mut count = 0;
        while self.pipe.is_some()
            && count < PIPE_MAX
            && ready(self.pipe.as_ref(), NO_PROCESS, Duration::ZERO)?.pipe
        {
            count += self.read(capture)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::request::ExecEnv;

    /// What a system without pidfds does.
    fn polled(script: &str, timeout: Duration) -> (Ended, Option<Exit>, Duration) {
        let request = ExecRequest {
            cmd: "sh",
            args: &["-c".to_owned(), script.to_owned()],
            cwd: Path::new("/"),
            env: ExecEnv::Inherit,
            timeout,
            max_output_bytes: 100,
            cancel: &AtomicBool::new(false),
        };
        let started = Instant::now();
        let (leader, pipe) = spawn(&request).expect("sh starts");
        let mut session = Session {
            leader: leader.without_pidfd(),
            stream: Stream { pipe: Some(pipe), block: vec![0; BLOCK] },
            capture: Capture::new(100),
        };
        let ended = session.follow(Some(started + timeout), request.cancel).expect("followed");
        let exit = session.close(ended).expect("closed");
        (ended, exit, started.elapsed())
    }

    #[test]
    fn the_end_is_seen_without_a_pidfd() {
        let long = Duration::from_secs(20);
        let (ended, exit, took) = polled("sleep 0.05; exit 3", long);
        assert_eq!((ended, exit), (Ended::Exited, Some(Exit::Code(3))));
        assert!(took < Duration::from_secs(2));
        let (ended, exit, took) = polled("sleep 30 & exit 4", long);
        assert_eq!((ended, exit), (Ended::Exited, Some(Exit::Code(4))));
        assert!(took < Duration::from_secs(2));
        let (ended, _, took) = polled("exec >/dev/null 2>&1; sleep 30", Duration::from_millis(50));
        assert_eq!(ended, Ended::TimedOut);
        assert!(took < Duration::from_secs(2));
    }

    #[test]
    fn a_leader_reaped_by_the_host_is_lost_and_nobody_is_hit() {
        let child = std::process::Command::new("true").spawn().expect("true starts");
        let pid = rustix::process::Pid::from_child(&child);
        let mut leader = Leader::new(child);
        rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()).expect("reaped");
        assert!(leader.has_ended().is_err());
        assert!(leader.end().is_err());
    }
}
