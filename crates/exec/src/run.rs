//! One command from start to end.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::io::Errno;
use toolwright_sandbox::step::FailedStep;

use crate::cancel::CancelSource;
use crate::capture::Output;
use crate::error::ExecError;
use crate::exit::Exit;
use crate::output_pipe::{CaptureTerms, OtherEvents, OutputPipes};
use crate::request::ExecRequest;
use crate::running_command::{CommandState, NotRun, RunningCommand};
use crate::sink::Sink;
use crate::spawn::{BUSY_PAUSES, not_started, spawn};

/// How long a child that still holds the pipe may write after the command has ended, as `tee` in
/// `>(tee log)` does. If no process holds the pipe, the call ends at once.
pub const GRACE: Duration = Duration::from_millis(20);

/// How often the cancel flag and a blocked sink are polled while nothing happens and there is no
/// waker.
const TICK: Duration = Duration::from_millis(10);
/// The same where the end of the command must be asked for too.
const TICK_WITHOUT_PIDFD: Duration = Duration::from_millis(2);

/// A command that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// Its output: stdout and stderr in the order of arrival, or stdout alone.
    pub output: Output,
    /// Its output on stderr, with `Streams::Apart`.
    pub stderr: Option<Output>,
    /// From before its start until it was reaped.
    pub duration: Duration,
    /// How many processes that it left running were killed. Always 0 for a command that is not
    /// confined, except on macOS, because they cannot be counted.
    pub left_running: u32,
}

/// Runs a command to its end, its timeout or its cancellation.
pub fn run(request: &ExecRequest<'_>) -> Result<Finished, ExecError> {
    supervise(request, None)
}

/// As [`run`], and gives the output to a sink while the command runs.
///
/// A sink that is not ready blocks the command, but not its timeout, its cancellation or its end.
/// The sink is called on this thread only. [`Sink`] describes what it gets when the output is too long.
pub fn run_streaming(
    request: &ExecRequest<'_>,
    sink: &mut dyn Sink,
) -> Result<Finished, ExecError> {
    supervise(request, Some(sink))
}

fn supervise(
    request: &ExecRequest<'_>,
    mut sink: Option<&mut dyn Sink>,
) -> Result<Finished, ExecError> {
    request.check()?;
    if request.cancel.is_cancelled() {
        return Err(ExecError::cancelled_before(request));
    }
    let started = Instant::now();
    // A timeout beyond the range of the clock is no limit.
    let deadline = started.checked_add(request.timeout);
    let mut busy = BUSY_PAUSES.iter();
    loop {
        let sink = sink.as_mut().map(|sink| &mut **sink as &mut dyn Sink);
        let (not_run, program) = match follow_one(request, started, deadline, sink)? {
            Followed::Finished(finished) => return Ok(finished),
            Followed::NotRun(not_run, program) => (not_run, program),
        };
        match not_run {
            // Each time something else is asked; a file that changes all the time ends by the timeout.
            NotRun::Left | NotRun::Stale if started.elapsed() < request.timeout => {}
            NotRun::Left | NotRun::Stale => return Err(ExecError::timed_out_before(request)),
            NotRun::Failed(FailedStep::Execute, errno) if errno == Errno::TXTBSY.raw_os_error() => {
                match busy.next() {
                    Some(pause) => thread::sleep(*pause),
                    None => return Err(not_started(request, &program, FailedStep::Execute, errno)),
                }
            }
            NotRun::Failed(step, errno) => return Err(not_started(request, &program, step, errno)),
        }
    }
}

enum Followed {
    Finished(Finished),
    NotRun(NotRun, PathBuf),
}

fn follow_one(
    request: &ExecRequest<'_>,
    started: Instant,
    deadline: Option<Instant>,
    sink: Option<&mut dyn Sink>,
) -> Result<Followed, ExecError> {
    let program = || request.cmd.to_owned();
    let spawned = spawn(request, deadline)?;
    let mut session = Session {
        running: spawned.running,
        pipes: {
            let capture = CaptureTerms::of(request);
            OutputPipes::new(spawned.output, spawned.stderr, &capture, sink)
        },
    };
    let ended = session.follow(deadline, request.cancel);
    if let Ok(Ended::NotRun(not_run)) = ended {
        return Ok(Followed::NotRun(not_run, spawned.program));
    }
    let ended = ended.and_then(|ended| session.close(ended).map(|status| (ended, status)));
    let Session { mut running, mut pipes } = session;
    let git = running.end_git();
    if let Some(reports) = request.git {
        reports.add(git);
    }
    if let Some(facts) = request.facts {
        facts.set(running.facts());
    }
    let left_running = running.killed();
    if ended.is_err() {
        // The group is killed here at the latest, and its output is kept if it can be read.
        drop(running);
        let _ = pipes.read_rest();
    }
    #[cfg(target_os = "linux")]
    if let (Some(notes), Some(reports)) = (spawned.notes, request.patches) {
        notes.read_into(reports);
    }
    let (output, stderr) = pipes.finish();
    match ended {
        Ok((Ended::Exited, Some(exit))) => {
            let duration = started.elapsed();
            Ok(Followed::Finished(Finished { exit, output, stderr, duration, left_running }))
        }
        Ok((Ended::Exited | Ended::NotRun(_), _)) => {
            Err(ExecError::Lost { program: program(), output, stderr, source: Errno::CHILD.into() })
        }
        Ok((Ended::TimedOut, _)) => {
            let timeout = request.timeout;
            Err(ExecError::TimedOut { program: program(), output, stderr, timeout })
        }
        Ok((Ended::Cancelled, _)) => {
            Err(ExecError::Cancelled { program: program(), output, stderr })
        }
        Err(source) => Err(ExecError::Lost { program: program(), output, stderr, source }),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Exited,
    TimedOut,
    Cancelled,
    NotRun(NotRun),
}

struct Session<'s> {
    running: RunningCommand,
    pipes: OutputPipes<'s>,
}

impl Session<'_> {
    /// Captures until the command ends or is to be ended.
    fn follow(
        &mut self,
        deadline: Option<Instant>,
        cancel: &dyn CancelSource,
    ) -> io::Result<Ended> {
        let waker = cancel.waker();
        loop {
            if cancel.is_cancelled() {
                // Another call with the same waker may sleep; this one may have taken its wake-up.
                waker.inspect(|waker| waker.wake());
                return Ok(Ended::Cancelled);
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                // The command may have ended since the last poll.
                return Ok(match self.running.poll()? {
                    CommandState::Running => Ended::TimedOut,
                    CommandState::Ended => Ended::Exited,
                    CommandState::NotRun(reason) => Ended::NotRun(reason),
                });
            }
            let flowing = self.pipes.is_flowing();
            let observable = self.running.descriptor().is_some();
            let tick = match self.running.descriptor() {
                None => Some(TICK_WITHOUT_PIDFD),
                Some(_) if waker.is_none() || !flowing => Some(TICK),
                Some(_) => None,
            };
            let others =
                OtherEvents { process: self.running.descriptor(), waker: waker.map(AsFd::as_fd) };
            let ready = self.pipes.wait(flowing, others, tick.into_iter().chain(left).min())?;
            if ready.waker
                && let Some(waker) = waker
            {
                waker.drain();
            }
            if ready.process || !observable {
                match self.running.poll()? {
                    CommandState::Running => {}
                    CommandState::Ended => return Ok(Ended::Exited),
                    CommandState::NotRun(reason) => return Ok(Ended::NotRun(reason)),
                }
                if ready.process {
                    // A debugger has to take the end first, and `poll` does not sleep until then.
                    thread::sleep(TICK_WITHOUT_PIDFD);
                }
            }
            self.pipes.read(ready.pipes)?;
        }
    }

    /// Ends the rest of the group and reads the rest of its output.
    fn close(&mut self, ended: Ended) -> io::Result<Option<Exit>> {
        if ended == Ended::Exited {
            self.pipes.read_until(Instant::now() + GRACE)?;
        }
        let status = self.running.end();
        // What the pipes held when the group was killed.
        self.pipes.read_rest()?;
        Ok(status?.map(Exit::from_status))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::leader::ChildLeader;

    /// Runs as on a system without pidfds.
    fn polled(script: &str, timeout: Duration) -> (Ended, Option<Exit>, Duration) {
        let args = ["-c".to_owned(), script.to_owned()];
        let request = ExecRequest {
            cwd: Path::new("/"),
            timeout,
            max_output_bytes: 100,
            ..ExecRequest::new("sh", &args)
        };
        let started = Instant::now();
        let spawned = spawn(&request, None).expect("sh starts");
        #[cfg_attr(
            not(target_os = "linux"),
            expect(irrefutable_let_patterns, reason = "there is no other")
        )]
        let RunningCommand::Child(leader) = spawned.running else { panic!("it is a child") };
        let mut session = Session {
            running: RunningCommand::Child(leader.without_pidfd()),
            pipes: OutputPipes::new(
                spawned.output,
                spawned.stderr,
                &CaptureTerms::of(&request),
                None,
            ),
        };
        let never = AtomicBool::new(false);
        let ended = session.follow(Some(started + timeout), &never).expect("followed");
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
        let mut leader = ChildLeader::new(child);
        rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()).expect("reaped");
        assert!(leader.has_ended().is_err());
        assert!(leader.end().is_err());
    }
}
