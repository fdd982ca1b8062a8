//! One command of a worker, from its start until nothing of it is left.

use std::{
    ffi::{c_char, c_int},
    io,
    os::fd::{AsFd, BorrowedFd},
    ptr,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, Signal, kill_process_group},
};
use toolwright_sandbox::{
    broker::Broker,
    step::FailedStep,
    wire::{Inbox, Progress, RequestFrame},
};

use crate::{
    signals::forget_signals,
    start::{Start, start},
    worker::Worker,
};

/// How long what was killed may take to be gone, where it might not all be this command's group.
const STUBBORN: Duration = Duration::from_millis(500);

pub(crate) struct Command<'w> {
    worker: &'w Worker,
    leader: Pid,
    /// How the leader ended, once it has been collected.
    status: Option<c_int>,
    broker: Option<Broker>,
}

/// What ended the wait for a command.
pub(crate) enum Heard {
    /// The leader ended so.
    End(c_int),
    /// The host wants it killed.
    Kill,
    /// The host is gone.
    Nobody,
}

impl<'w> Command<'w> {
    pub(crate) fn start(
        worker: &'w Worker,
        frame: &RequestFrame<'_>,
        inbox: &mut Inbox,
    ) -> Result<Self, (FailedStep, i32)> {
        let malformed = (FailedStep::Other, libc::EINVAL);
        let stdout = inbox.take_descriptor().ok_or(malformed)?;
        let stderr = if frame.request.stderr_apart { inbox.take_descriptor() } else { None };
        let mut words = Vec::with_capacity(frame.count + 3);
        for (index, word) in frame.words.split_inclusive(|byte| *byte == 0).enumerate() {
            if index == frame.arguments {
                words.push(ptr::null());
            }
            // Without the NUL at its end.
            if index < frame.arguments || worker.temporary.passes(&word[..word.len() - 1]) {
                words.push(word.as_ptr().cast::<c_char>());
            }
        }
        if frame.count == frame.arguments {
            words.push(ptr::null());
        }
        words.extend(worker.temporary.added().map(|variable| variable.as_ptr()));
        words.push(ptr::null());
        let stack = &worker.stack;
        let started = worker.limits.start_expendable(|| {
            start(
                &Start {
                    root: worker.root.as_fd(),
                    cwd: frame.request.cwd.as_ptr().cast(),
                    program: frame.request.program.as_ptr().cast(),
                    arguments: words.as_ptr(),
                    variables: words[frame.arguments + 1..].as_ptr(),
                    stdout: stdout.as_fd(),
                    stderr: stderr.as_ref().unwrap_or(&stdout).as_fd(),
                    rules: &worker.rules,
                    limits: &worker.limits,
                    capabilities: &worker.capabilities,
                    pin: &worker.pin,
                    brokered: worker.brokered.as_ref(),
                },
                stack,
            )
        });
        // Also of a command that failed: its listener is not for the next one.
        let broker = match &worker.brokered {
            Some(brokered) => brokered.channel.take().unwrap_or_default(),
            None => None,
        };
        Ok(Self { worker, leader: started?, status: None, broker })
    }

    /// Waits until the leader ends or the host says something, and collects orphans meanwhile.
    pub(crate) fn follow(&mut self, inbox: &mut Inbox) -> io::Result<Heard> {
        loop {
            // It may have come in one piece with what started the command.
            if inbox.take().map_err(io::Error::other)?.is_some() {
                return Ok(Heard::Kill);
            }
            let mut fds = vec![
                PollFd::new(&self.worker.children, PollFlags::IN),
                PollFd::new(&*inbox, PollFlags::IN),
            ];
            fds.extend(self.broker.as_ref().map(|broker| PollFd::new(broker, PollFlags::IN)));
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [children, host, asks] = [0, 1, 2].map(|index: usize| {
                fds.get(index).is_some_and(|polled| !polled.revents().is_empty())
            });
            if asks
                && let Some(broker) = &mut self.broker
                && broker.handle().is_err()
            {
                // Whoever waits for it, and whoever asks from now on, is refused by the kernel.
                self.broker = None;
            }
            if children {
                forget_signals(&self.worker.children);
                while self.collect(libc::WNOHANG) == Collected::One {}
                if let Some(status) = self.status {
                    return Ok(Heard::End(status));
                }
            }
            if host {
                match inbox.fill(false)? {
                    Progress::Nothing => {}
                    Progress::Closed => return Ok(Heard::Nobody),
                    // There is only one thing to say while a command runs.
                    Progress::More => {
                        return Ok(inbox.wait()?.map_or(Heard::Nobody, |_| Heard::Kill));
                    }
                }
            }
        }
    }

    /// Whether no process of the command is left, the leader having been collected. A process whose
    /// parent has ended is this process's child, so nobody is left if it has none.
    pub(crate) fn is_all_gone(&mut self) -> bool {
        loop {
            match self.collect(libc::WNOHANG) {
                Collected::One => {}
                Collected::NoneYet => return false,
                Collected::Nobody => return true,
            }
        }
    }

    /// Kills what is left, collects it, and says how the leader ended.
    pub(crate) fn end(mut self) -> c_int {
        let started = Instant::now();
        loop {
            // There is a child, so its group still has its number: killing it hits no stranger.
            if self.is_all_gone() {
                break;
            }
            self.kill();
            if self.worker.alone {
                self.collect(0);
            } else if started.elapsed() > STUBBORN {
                // Something has left the group in spite of the pin.
                break;
            } else {
                let _ = wait_for(self.worker.children.as_fd(), 1);
                forget_signals(&self.worker.children);
            }
        }
        self.status.unwrap_or(libc::SIGKILL)
    }

    /// Errors are of no use: then there is nobody left.
    fn kill(&self) {
        if self.worker.alone {
            // SAFETY: a signal to every process of this namespace but this one.
            unsafe { libc::kill(-1, libc::SIGKILL) };
        } else {
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
    }

    fn collect(&mut self, options: c_int) -> Collected {
        let mut status = 0;
        // SAFETY: writes to a local.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, options | libc::__WALL) };
        match pid {
            0 => Collected::NoneYet,
            -1 => Collected::Nobody,
            pid => {
                if pid == self.leader.as_raw_pid() && self.status.is_none() {
                    self.status = Some(status);
                }
                Collected::One
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Collected {
    One,
    NoneYet,
    Nobody,
}

/// Waits until there is something to read, or the time is over: `false`.
pub(crate) fn wait_for(fd: BorrowedFd<'_>, ms: i64) -> io::Result<bool> {
    let limit = Timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 };
    loop {
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit)) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
