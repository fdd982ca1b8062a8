//! Changes that a supervisor makes to its tree while workers use it.
//!
//! The kernel reports to a worker that the mounts have changed, and not who has changed them. A count in shared
//! memory says it: it is odd while the supervisor changes something.

use std::cell::Cell;
use std::fmt;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// The count. Its memory stays for the life of the process: a supervisor has one.
#[derive(Clone)]
pub(super) struct OwnChanges(Rc<NonNull<AtomicU32>>);

impl fmt::Debug for OwnChanges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("OwnChanges").field(&self.count()).finish()
    }
}

impl OwnChanges {
    pub(super) fn new() -> Result<Self, Errno> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which nothing else refers to.
        let start = unsafe {
            mmap_anonymous(ptr::null_mut(), size_of::<AtomicU32>(), access, MapFlags::SHARED)?
        };
        NonNull::new(start.cast()).map(|count| Self(Rc::new(count))).ok_or(Errno::NOMEM)
    }

    /// Makes a change.
    pub(super) fn during<T>(&self, change: impl FnOnce() -> T) -> T {
        self.during_what_may(change, || true)
    }

    /// Does what may change something. `has_changed` says afterwards whether it has.
    pub(super) fn during_what_may<T>(
        &self,
        change: impl FnOnce() -> T,
        has_changed: impl FnOnce() -> bool,
    ) -> T {
        self.counter().fetch_add(1, Ordering::SeqCst);
        let result = change();
        // Nobody keeps an odd count, so the former one can come back.
        if has_changed() {
            self.counter().fetch_add(1, Ordering::SeqCst);
        } else {
            self.counter().fetch_sub(1, Ordering::SeqCst);
        }
        result
    }

    fn count(&self) -> u32 {
        self.counter().load(Ordering::SeqCst)
    }

    fn counter(&self) -> &AtomicU32 {
        // SAFETY: the mapping begins at a page, is filled with zeros, and is never removed.
        unsafe { self.0.as_ref().as_ref() }
    }
}

/// What one process has seen of the count.
#[derive(Debug)]
pub(super) struct SeenChanges {
    changes: OwnChanges,
    seen: Cell<u32>,
}

impl SeenChanges {
    pub(super) fn of(changes: &OwnChanges) -> Self {
        Self { changes: changes.clone(), seen: Cell::new(changes.count()) }
    }

    /// Whether a change of the mounts that was just reported may be the supervisor's own.
    pub(super) fn explain(&self) -> bool {
        let now = self.changes.count();
        let is_new = now != self.seen.get();
        if now.is_multiple_of(2) {
            self.seen.set(now);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_explains_what_comes_with_it_and_nothing_later() {
        let changes = OwnChanges::new().expect("memory");
        let seen = SeenChanges::of(&changes);
        assert!(!seen.explain());
        changes.during(|| assert!(seen.explain() && seen.explain()));
        assert!(seen.explain());
        assert!(!seen.explain());
    }

    #[test]
    fn what_changes_nothing_explains_nothing() {
        let changes = OwnChanges::new().expect("memory");
        let seen = SeenChanges::of(&changes);
        changes.during_what_may(|| assert!(seen.explain()), || false);
        assert!(!seen.explain());
        changes.during_what_may(|| (), || true);
        assert!(seen.explain());
    }
}
