//! Stopping a command, and waking the thread that follows it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use rustix::io::Errno;

/// Asks a running command to stop.
///
/// A plain [`AtomicBool`] works, and is polled every 10 ms. A [`Cancel`] takes effect at once, and
/// the thread sleeps until something happens.
pub trait CancelSource: Sync + fmt::Debug {
    /// Whether the command is to be stopped. Once true, always true.
    fn is_cancelled(&self) -> bool;

    /// The waker that wakes a sleeper once [`is_cancelled`](Self::is_cancelled) becomes true.
    /// `None` means that the flag has to be polled.
    fn waker(&self) -> Option<&Waker> {
        None
    }
}

impl CancelSource for AtomicBool {
    fn is_cancelled(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

impl<C: CancelSource + Send + ?Sized> CancelSource for Arc<C> {
    fn is_cancelled(&self) -> bool {
        (**self).is_cancelled()
    }

    fn waker(&self) -> Option<&Waker> {
        (**self).waker()
    }
}

/// A cancel flag that is noticed at once. Several calls may share one; a wake-up because of a sink
/// then is only sure to reach one of them, and the others ask theirs at the next tick.
#[derive(Debug)]
pub struct Cancel {
    flag: AtomicBool,
    /// `None` when the host is out of descriptors; then the flag is looked at every 10 ms.
    waker: Option<Waker>,
    was_woken: AtomicBool,
}

/// Those of cancel flags that are gone, so that few are opened and closed.
static SPARE: Mutex<Vec<Waker>> = Mutex::new(Vec::new());
const MAX_SPARE: usize = 8;

fn spare() -> MutexGuard<'static, Vec<Waker>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl Cancel {
    /// A flag that is not set. Takes one descriptor (two where there is no eventfd); without one
    /// it works like an [`AtomicBool`].
    #[must_use]
    pub fn new() -> Self {
        let spare = spare().pop();
        let waker = spare.or_else(|| Waker::new().ok());
        Self { flag: AtomicBool::new(false), waker, was_woken: AtomicBool::new(false) }
    }

    /// Stops the command this is given to, now or when it is started.
    pub fn cancel(&self) {
        // Before the wake-up, whose reader looks at it afterwards.
        self.flag.store(true, Ordering::Release);
        self.wake();
    }

    /// Makes the thread that follows the command look round: the sink is ready again.
    pub fn wake(&self) {
        self.was_woken.store(true, Ordering::Relaxed);
        if let Some(waker) = &self.waker {
            waker.wake();
        }
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        // A used one may still be awake.
        if !*self.was_woken.get_mut()
            && let Some(waker) = self.waker.take()
        {
            let mut spare = spare();
            if spare.len() < MAX_SPARE {
                spare.push(waker);
            }
        }
    }
}

impl CancelSource for Cancel {
    fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }

    fn waker(&self) -> Option<&Waker> {
        self.waker.as_ref()
    }
}

/// Ends the sleep of a thread in `poll`. Wake-ups are not counted, and none is lost: one before the
/// sleep ends it at once.
#[derive(Debug)]
pub struct Waker {
    reader: OwnedFd,
    /// `None`: the reader is an eventfd, which is written to as well.
    writer: Option<OwnedFd>,
}

impl Waker {
    /// Opens the descriptors; no command inherits them.
    pub fn new() -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::event::{EventfdFlags, eventfd};
            let reader = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            Ok(Self { reader, writer: None })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
            reader.set_nonblocking(true)?;
            writer.set_nonblocking(true)?;
            Ok(Self { reader: reader.into(), writer: Some(writer.into()) })
        }
    }

    /// Wakes the thread. Never blocks, and may be called from anywhere, any number of times.
    pub fn wake(&self) {
        let fd = self.writer.as_ref().unwrap_or(&self.reader);
        // A full counter or buffer is a wake-up that is on its way already.
        while rustix::io::write(fd, &1u64.to_ne_bytes()) == Err(Errno::INTR) {}
    }

    /// Takes all wake-ups so far. What they were about is looked at after this.
    pub(crate) fn drain(&self) {
        let mut taken = [0; 64];
        loop {
            match rustix::io::read(&self.reader, &mut taken) {
                Ok(count) if count == taken.len() => {}
                Err(Errno::INTR) => {}
                _ => return,
            }
        }
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn is_awake(waker: &Waker) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(waker, PollFlags::IN)], Some(&now)) == Ok(1)
    }

    #[test]
    fn wake_ups_are_kept_until_taken() {
        let waker = Waker::new().expect("descriptor");
        assert!(!is_awake(&waker));
        for _ in 0..100_000 {
            waker.wake();
        }
        assert!(is_awake(&waker));
        waker.drain();
        assert!(!is_awake(&waker));
        waker.drain();
    }

    #[test]
    fn a_flag_that_is_new_is_not_awake() {
        for round in 0..100 {
            let flags: Vec<Cancel> = (0..20).map(|_| Cancel::new()).collect();
            let mut seen = std::collections::BTreeSet::new();
            for (index, cancel) in flags.iter().enumerate() {
                let waker = cancel.waker().expect("descriptor");
                assert!(!cancel.is_cancelled() && !is_awake(waker), "round {round}");
                assert!(seen.insert(std::os::fd::AsRawFd::as_raw_fd(&waker.as_fd())));
                match index % 3 {
                    0 => cancel.cancel(),
                    1 => cancel.wake(),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn few_descriptors_are_kept() {
        let flags: Vec<Cancel> = (0..3 * MAX_SPARE).map(|_| Cancel::new()).collect();
        drop(flags);
        assert!(spare().len() <= MAX_SPARE);
    }

    #[test]
    fn sources_pass_through_an_arc() {
        let plain = Arc::new(AtomicBool::new(false));
        let source: &dyn CancelSource = &plain;
        assert!(!source.is_cancelled() && source.waker().is_none());
        let cancel = Arc::new(Cancel::new());
        let source: &dyn CancelSource = &cancel;
        cancel.cancel();
        assert!(source.is_cancelled() && source.waker().is_some_and(is_awake));
        assert!(!Cancel::default().is_cancelled());
        let mut without = Cancel::new();
        without.waker = None;
        without.cancel();
        assert!(without.is_cancelled());
    }
}
