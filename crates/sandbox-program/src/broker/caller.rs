//! The thread whose call waits: its arguments, and its socket.

use std::fs;
use std::os::fd::{AsFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::errno;

/// `PIDFD_THREAD`, since Linux 6.9: the descriptor is of a thread and not of its process.
const OF_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());

/// A thread, which may end at any time. As long as its notification is valid, the thread still
/// waits, and its number has not been given to another.
#[derive(Debug)]
pub(super) struct Caller {
    thread: Pid,
    /// Of the thread, or on an older kernel of its process.
    pidfd: OwnedFd,
    is_of_thread: bool,
}

impl Caller {
    pub(super) fn new(thread: u32) -> Result<Self, Errno> {
        let thread = i32::try_from(thread).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        let opened = pidfd_open(thread, OF_THREAD);
        let is_of_thread = !matches!(opened, Err(Errno::INVAL));
        let pidfd = match opened {
            Err(Errno::INVAL) => pidfd_open(thread, PidfdFlags::empty())
                .or_else(|_| pidfd_open(leader(thread)?, PidfdFlags::empty()))?,
            opened => opened?,
        };
        Ok(Self { thread, pidfd, is_of_thread })
    }

    /// Whether this is the thread of another notification that has the number, unless that is a new thread: a descriptor
    /// of this one is then refused with `ESRCH`.
    pub(super) fn can_be(&self, thread: u32) -> bool {
        self.is_of_thread && self.thread.as_raw_nonzero().get().cast_unsigned() == thread
    }

    /// The caller's descriptor, as one of our own.
    ///
    /// On a kernel that knows only processes it is looked up among those of the process. A thread
    /// that has others is answered about the wrong one, which does no harm: it is a socket of the
    /// same command, and it is treated as any is.
    pub(super) fn descriptor(&self, fd: RawFd) -> Result<OwnedFd, Errno> {
        if fd < 0 {
            return Err(Errno::BADF);
        }
        pidfd_getfd(self.pidfd.as_fd(), fd, PidfdGetfdFlags::empty()).map_err(unseen)
    }

    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let Ok(start) = usize::try_from(address) else { return Err(Errno::FAULT) };
        let ours = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let theirs =
            libc::iovec { iov_base: std::ptr::without_provenance_mut(start), iov_len: bytes.len() };
        // SAFETY: writes to `bytes` alone; the other address means nothing in this process.
        let copied = unsafe {
            libc::process_vm_readv(
                self.thread.as_raw_nonzero().get(),
                &raw const ours,
                1,
                &raw const theirs,
                1,
                0,
            )
        };
        match usize::try_from(copied) {
            Ok(copied) if copied == bytes.len() => Ok(()),
            Ok(_) => Err(Errno::FAULT),
            Err(_) => Err(unseen(errno::last())),
        }
    }
}

/// The error for a caller that this process may not inspect, as its call would return it.
fn unseen(error: Errno) -> Errno {
    if error == Errno::PERM { Errno::ACCESS } else { error }
}

fn leader(thread: Pid) -> Result<Pid, Errno> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).map_err(|_| Errno::SRCH)?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("Tgid:"))
        .and_then(|number| Pid::from_raw(number.trim().parse().ok()?))
        .ok_or(Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use rustix::thread::gettid;

    use super::*;

    #[test]
    fn a_thread_has_a_leader() {
        let own = rustix::process::getpid();
        std::thread::spawn(move || {
            assert_ne!(gettid(), own);
            assert_eq!(leader(gettid()), Ok(own));
        })
        .join()
        .expect("the thread's assertions");
    }

    #[test]
    fn memory_is_copied_or_refused() {
        let caller = Caller::new(gettid().as_raw_nonzero().get().cast_unsigned()).expect("self");
        let text = *b"some text";
        let mut copy = [0; 9];
        assert_eq!(caller.read(text.as_ptr() as u64, &mut copy), Ok(()));
        assert_eq!(copy, text);
        for address in [0, 8, u64::MAX, u64::MAX - 4] {
            assert_eq!(caller.read(address, &mut copy), Err(Errno::FAULT));
        }
    }

    #[test]
    fn descriptors_are_those_of_the_caller() {
        let caller = Caller::new(gettid().as_raw_nonzero().get().cast_unsigned()).expect("self");
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let taken = caller.descriptor(writer.as_raw_fd()).expect("the writer");
        rustix::io::write(&taken, b"x").expect("room");
        assert_eq!(rustix::io::read(&reader, &mut [0; 2]), Ok(1));
        for fd in [-1, RawFd::MIN, 1 << 20, RawFd::MAX] {
            assert_eq!(caller.descriptor(fd).err(), Some(Errno::BADF));
        }
        assert_eq!(Caller::new(0).err(), Some(Errno::SRCH));
    }
}
