//! The kernel's end of the filter: notifications of calls that wait, and the answers.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use libc::c_long;
use rustix::io::Errno;

use crate::errno;

// `_IOWR('!', 0, struct seccomp_notif)` and so on.
const RECEIVE: c_long = 0xC050_2100;
const SEND: c_long = 0xC018_2101;
const IS_VALID: c_long = 0x4008_2102;
const ADD_DESCRIPTOR: c_long = 0x4018_2103;
/// `SECCOMP_ADDFD_FLAG_SETFD`.
const SET_NUMBER: u32 = 1;

/// Room for fields that a later kernel may add to a notification.
#[repr(C)]
struct Received {
    notification: libc::seccomp_notif,
    more: [u64; 16],
}

pub(super) struct Listener(OwnedFd);

pub(super) struct Notification {
    pub(super) id: u64,
    /// The thread that waits; 0 if it is not visible from here.
    pub(super) thread: u32,
    pub(super) number: u32,
    pub(super) args: [u64; 6],
}

impl Listener {
    pub(super) fn new(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// Takes the next call, once the descriptor is readable. `None` means that the caller has died
    /// meanwhile.
    pub(super) fn receive(&self) -> Result<Option<Notification>, Errno> {
        // SAFETY: zeros are a valid notification, and the only one that the kernel accepts.
        let mut received: Received = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes no more than there is room for.
        let result = unsafe { self.ioctl(RECEIVE, &raw mut received) };
        if result != 0 {
            return match errno::last() {
                Errno::NOENT | Errno::INTR | Errno::NOTCONN => Ok(None),
                error => Err(error),
            };
        }
        let libc::seccomp_notif { id, pid, data, .. } = received.notification;
        Ok(Some(Notification { id, thread: pid, number: data.nr.cast_unsigned(), args: data.args }))
    }

    /// Whether its caller still waits, so that its number is not yet another's.
    pub(super) fn is_valid(&self, id: u64) -> bool {
        // SAFETY: the kernel reads the number.
        unsafe { self.ioctl(IS_VALID, (&raw const id).cast_mut()) == 0 }
    }

    /// Ends the call. An error means that the caller has died, which needs no answer.
    pub(super) fn answer(&self, id: u64, result: Result<(), Errno>) {
        let error = result.err().map_or(0, |error| -error.raw_os_error());
        let answer = libc::seccomp_notif_resp { id, val: 0, error, flags: 0 };
        // SAFETY: the kernel reads the answer.
        unsafe { self.ioctl(SEND, (&raw const answer).cast_mut()) };
    }

    /// Puts a descriptor of ours in the place of one of the caller's, which waits.
    pub(super) fn replace(
        &self,
        id: u64,
        ours: BorrowedFd<'_>,
        theirs: RawFd,
        closes_on_exec: bool,
    ) -> Result<(), Errno> {
        let request = libc::seccomp_notif_addfd {
            id,
            flags: SET_NUMBER,
            srcfd: ours.as_raw_fd().cast_unsigned(),
            newfd: theirs.cast_unsigned(),
            newfd_flags: if closes_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
        };
        // SAFETY: the kernel reads the request.
        let result = unsafe { self.ioctl(ADD_DESCRIPTOR, (&raw const request).cast_mut()) };
        if result < 0 { Err(errno::last()) } else { Ok(()) }
    }

    /// Makes a request whose number does not fit libc's type everywhere.
    ///
    /// # Safety
    ///
    /// `argument` must point to the type that the request reads or writes.
    unsafe fn ioctl<T>(&self, request: c_long, place: *mut T) -> c_long {
        // SAFETY: as above.
        unsafe { libc::syscall(libc::SYS_ioctl, self.0.as_raw_fd(), request, place) }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
