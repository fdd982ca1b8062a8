//! A descriptor that becomes readable at a time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

pub(super) struct Timer {
    descriptor: OwnedFd,
    set: Option<Instant>,
}

impl Timer {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self { descriptor: timerfd_create(TimerfdClockId::Monotonic, flags)?, set: None })
    }

    /// Sets it to another time, or to none. It stays readable once that time has come, until it is
    /// set again.
    pub(super) fn set(&mut self, time: Option<Instant>) -> io::Result<()> {
        if self.set == time {
            return Ok(());
        }
        let left = time.map_or(Duration::ZERO, |time| {
            // A time of zero would unset it.
            time.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1))
        });
        let it_value = Timespec::try_from(left).map_err(io::Error::other)?;
        let value = Itimerspec { it_interval: Timespec::default(), it_value };
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &value)?;
        self.set = time;
        Ok(())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
