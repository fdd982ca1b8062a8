//! Whether a worker runs a command, as its supervisor sees it.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// A flag in memory that a supervisor shares with one worker. A command cannot reach it: executing a
/// program replaces the memory of the process.
///
/// The worker sets the flag before it looks at the tree for the last time before a command, and clears
/// it before the host learns of the end. So whatever changes while the flag is clear either keeps the
/// next command from running in this tree or concerns none.
pub(crate) struct Activity(NonNull<AtomicBool>);

impl Activity {
    pub(crate) fn new() -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which nothing else refers to.
        let start = unsafe {
            mmap_anonymous(ptr::null_mut(), size_of::<AtomicBool>(), access, MapFlags::SHARED)?
        };
        NonNull::new(start.cast()).map(Self).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    pub(crate) fn set(&self, is_active: bool) {
        self.flag().store(is_active, Ordering::SeqCst);
    }

    pub(crate) fn is_active(&self) -> bool {
        self.flag().load(Ordering::SeqCst)
    }

    fn flag(&self) -> &AtomicBool {
        // SAFETY: the mapping begins at a page, is filled with zeros, which is `false`, and lives as
        // long as this value.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and no reference to it outlives the value.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), size_of::<AtomicBool>()) };
    }
}
