//! The pipes of a command, and what is read from them.

use std::io::{self, PipeReader};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::capture::{Capture, Output};
use crate::sink::{Feed, Sink, Stream};

/// One read. A pipe holds as much by default. A larger one was measured and gains nothing with the
/// reader in poll, and counts against a quota of the user, beyond which all their new pipes are tiny.
const BLOCK: usize = 64 << 10;
/// No pipe of an unprivileged process holds more. What a process outside the group still writes is
/// not read for ever.
const PIPE_MAX: usize = 1 << 20;

/// A pipe, read to its end at most once.
struct Lane {
    pipe: Option<PipeReader>,
    capture: Capture,
    feed: Feed,
}

/// All pipes of a command, the first of them stdout or both.
pub(crate) struct Lanes<'s> {
    each: Vec<Lane>,
    sink: Option<&'s mut dyn Sink>,
    block: Vec<u8>,
}

/// What `poll` looks at besides the pipes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Others<'a> {
    pub(crate) process: Option<std::os::fd::BorrowedFd<'a>>,
    pub(crate) waker: Option<std::os::fd::BorrowedFd<'a>>,
}

/// What has happened.
#[derive(Default)]
pub(crate) struct Ready {
    /// Bit `n` for pipe `n`.
    pub(crate) pipes: u8,
    pub(crate) process: bool,
    pub(crate) waker: bool,
}

impl<'s> Lanes<'s> {
    pub(crate) fn new(
        output: PipeReader,
        stderr: Option<PipeReader>,
        limit: usize,
        sink: Option<&'s mut dyn Sink>,
    ) -> Self {
        let sink_limit = sink.as_ref().and_then(|sink| sink.limit()).unwrap_or(limit);
        let lane = |pipe, stream| Lane {
            pipe: Some(pipe),
            capture: Capture::new(limit),
            feed: Feed::new(stream, sink_limit),
        };
        let each = match stderr {
            None => vec![lane(output, Stream::Joined)],
            Some(stderr) => vec![lane(output, Stream::Stdout), lane(stderr, Stream::Stderr)],
        };
        Self { each, sink, block: Vec::with_capacity(BLOCK) }
    }

    /// Whether the sink lets anything be read for it.
    pub(crate) fn is_flowing(&mut self) -> bool {
        self.sink.as_mut().is_none_or(|sink| sink.ready())
    }

    /// Waits until a pipe can be read, something else has happened, or the time is over. Unless
    /// `flowing`, only pipes of which the sink gets nothing more are looked at.
    pub(crate) fn wait(
        &self,
        flowing: bool,
        others: Others<'_>,
        wait: Option<Duration>,
    ) -> io::Result<Ready> {
        let mut fds = Vec::with_capacity(4);
        let mut polled = 0u8;
        for (index, lane) in self.each.iter().enumerate() {
            if let Some(pipe) = &lane.pipe
                && (flowing || lane.feed.is_full())
            {
                polled |= 1 << index;
                fds.push(PollFd::new(pipe, PollFlags::IN));
            }
        }
        for fd in [&others.process, &others.waker].into_iter().flatten() {
            fds.push(PollFd::new(fd, PollFlags::IN));
        }
        // A time too long for the system is no limit.
        let timeout = wait.and_then(|wait| Timespec::try_from(wait).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Ready::default()),
            Err(error) => return Err(error.into()),
        }
        // Any event counts: a closed pipe and a vanished process report no `IN`.
        let mut events = fds.iter().map(|fd| !fd.revents().is_empty());
        let mut next = || events.next().unwrap_or_default();
        let mut pipes = 0;
        for index in 0..self.each.len() {
            if polled & (1 << index) != 0 && next() {
                pipes |= 1 << index;
            }
        }
        let process = others.process.is_some() && next();
        let waker = others.waker.is_some() && next();
        Ok(Ready { pipes, process, waker })
    }

    /// Reads each of these pipes once. To be called when there is something, since the only reader
    /// is here and then does not block.
    pub(crate) fn read(&mut self, pipes: u8) -> io::Result<usize> {
        let mut total = 0;
        for (index, lane) in self.each.iter_mut().enumerate() {
            let Some(pipe) = lane.pipe.as_ref().filter(|_| pipes & (1 << index) != 0) else {
                continue;
            };
            let came = lane
                .capture
                .read(&mut self.block, |into| Ok(rustix::io::read(pipe, spare_capacity(into))?));
            match came {
                Ok([]) => lane.pipe = None,
                Ok(came) => {
                    total += came.len();
                    if let Some(sink) = &mut self.sink {
                        lane.feed.push(*sink, came);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    /// Reads until the end of all streams, at most until `deadline`. The sink is not asked.
    pub(crate) fn read_until(&mut self, deadline: Instant) -> io::Result<()> {
        while self.is_open() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let ready = self.wait(true, Others::default(), Some(left))?;
            self.read(ready.pipes)?;
        }
        Ok(())
    }

    /// Reads what is in the pipes now. The sink is not asked.
    pub(crate) fn read_rest(&mut self) -> io::Result<()> {
        let mut count = 0;
        while self.is_open() && count < PIPE_MAX * self.each.len() {
            let ready = self.wait(true, Others::default(), Some(Duration::ZERO))?;
            if ready.pipes == 0 {
                break;
            }
            count += self.read(ready.pipes)?;
        }
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.each.iter().any(|lane| lane.pipe.is_some())
    }

    /// What came through the first pipe, and through the second if there is one.
    pub(crate) fn finish(mut self) -> (Output, Option<Output>) {
        if let Some(sink) = self.sink {
            for lane in &mut self.each {
                lane.feed.finish(sink);
            }
        }
        let mut outputs = self.each.into_iter().map(|lane| lane.capture.finish());
        (outputs.next().unwrap_or_default(), outputs.next())
    }
}
