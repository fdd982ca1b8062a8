//! The thread that follows all background processes.
//!
//! It sleeps until the kernel has news of one of them, or one of their deadlines is over.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use std::{io, thread};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::cancel::Waker;

/// Which descriptor of its owner an event is about.
pub(super) type Part = u8;

/// The bits of an event's number that name the part.
const PART_BITS: u32 = 8;
/// The number of an event that is about none.
const WAKER: u64 = u64::MAX;

const BOTH: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

/// Something that waits for its descriptors.
pub(super) trait Followed: Send + Sync {
    /// One of its descriptors has news.
    fn on_ready(self: Arc<Self>, part: Part);
    /// The time that it asked for has come.
    fn on_deadline(self: Arc<Self>);
}

pub(super) struct Reactor {
    epoll: OwnedFd,
    waker: Waker,
    followed: Mutex<HashMap<u64, Arc<dyn Followed>>>,
    deadlines: Mutex<BTreeSet<(Instant, u64)>>,
    next_id: std::sync::atomic::AtomicU64,
}

impl Reactor {
    /// The one of this process, with its thread.
    pub(super) fn get() -> io::Result<&'static Self> {
        static REACTOR: OnceLock<Arc<Reactor>> = OnceLock::new();
        static STARTING: Mutex<()> = Mutex::new(());
        if let Some(reactor) = REACTOR.get() {
            return Ok(reactor);
        }
        let _one_at_a_time = lock(&STARTING);
        if let Some(reactor) = REACTOR.get() {
            return Ok(reactor);
        }
        let reactor = Arc::new(Self::new()?);
        let running = Arc::clone(&reactor);
        // Without its thread there is no reactor, and a later call tries again.
        thread::Builder::new().name("toolwright-kept".to_owned()).spawn(move || running.run())?;
        Ok(REACTOR.get_or_init(|| reactor))
    }

    fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let waker = Waker::new()?;
        epoll::add(&epoll, &waker, epoll::EventData::new_u64(WAKER), epoll::EventFlags::IN)?;
        Ok(Self {
            epoll,
            waker,
            followed: Mutex::default(),
            deadlines: Mutex::default(),
            next_id: std::sync::atomic::AtomicU64::new(0),
        })
    }

    /// A number for something to be followed.
    pub(super) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    pub(super) fn follow(&self, id: u64, one: Arc<dyn Followed>) {
        lock(&self.followed).insert(id, one);
    }

    /// Forgets it; its descriptors must have been removed.
    pub(super) fn leave(&self, id: u64) {
        let left = lock(&self.followed).remove(&id);
        // It may be the last reference, and its end may take other locks.
        drop(left);
    }

    /// Waits for a descriptor to become readable, or writable.
    pub(super) fn add(&self, id: u64, part: Part, fd: BorrowedFd<'_>, writes: bool) -> bool {
        let flags = if writes { epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
        let number = id << PART_BITS | u64::from(part);
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(number), flags).is_ok()
    }

    /// Reports every change of readiness in either direction, once.
    pub(super) fn add_both(&self, id: u64, part: Part, fd: BorrowedFd<'_>) -> bool {
        let number = id << PART_BITS | u64::from(part);
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(number), BOTH).is_ok()
    }

    /// Reports the same event once more.
    pub(super) fn tell_again(&self, id: u64, part: Part, fd: BorrowedFd<'_>) {
        let number = id << PART_BITS | u64::from(part);
        let _ = epoll::modify(&self.epoll, fd, epoll::EventData::new_u64(number), BOTH);
    }

    pub(super) fn remove(&self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Calls `on_deadline` once this moment has come.
    pub(super) fn set_deadline(&self, id: u64, at: Instant) {
        let mut deadlines = lock(&self.deadlines);
        let is_first = deadlines.first().is_none_or(|(first, _)| at < *first);
        deadlines.insert((at, id));
        drop(deadlines);
        if is_first {
            self.waker.wake();
        }
    }

    fn run(&self) {
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            let wait = self.wait_time();
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                wait.as_ref(),
            ) {
                Ok(_) | Err(Errno::INTR) => {}
                // Nothing that could be done about it; what follows must not burn the processor.
                Err(_) => thread::sleep(std::time::Duration::from_millis(10)),
            }
            for event in &events {
                let number = event.data.u64();
                if number == WAKER {
                    self.waker.drain();
                    continue;
                }
                let followed_by_id = lock(&self.followed).get(&(number >> PART_BITS)).cloned();
                if let Some(followed) = followed_by_id {
                    let part = Part::try_from(number & 0xFF).unwrap_or(0);
                    followed.on_ready(part);
                }
            }
            self.tell_deadlines();
        }
    }

    fn wait_time(&self) -> Option<Timespec> {
        let (first, _) = *lock(&self.deadlines).first()?;
        Timespec::try_from(first.saturating_duration_since(Instant::now())).ok()
    }

    fn tell_deadlines(&self) {
        let now = Instant::now();
        loop {
            let due = {
                let mut deadlines = lock(&self.deadlines);
                match deadlines.first() {
                    Some((at, _)) if *at <= now => deadlines.pop_first(),
                    _ => None,
                }
            };
            let Some((_, id)) = due else { return };
            let followed_by_id = lock(&self.followed).get(&id).cloned();
            if let Some(followed) = followed_by_id {
                followed.on_deadline();
            }
        }
    }
}

/// Locks. What a panic interrupts under these locks is a single change of a collection.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
