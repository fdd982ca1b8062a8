//! Few commands begin at once.
//!
//! Starting a command, and a short command as a whole, takes most of a millisecond of a processor. When
//! sixty-four calls come together, as many new processes compete with the thread that serves the
//! host's events, and nothing is gained: there are no more processors than before. So few may be young
//! at a time; the others wait for one of these to end, or to have run for a while. A command that runs
//! for long holds nobody up.

use std::collections::VecDeque;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::threads::Work;

/// For how long a command is young. Most of those that only look something up have ended by then.
pub(crate) const YOUTH: Duration = Duration::from_millis(4);

/// What does the work of a call for which there is no thread at all.
pub(crate) type LastResort = fn(Work);

struct Pace {
    /// Those that have not ended, by number, and when they began.
    young: VecDeque<(u64, Instant)>,
    waiting: VecDeque<(Work, LastResort)>,
    begun: u64,
    /// Whether somebody looks after those who wait.
    is_kept: bool,
}

static PACE: Mutex<Pace> =
    Mutex::new(Pace { young: VecDeque::new(), waiting: VecDeque::new(), begun: 0, is_kept: false });

/// What is to be done with a command.
pub(crate) enum Turn {
    /// It may begin.
    Now(Work),
    /// Others begin first; [`next`] gives it out. When this is true, nobody calls that from time to time
    /// so far: the caller has to see to it.
    Later { keep: bool },
}

/// Asks for the turn of a command.
pub(crate) fn turn(work: Work, last_resort: LastResort) -> Turn {
    let mut pace = pace();
    if pace.waiting.is_empty() && pace.has_room() {
        return Turn::Now(pace.begin(work));
    }
    pace.waiting.push_back((work, last_resort));
    Turn::Later { keep: !std::mem::replace(&mut pace.is_kept, true) }
}

/// The next one whose turn it is.
pub(crate) fn next() -> Option<(Work, LastResort)> {
    let mut pace = pace();
    if !pace.has_room() {
        return None;
    }
    let (work, last_resort) = pace.waiting.pop_front()?;
    Some((pace.begin(work), last_resort))
}

/// False when nobody waits any more: whoever looked after them has no more to do.
pub(crate) fn is_needed() -> bool {
    let mut pace = pace();
    pace.is_kept = !pace.waiting.is_empty();
    pace.is_kept
}

impl Pace {
    fn has_room(&mut self) -> bool {
        while self.young.front().is_some_and(|(_, began)| began.elapsed() >= YOUTH) {
            self.young.pop_front();
        }
        self.young.len() < *MOST
    }

    fn begin(&mut self, work: Work) -> Work {
        self.begun += 1;
        let number = self.begun;
        self.young.push_back((number, Instant::now()));
        Box::new(move || {
            let ending = work();
            pace().young.retain(|(young, _)| *young != number);
            ending
        })
    }
}

/// Enough that every processor has one to run while others are being started or collected. Asked once:
/// the system answers from files.
static MOST: LazyLock<usize> =
    LazyLock::new(|| 2 * thread::available_parallelism().map_or(2, usize::from));

fn pace() -> MutexGuard<'static, Pace> {
    PACE.lock().unwrap_or_else(PoisonError::into_inner)
}
