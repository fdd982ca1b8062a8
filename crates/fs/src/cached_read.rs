//! Reads what the kernel has in memory, without waiting.
//!
//! The kernel can serve a file from its caches faster than this process can hand the work to
//! another thread. Each step here makes the kernel give up rather than wait: `RESOLVE_CACHED` for
//! the path and `RWF_NOWAIT` for the bytes. A disk or a server that does not answer is left to the
//! ordinary way, on a thread that may wait.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use crate::DirectoryGrant;
use crate::location::real_path_of_file;

/// Calls `take` with the bytes of the regular file at `path` below the directory `root`, at most
/// `limit` of them, if that needs no waiting.
///
/// `None` says nothing about the file. [`read()`](crate::read()) it for the bytes or the error.
#[must_use]
pub fn try_read_cached<T>(
    root: &DirectoryGrant,
    path: &str,
    limit: u64,
    take: impl FnOnce(&[u8]) -> T,
) -> Option<T> {
    try_read(root, path, limit, |bytes, _| take(bytes))
}

/// As [`try_read_cached`], with the real path of the file that was read, where the system tells it.
#[must_use]
pub fn try_read_cached_named<T>(
    root: &DirectoryGrant,
    path: &str,
    limit: u64,
    take: impl FnOnce(&[u8], Option<PathBuf>) -> T,
) -> Option<T> {
    try_read(root, path, limit, |bytes, file| take(bytes, real_path_of_file(file)))
}

fn try_read<T>(
    root: &DirectoryGrant,
    path: &str,
    limit: u64,
    take: impl FnOnce(&[u8], BorrowedFd<'_>) -> T,
) -> Option<T> {
    #[cfg(target_os = "linux")]
    return linux::read(root, path, limit, take);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (root, path, limit, take);
        None
    }
}

#[cfg(target_os = "linux")]
pub(crate) mod linux {
    use std::cell::{Cell, RefCell};
    use std::io::IoSliceMut;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
    use rustix::io::ReadWriteFlags;

    use crate::open::{READ, identity};
    use crate::{DirectoryGrant, FileKind, path, reserved};

    /// Copying more takes so long that another thread should do it.
    pub(crate) const MAX_BYTES: u64 = 256 << 10;

    /// Local file systems, on which opening a file sends no request. Others (FUSE, NFS, an overlay
    /// over one of them) may wait when a file is opened, whatever they have cached.
    const LOCAL: [u64; 5] = [
        0xef53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683e, // Btrfs
        0x0102_1994, // tmpfs
        0xf2f5_2010, // F2FS
    ];

    thread_local! {
        /// Reused for every file, because fresh memory would have to be zeroed for each.
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn read<T>(
        root: &DirectoryGrant,
        path: &str,
        limit: u64,
        take: impl FnOnce(&[u8], BorrowedFd<'_>) -> T,
    ) -> Option<T> {
        path::validate(path).ok()?;
        let relative = match Path::new(path) {
            relative if relative.is_relative() => relative.to_path_buf(),
            absolute => path::below(absolute, root.path())?,
        };
        let root = root.try_open_cached()?;
        // Whatever is mounted below may be another kind of file system.
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        // Checked before it is opened: opening a device can act on it, and a FIFO can wait.
        let handle = open(root.as_fd(), &relative, OFlags::PATH | OFlags::CLOEXEC, inside)?;
        let seen = regular(&handle)?;
        if !is_local(&handle, &seen)? {
            return None;
        }
        let bytes =
            u64::try_from(seen.st_size).ok().filter(|bytes| *bytes <= limit.min(MAX_BYTES))?;
        let file = open(root.as_fd(), &relative, READ, inside)?;
        // A file that was replaced since the check would need another check.
        let (file, now) = regular_open(file)?;
        if identity(&now) != identity(&seen) {
            return None;
        }
        let bytes = usize::try_from(bytes).ok()?;
        BUFFER.with(|buffer| {
            // If `take` reads another file, that one takes the ordinary way.
            let mut buffer = buffer.try_borrow_mut().ok()?;
            whole(&file, bytes, &mut buffer).map(|bytes| take(bytes, file.as_fd()))
        })
    }

    pub(crate) fn open(
        below: BorrowedFd<'_>,
        path: &Path,
        flags: OFlags,
        resolve: ResolveFlags,
    ) -> Option<OwnedFd> {
        let resolve = resolve | ResolveFlags::CACHED;
        rustix::fs::openat2(below, path, flags, Mode::empty(), resolve).ok()
    }

    thread_local! {
        /// The device that was last found to be local. Only a disk has a number that stays with it;
        /// other numbers are reused for the next mount.
        static LOCAL_DISK: Cell<Option<u64>> = const { Cell::new(None) };
    }

    pub(crate) fn is_local(handle: &OwnedFd, stat: &Stat) -> Option<bool> {
        if LOCAL_DISK.get() == Some(stat.st_dev) {
            return Some(true);
        }
        let is_local = is_on_local(handle)?;
        if is_local && rustix::fs::major(stat.st_dev) != 0 {
            LOCAL_DISK.set(Some(stat.st_dev));
        }
        Some(is_local)
    }

    pub(crate) fn is_on_local(handle: &OwnedFd) -> Option<bool> {
        Some(LOCAL.contains(&magic(handle)?))
    }

    #[expect(clippy::cast_sign_loss, reason = "a magic number, of another type on each system")]
    #[allow(clippy::unnecessary_cast, clippy::allow_attributes, reason = "the types differ")]
    fn magic(handle: &OwnedFd) -> Option<u64> {
        rustix::fs::fstatfs(handle).ok().map(|stat| stat.f_type as u64)
    }

    pub(crate) fn regular(file: &OwnedFd) -> Option<Stat> {
        let stat = rustix::fs::fstat(file).ok()?;
        (FileKind::of(&stat).is_none() && !reserved::is_reserved(&stat)).then_some(stat)
    }

    /// As [`regular`], for a file that is open for reading.
    pub(crate) fn regular_open(file: OwnedFd) -> Option<(OwnedFd, Stat)> {
        let stat = rustix::fs::fstat(&file).ok()?;
        let file = reserved::unless_reserved(file, &stat)?;
        FileKind::of(&stat).is_none().then_some((file, stat))
    }

    /// Reads a file of `bytes` bytes. `None` if its length has changed.
    pub(crate) fn whole<'b>(
        file: &OwnedFd,
        bytes: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Option<&'b [u8]> {
        // One more byte, to see the end.
        if buffer.len() <= bytes {
            let missing = bytes + 1 - buffer.len();
            buffer.try_reserve_exact(missing).ok()?;
            buffer.resize(bytes + 1, 0);
        }
        let mut have = 0;
        while have < bytes {
            let rest = &mut [IoSliceMut::new(buffer.get_mut(have..=bytes)?)];
            let at = u64::try_from(have).ok()?;
            match rustix::io::preadv2(file, rest, at, ReadWriteFlags::NOWAIT) {
                Ok(0) | Err(_) => return None,
                Ok(more) => have += more,
            }
        }
        if have == bytes { buffer.get(..bytes) } else { None }
    }
}
