//! The kernel's end of the filter: notifications of calls that wait, and the answers.

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libc::c_long;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use crate::errno;

// `_IOWR('!', 0, struct seccomp_notif)` and so on.
const RECEIVE: c_long = 0xC050_2100;
const SEND: c_long = 0xC018_2101;
const IS_VALID: c_long = 0x4008_2102;
const ADD_DESCRIPTOR: c_long = 0x4018_2103;
const SET_FLAGS: c_long = 0x4008_2104;
/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`, since Linux 6.6.
const SYNC_WAKE_UP: u64 = 1;
/// `SECCOMP_USER_NOTIF_FLAG_CONTINUE`.
const CONTINUE: u32 = 1;
/// `SECCOMP_ADDFD_FLAG_SETFD`.
const SET_NUMBER: u32 = 1;

/// Room for fields that a later kernel may add to a notification.
#[repr(C)]
struct Received {
    notification: libc::seccomp_notif,
    more: [u64; 16],
}

pub(crate) struct Listener {
    descriptor: Arc<OwnedFd>,
    /// Where another thread takes the notifications, and leaves those that are for this one.
    handed: Option<Arc<Handed>>,
}

/// Notifications that one thread has taken for another, of one command after the other. Readable when there is one.
#[derive(Debug)]
pub(crate) struct Handed {
    notifications: Mutex<VecDeque<Notification>>,
    ready: OwnedFd,
}

impl Handed {
    pub(crate) fn new() -> Result<Self, Errno> {
        let ready = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { notifications: Mutex::default(), ready })
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Notification>> {
        self.notifications.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct Notification {
    pub(crate) id: u64,
    /// The thread that waits; 0 if it is not visible from here.
    pub(crate) thread: u32,
    pub(crate) number: u32,
    pub(crate) args: [u64; 6],
}

impl Listener {
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        Self { descriptor: Arc::new(descriptor), handed: None }
    }

    /// A listener for the notifications that [`hand_over`](Self::hand_over) gives it. Those of the command before are
    /// forgotten: nobody waits for them.
    pub(crate) fn share(&mut self, handed: &Arc<Handed>) -> Self {
        handed.lock().clear();
        self.handed = Some(handed.clone());
        Self { descriptor: self.descriptor.clone(), handed: self.handed.clone() }
    }

    /// Gives a notification to the listener that shares this one.
    pub(crate) fn hand_over(&self, notification: Notification) {
        let Some(handed) = &self.handed else {
            return self.answer(notification.id, Err(Errno::NOSYS));
        };
        handed.lock().push_back(notification);
        let _ = rustix::io::write(&handed.ready, &1_u64.to_ne_bytes());
    }

    /// Has the kernel wake the other side on the processor of this one, where it can.
    pub(crate) fn wake_in_place(&self) {
        let flags = SYNC_WAKE_UP;
        // SAFETY: the kernel takes the number itself, not what it points to.
        unsafe {
            libc::syscall(libc::SYS_ioctl, self.descriptor.as_raw_fd(), SET_FLAGS, flags);
        }
    }

    /// The kernel's end itself.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    fn take_handed(handed: &Handed) -> Option<Notification> {
        let mut notifications = handed.lock();
        let first = notifications.pop_front();
        if notifications.is_empty() {
            let _ = rustix::io::read(&handed.ready, &mut [0; 8]);
        }
        first
    }

    /// Takes the next call, once the descriptor is readable. `None` means that the caller has died
    /// meanwhile.
    pub(crate) fn receive(&self) -> Result<Option<Notification>, Errno> {
        match &self.handed {
            Some(handed) => Ok(Self::take_handed(handed)),
            None => self.receive_from_kernel(),
        }
    }

    /// As [`receive`](Self::receive), whoever it is for.
    pub(crate) fn receive_from_kernel(&self) -> Result<Option<Notification>, Errno> {
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
    pub(crate) fn is_valid(&self, id: u64) -> bool {
        // SAFETY: the kernel reads the number.
        unsafe { self.ioctl(IS_VALID, (&raw const id).cast_mut()) == 0 }
    }

    /// Puts a descriptor of ours among those of the caller, which waits, and ends its call with the number. Ours is closed
    /// before the call ends: whatever the caller does after it, nobody else has the file open. With an error, which is
    /// that of the call, it comes back.
    pub(crate) fn answer_with(
        &self,
        id: u64,
        ours: OwnedFd,
        closes_on_exec: bool,
    ) -> Result<(), (Errno, OwnedFd)> {
        let newfd_flags = if closes_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 };
        let srcfd = ours.as_raw_fd().cast_unsigned();
        let request = libc::seccomp_notif_addfd { id, flags: 0, srcfd, newfd: 0, newfd_flags };
        // SAFETY: the kernel reads the request.
        let number = unsafe { self.ioctl(ADD_DESCRIPTOR, (&raw const request).cast_mut()) };
        if number < 0 {
            return Err((errno::last(), ours));
        }
        drop(ours);
        let answer = libc::seccomp_notif_resp { id, val: number, error: 0, flags: 0 };
        // SAFETY: the kernel reads the answer.
        unsafe { self.ioctl(SEND, (&raw const answer).cast_mut()) };
        Ok(())
    }

    /// Ends the call. An error means that the caller has died, which needs no answer.
    pub(crate) fn answer(&self, id: u64, result: Result<(), Errno>) {
        let error = result.err().map_or(0, |error| -error.raw_os_error());
        let answer = libc::seccomp_notif_resp { id, val: 0, error, flags: 0 };
        // SAFETY: the kernel reads the answer.
        unsafe { self.ioctl(SEND, (&raw const answer).cast_mut()) };
    }

    /// Has the kernel make the call. Whatever is in the caller's memory may have changed by then, so nothing may depend
    /// on it.
    pub(crate) fn let_pass(&self, id: u64) {
        let flags = CONTINUE;
        let answer = libc::seccomp_notif_resp { id, val: 0, error: 0, flags };
        // SAFETY: the kernel reads the answer.
        let sent = unsafe { self.ioctl(SEND, (&raw const answer).cast_mut()) };
        if sent != 0 && errno::last() == Errno::INVAL {
            // Linux before 5.5.
            self.answer(id, Err(Errno::NOSYS));
        }
    }

    /// Puts a descriptor of ours in the place of one of the caller's, which waits.
    pub(crate) fn replace(
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
        unsafe { libc::syscall(libc::SYS_ioctl, self.descriptor.as_raw_fd(), request, place) }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handed.as_ref().map_or(self.descriptor.as_fd(), |handed| handed.ready.as_fd())
    }
}
