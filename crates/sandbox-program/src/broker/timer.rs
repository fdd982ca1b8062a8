//! A descriptor that becomes readable at a time.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

pub(super) struct Timer {
    descriptor: OwnedFd,
    set: Option<Instant>,
}

impl Timer {
    pub(super) fn new() -> io::Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: a plain call.
        let descriptor = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it for this process.
        Ok(Self { descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) }, set: None })
    }

    /// Sets it to another time, or to none. It stays readable once that time has come, until it is
    /// set again.
    pub(super) fn set(&mut self, time: Option<Instant>) -> io::Result<()> {
        if self.set == time {
            return Ok(());
        }
        // Nothing would unset it.
        let least = Duration::from_nanos(1);
        let left = time.map_or(Duration::ZERO, |time| {
            time.saturating_duration_since(Instant::now()).max(least)
        });
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let value = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: the kernel reads the time.
        let result = unsafe {
            libc::timerfd_settime(
                self.descriptor.as_raw_fd(),
                0,
                &raw const value,
                std::ptr::null_mut(),
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        self.set = time;
        Ok(())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
