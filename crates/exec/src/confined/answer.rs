//! The answer of a supervisor to one request.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use toolwright_sandbox::wire::{Inbox, Progress, Reply};

/// How long a supervisor may take.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(2);

/// Waits for an answer, and the descriptors that come with it.
pub(super) fn wait_for_answer(socket: OwnedFd) -> io::Result<(Reply, Vec<OwnedFd>)> {
    let mut inbox = Inbox::new(socket);
    let deadline = Instant::now() + MAX_ANSWER_TIME;
    loop {
        if let Some(content) = inbox.take().map_err(io::Error::other)? {
            let reply = Reply::read(&content).map_err(io::Error::other)?;
            return Ok((reply, std::iter::from_fn(|| inbox.take_descriptor()).collect()));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        if retry_on_intr(|| poll(&mut [PollFd::new(&inbox, PollFlags::IN)], Some(&left)))? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if inbox.fill(false)? == Progress::Closed {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
