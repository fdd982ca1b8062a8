//! What a call means to the thread that made it: its memory, its directories, its rights.

use std::ffi::CString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{Dev, Mode, OFlags, makedev, open, openat};
use rustix::io::Errno;

use super::identity::Identity;
use crate::errno;

/// The longest path that the kernel takes, with the NUL at its end.
const MAX_PATH: usize = 4096;
const PAGE: u64 = 4096;
/// Longer than a process's state in words is.
const MAX_STATUS: usize = 8 << 10;

const PATH: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// The processes of this namespace.
#[derive(Debug)]
pub(super) struct Processes(OwnedFd);

impl Processes {
    pub(super) fn open() -> Result<Self, Errno> {
        open("/proc", PATH | OFlags::DIRECTORY, Mode::empty()).map(Self)
    }
}

impl AsFd for Processes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A thread that waits. What is read of it is its own only if its notification is still valid afterwards.
pub(super) struct FileCaller<'p> {
    pub(super) processes: &'p Processes,
    pub(super) thread: u32,
}

impl FileCaller<'_> {
    /// The text at an address, up to the NUL at its end. It is read once.
    pub(super) fn text(&self, address: u64) -> Result<CString, Errno> {
        let mut text = Vec::new();
        let mut chunk = [0; MAX_PATH];
        loop {
            let from = address.checked_add(text.len() as u64).ok_or(Errno::FAULT)?;
            // Memory may end with the page.
            let to_end = usize::try_from(PAGE - from % PAGE).map_err(|_| Errno::FAULT)?;
            let room = to_end.min(MAX_PATH - text.len());
            let read = self.read(from, &mut chunk[..room])?;
            let read = &chunk[..read];
            match read.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    text.extend_from_slice(&read[..end]);
                    return CString::new(text).map_err(|_| Errno::FAULT);
                }
                None if read.is_empty() => return Err(Errno::FAULT),
                None => text.extend_from_slice(read),
            }
            if text.len() >= MAX_PATH {
                return Err(Errno::NAMETOOLONG);
            }
        }
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<usize, Errno> {
        let Ok(start) = usize::try_from(address) else { return Err(Errno::FAULT) };
        let ours = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let theirs =
            libc::iovec { iov_base: std::ptr::without_provenance_mut(start), iov_len: bytes.len() };
        // SAFETY: writes to `bytes` alone; the other address means nothing in this process.
        let copied = unsafe {
            let thread = self.thread.cast_signed();
            libc::process_vm_readv(thread, &raw const ours, 1, &raw const theirs, 1, 0)
        };
        if let Ok(copied) = usize::try_from(copied) {
            return Ok(copied);
        }
        match errno::last() {
            Errno::PERM | Errno::ACCESS => self.read_file(address, bytes),
            errno => Err(errno),
        }
    }

    fn read_file(&self, address: u64, bytes: &mut [u8]) -> Result<usize, Errno> {
        let memory = self.open("mem", OFlags::RDONLY | OFlags::CLOEXEC).map_err(|_| Errno::PERM)?;
        File::from(memory).read_at(bytes, address).map_err(|_| Errno::FAULT)
    }

    /// The directory that relative paths begin in.
    pub(super) fn directory(&self, descriptor: RawFd, kind: OFlags) -> Result<OwnedFd, Errno> {
        if descriptor == libc::AT_FDCWD {
            return self.open("cwd", PATH | kind).map_err(unseen);
        }
        if descriptor < 0 {
            return Err(Errno::BADF);
        }
        self.open(&format!("fd/{descriptor}"), PATH | kind).map_err(|error| match error {
            Errno::NOENT => Errno::BADF,
            error => unseen(error),
        })
    }

    /// Its rights, and its mask of permission bits.
    pub(super) fn identity(&self) -> Result<Identity, Errno> {
        self.status()?.identity()
    }

    /// The terminal of its session.
    pub(super) fn terminal(&self) -> Result<Option<Dev>, Errno> {
        let file = File::from(self.open("stat", OFlags::RDONLY | OFlags::CLOEXEC)?);
        let mut text = [0; MAX_STATUS];
        let length = file.read_at(&mut text, 0).map_err(|error| errno::of(&error))?;
        let text = String::from_utf8_lossy(&text[..length]);
        // Behind its name come state, parent, group and session.
        let number = text.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(4));
        let number: u32 = number.and_then(|number| number.parse().ok()).ok_or(Errno::INVAL)?;
        let (major, minor) = (number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xF_FF00);
        Ok((number != 0).then(|| makedev(major, minor)))
    }

    /// What the kernel says about it.
    pub(super) fn status(&self) -> Result<Status, Errno> {
        self.open("status", OFlags::RDONLY | OFlags::CLOEXEC).map(File::from).map(Status)
    }

    fn open(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut path = [0; 48];
        let mut rest = &mut path[..];
        write!(rest, "{}/{name}", self.thread).map_err(|_| Errno::NAMETOOLONG)?;
        let left = rest.len();
        let length = path.len() - left;
        openat(self.processes, &path[..length], flags, Mode::empty())
    }
}

/// What the kernel says about a thread. It means this thread for ever, whoever gets its number later.
#[derive(Debug)]
pub(super) struct Status(File);

impl Status {
    /// Its rights, and its mask of permission bits. An error: it has ended.
    pub(super) fn identity(&self) -> Result<Identity, Errno> {
        let mut text = [0; MAX_STATUS];
        let length = self.0.read_at(&mut text, 0).map_err(|error| errno::of(&error))?;
        Identity::parse(&text[..length]).ok_or(Errno::PERM)
    }
}

/// The error for a caller that this process may not look into.
fn unseen(error: Errno) -> Errno {
    if error == Errno::ACCESS { Errno::PERM } else { error }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use rustix::fs::fstat;

    use super::*;

    fn own(processes: &Processes) -> FileCaller<'_> {
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        FileCaller { processes, thread }
    }

    #[test]
    fn texts_are_read_to_their_end() {
        let processes = Processes::open().expect("/proc");
        let caller = own(&processes);
        for length in [0, 1, 20, 4000, 4095] {
            let text = CString::new(vec![b'x'; length]).expect("no NUL");
            assert_eq!(caller.text(text.as_ptr() as u64), Ok(text));
        }
        let long = CString::new(vec![b'x'; 4096]).expect("no NUL");
        assert_eq!(caller.text(long.as_ptr() as u64), Err(Errno::NAMETOOLONG));
        for address in [0, 8, u64::MAX, u64::MAX - 4] {
            assert_eq!(caller.text(address), Err(Errno::FAULT));
        }
    }

    #[test]
    fn directories_are_those_of_the_caller() {
        let processes = Processes::open().expect("/proc");
        let caller = own(&processes);
        let same = |one: &OwnedFd, path: &str| {
            let (one, other) = (fstat(one), rustix::fs::stat(path));
            let identity = |stat: &rustix::fs::Stat| (stat.st_dev, stat.st_ino);
            identity(&one.expect("stat")) == identity(&other.expect("stat"))
        };
        assert!(same(&caller.directory(libc::AT_FDCWD, OFlags::DIRECTORY).expect("cwd"), "."));
        let root = File::open("/").expect("root");
        assert!(same(&caller.directory(root.as_raw_fd(), OFlags::DIRECTORY).expect("root"), "/"));
        for absent in [-1, -101, 1 << 20] {
            assert_eq!(caller.directory(absent, OFlags::DIRECTORY).err(), Some(Errno::BADF));
        }
        assert!(caller.identity().is_ok());
    }
}
