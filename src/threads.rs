//! Threads for long calls.
//!
//! A call goes to the thread that has become idle last: its stack and its memory are in the caches,
//! and have been written to since the host has forked. (Node forks for each of its own child
//! processes; every page of memory that is written to for the first time afterwards costs a fault.)
//! Threads that take turns would pay for both once each.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::pace;

/// How many calls run at once; more wait for their turn.
const MOST: usize = 2048;
/// A thread without work ends after this time.
const IDLE: Duration = Duration::from_secs(10);

/// What a call does on its thread. It does not unwind.
pub(crate) type Work = Box<dyn FnOnce() -> Ending + Send>;
/// Tells the caller that it is done. Whoever calls again at once finds this thread idle.
pub(crate) type Ending = Box<dyn FnOnce()>;

struct Threads {
    /// Those without work; the last is the one that has become idle last.
    idle: Vec<Arc<Seat>>,
    /// Work for which there is no thread.
    waiting: VecDeque<Work>,
    count: usize,
}

static THREADS: Mutex<Threads> =
    Mutex::new(Threads { idle: Vec::new(), waiting: VecDeque::new(), count: 0 });

/// Where one thread gets its work.
struct Seat {
    work: Mutex<Option<Work>>,
    given: Condvar,
}

/// Runs `work` on a thread. Gives it back when there is none and none can be started.
pub(crate) fn run(mut work: Work) -> Result<(), Work> {
    let mut threads = lock(&THREADS);
    if threads.idle.is_empty() && threads.count < MOST {
        drop(threads);
        let Err(back) = start(work) else { return Ok(()) };
        work = back;
        threads = lock(&THREADS);
    }
    if let Some(seat) = threads.idle.pop() {
        drop(threads);
        seat.give(work);
    } else if threads.count > 0 {
        threads.waiting.push_back(work);
    } else {
        return Err(work);
    }
    Ok(())
}

fn start(work: Work) -> Result<(), Work> {
    let seat = Arc::new(Seat { work: Mutex::new(Some(work)), given: Condvar::new() });
    let own = Arc::clone(&seat);
    let builder = thread::Builder::new().name("toolwright".to_owned());
    if builder.spawn(move || serve(&own)).is_ok() {
        return Ok(());
    }
    lock(&seat.work).take().map_or(Ok(()), Err)
}

fn serve(seat: &Arc<Seat>) {
    // Counted here, and not before it is certain that the thread will look for waiting work.
    lock(&THREADS).count += 1;
    let mut next = seat.wait();
    while let Some(work) = next {
        let ending = work();
        let next_command = pace::next().map(|(work, _)| work);
        let mut threads = lock(&THREADS);
        let waiting = next_command.or_else(|| threads.waiting.pop_front());
        if waiting.is_none() {
            threads.idle.push(Arc::clone(seat));
        }
        drop(threads);
        // An environment that is being torn down may refuse it; the thread has to go on.
        let _ = catch_unwind(AssertUnwindSafe(ending));
        next = waiting.or_else(|| seat.wait());
    }
}

impl Seat {
    fn give(&self, work: Work) {
        *lock(&self.work) = Some(work);
        self.given.notify_one();
    }

    /// Waits for work; `None` when there was none for so long that the thread shall end.
    fn wait(self: &Arc<Self>) -> Option<Work> {
        let mut place = lock(&self.work);
        loop {
            if place.is_some() {
                return place.take();
            }
            let (woken, waited) =
                self.given.wait_timeout(place, IDLE).unwrap_or_else(PoisonError::into_inner);
            place = woken;
            if waited.timed_out() && place.is_none() && lock(&THREADS).dismiss(self) {
                return None;
            }
        }
    }
}

impl Threads {
    /// False for a thread that is not idle any more: it is just being given something.
    fn dismiss(&mut self, seat: &Arc<Seat>) -> bool {
        let Some(at) = self.idle.iter().position(|idle| Arc::ptr_eq(idle, seat)) else {
            return false;
        };
        self.idle.remove(at);
        self.count -= 1;
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
