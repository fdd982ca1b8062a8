//! The pipes of a command, and reading them.

use std::io::{self, PipeReader};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::capture::{Capture, Output};
use crate::output_mask::{MaskedStream, OutputMask};
use crate::request::ExecRequest;
use crate::screen::{Screen, draws};
use crate::sink::{Feed, Sink, Stream};

/// The size of one read, and of a pipe by default. A larger pipe gains nothing while the reader polls,
/// and it counts against a quota of the user, beyond which all new pipes of that user are tiny.
const BLOCK: usize = 64 << 10;
/// The most that a pipe of an unprivileged process holds. It bounds the last read, if a process
/// outside the group goes on writing.
const PIPE_MAX: usize = 1 << 20;

/// A pipe, read to its end at most once.
struct OutputPipe {
    reader: Option<PipeReader>,
    capture: Capture,
    /// What is drawn, once something is.
    screen: Option<Screen>,
    feed: Feed,
    /// What takes secrets out of it first.
    mask: Option<MaskedStream>,
}

impl OutputPipe {
    /// Keeps what has come, as a person sees it.
    fn show(&mut self, bytes: &[u8]) {
        if self.screen.is_none() && !draws(bytes) {
            return self.capture.push(bytes);
        }
        let mut text = Vec::new();
        let screen = self.screen.get_or_insert_with(|| {
            let mut screen = Screen::default();
            screen.push(&self.capture.take_back(), &mut text);
            screen
        });
        screen.push(bytes, &mut text);
        self.capture.push(&text);
    }

    /// Keeps bytes that were read by way of a mask, and passes them on.
    fn take(&mut self, bytes: &[u8], is_screen: bool, sink: Option<&mut dyn Sink>) {
        if is_screen {
            self.show(bytes);
        } else {
            self.capture.push(bytes);
        }
        if let Some(sink) = sink {
            self.feed.push(sink, bytes);
        }
    }

    /// Takes what was read by way of the mask. What that keeps back comes with a later piece.
    fn take_masked(&mut self, bytes: &[u8], is_screen: bool, sink: Option<&mut dyn Sink>) {
        if let Some(mut mask) = self.mask.take() {
            self.take(mask.push(bytes), is_screen, sink);
            self.mask = Some(mask);
        }
    }

    /// Takes what the mask has kept back.
    fn end_mask(&mut self, is_screen: bool, sink: Option<&mut dyn Sink>) {
        if let Some(mut mask) = self.mask.take() {
            self.take(mask.finish(), is_screen, sink);
        }
    }

    fn finish(mut self) -> Output {
        if let Some(screen) = self.screen.take() {
            let mut text = Vec::new();
            screen.finish(&mut text);
            self.capture.push(&text);
        }
        self.capture.finish()
    }
}

/// All pipes of a command. The first carries stdout, or both streams.
pub(crate) struct OutputPipes<'s> {
    each: Vec<OutputPipe>,
    sink: Option<&'s mut dyn Sink>,
    is_screen: bool,
    block: Vec<u8>,
}

/// What becomes of the output of a command.
pub(crate) struct CaptureTerms<'a> {
    limit: usize,
    is_screen: bool,
    mask: Option<&'a Arc<OutputMask>>,
}

impl<'a> CaptureTerms<'a> {
    pub(crate) fn of(request: &ExecRequest<'a>) -> Self {
        let (limit, is_screen) = (request.max_output_bytes, request.is_screen);
        Self { limit, is_screen, mask: request.mask }
    }
}

#[derive(Clone, Copy, Default)]
pub(crate) struct OtherEvents<'a> {
    pub(crate) process: Option<std::os::fd::BorrowedFd<'a>>,
    pub(crate) waker: Option<std::os::fd::BorrowedFd<'a>>,
}

#[derive(Default)]
pub(crate) struct Ready {
    /// Bit `n` is set for pipe `n`.
    pub(crate) pipes: u8,
    pub(crate) process: bool,
    pub(crate) waker: bool,
}

impl<'s> OutputPipes<'s> {
    pub(crate) fn new(
        stdout: PipeReader,
        stderr: Option<PipeReader>,
        terms: &CaptureTerms<'_>,
        sink: Option<&'s mut dyn Sink>,
    ) -> Self {
        let &CaptureTerms { limit, is_screen, mask } = terms;
        let sink_limit = sink.as_ref().and_then(|sink| sink.limit()).unwrap_or(limit);
        let output = |reader, stream| OutputPipe {
            reader: Some(reader),
            capture: Capture::new(limit),
            screen: None,
            feed: Feed::new(stream, sink_limit),
            mask: mask.map(MaskedStream::new),
        };
        let each = match stderr {
            None => vec![output(stdout, Stream::Joined)],
            Some(stderr) => vec![output(stdout, Stream::Stdout), output(stderr, Stream::Stderr)],
        };
        Self { each, sink, is_screen, block: Vec::with_capacity(BLOCK) }
    }

    pub(crate) fn is_flowing(&mut self) -> bool {
        self.sink.as_mut().is_none_or(|sink| sink.ready())
    }

    /// Waits until a pipe can be read, another descriptor is ready, or the time is over. Unless
    /// `flowing`, it watches only the pipes whose share of the sink is full.
    pub(crate) fn wait(
        &self,
        flowing: bool,
        others: OtherEvents<'_>,
        wait: Option<Duration>,
    ) -> io::Result<Ready> {
        let mut fds = Vec::with_capacity(4);
        let mut polled = 0u8;
        for (index, output) in self.each.iter().enumerate() {
            if let Some(reader) = &output.reader
                && (flowing || output.feed.is_full())
            {
                polled |= 1 << index;
                fds.push(PollFd::new(reader, PollFlags::IN));
            }
        }
        for fd in [&others.process, &others.waker].into_iter().flatten() {
            fds.push(PollFd::new(fd, PollFlags::IN));
        }
        // A time that is too long for the system is no limit.
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

    /// Reads each of these pipes once. A pipe that is ready does not block, since this is its only
    /// reader.
    pub(crate) fn read(&mut self, pipes: u8) -> io::Result<usize> {
        let mut total = 0;
        for (index, output) in self.each.iter_mut().enumerate() {
            let Some(reader) = output.reader.as_ref().filter(|_| pipes & (1 << index) != 0) else {
                continue;
            };
            let read = |into: &mut Vec<u8>| -> io::Result<usize> {
                Ok(rustix::io::read(reader, spare_capacity(into))?)
            };
            if output.mask.is_some() {
                self.block.clear();
                match read(&mut self.block) {
                    Ok(0) => output.reader = None,
                    Ok(count) => {
                        total += count;
                        let sink = self.sink.as_mut().map(|sink| &mut **sink as &mut dyn Sink);
                        output.take_masked(&self.block, self.is_screen, sink);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
                continue;
            }
            let came = if self.is_screen {
                self.block.clear();
                let read = read(&mut self.block);
                output.show(&self.block);
                read.map(|_| &*self.block)
            } else {
                output.capture.read(&mut self.block, read)
            };
            match came {
                Ok([]) => output.reader = None,
                Ok(came) => {
                    total += came.len();
                    if let Some(sink) = &mut self.sink {
                        output.feed.push(*sink, came);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    /// Reads until all streams end, at most until `deadline`, whether or not the sink is ready.
    pub(crate) fn read_until(&mut self, deadline: Instant) -> io::Result<()> {
        while self.is_open() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let ready = self.wait(true, OtherEvents::default(), Some(left))?;
            self.read(ready.pipes)?;
        }
        Ok(())
    }

    /// Reads the current contents of the pipes, whether or not the sink is ready.
    pub(crate) fn read_rest(&mut self) -> io::Result<()> {
        let mut count = 0;
        while self.is_open() && count < PIPE_MAX * self.each.len() {
            let ready = self.wait(true, OtherEvents::default(), Some(Duration::ZERO))?;
            if ready.pipes == 0 {
                break;
            }
            count += self.read(ready.pipes)?;
        }
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.each.iter().any(|output| output.reader.is_some())
    }

    /// The output of the first pipe, and of the second if there is one.
    pub(crate) fn finish(mut self) -> (Output, Option<Output>) {
        for output in &mut self.each {
            let sink = self.sink.as_mut().map(|sink| &mut **sink as &mut dyn Sink);
            output.end_mask(self.is_screen, sink);
            if let Some(sink) = &mut self.sink {
                output.feed.finish(*sink);
            }
        }
        let mut outputs = self.each.into_iter().map(OutputPipe::finish);
        (outputs.next().unwrap_or_default(), outputs.next())
    }
}
