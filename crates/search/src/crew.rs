//! The threads of a search. It begins with one; a tree that turns out to be large gets more.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::board::Board;
use crate::desk::Desk;
use crate::tree::{Task, Tree, Visit};

/// A bound for machines with many processors: a search must not take all of them. Not measured.
const MOST_THREADS: usize = 8;

/// A thread takes the next task after so many files and directories.
const WORK_PER_TURN: usize = 16;

/// How a search is spread.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// So many files and directories are opened by one thread before there are more.
    pub switch: usize,
    /// The threads there are then, this one included. `None`: as many as the machine has to spare.
    pub threads: Option<usize>,
}

impl Spread {
    /// As measured: see `docs/decisions/2026-11-20-grep-spreads-over-threads.md`.
    pub const MEASURED: Self = Self { switch: 256, threads: None };
}

/// What is done with the files.
pub(crate) trait Errand: Sync {
    /// Does it for one thread.
    fn visit<'d>(&'d self, desk: &'d Desk<'_>) -> Box<dyn Visit + 'd>;
}

/// Does all tasks. What was found, and how it ended, is on the board afterwards.
pub(crate) fn drive(
    tree: &Tree<'_>,
    board: &Board<'_>,
    tasks: Vec<Task>,
    spread: Spread,
    errand: &dyn Errand,
) {
    let desk = Desk::new(board);
    let mut visit = errand.visit(&desk);
    let mut stack = tasks;
    stack.reverse();
    let mut children = Vec::new();
    let mut switch = spread.switch;
    while let Some(task) = stack.pop() {
        if let Err(stopped) = tree.run(&task, &desk, &mut *visit, &mut children) {
            board.stop(stopped, None, desk.take());
            return;
        }
        if !desk.flush() {
            return;
        }
        stack.extend(children.drain(..).rev());
        if desk.work() >= switch && !stack.is_empty() {
            if let Some(helpers) = Helpers::claim(spread.threads) {
                board.load(stack);
                together(tree, board, &helpers, errand, &desk, &mut *visit);
                return;
            }
            switch = desk.work() + spread.switch;
        }
    }
}

fn together(
    tree: &Tree<'_>,
    board: &Board<'_>,
    helpers: &Helpers,
    errand: &dyn Errand,
    desk: &Desk<'_>,
    visit: &mut dyn Visit,
) {
    thread::scope(|scope| {
        let help = || {
            let desk = Desk::new(board);
            let mut visit = errand.visit(&desk);
            work(tree, board, &desk, &mut *visit);
        };
        let crew: Vec<_> = (0..helpers.count)
            // With fewer threads than there were to be it takes longer, that is all.
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, help).ok())
            .collect();
        work(tree, board, desk, visit);
        for helper in crew {
            if let Err(panic) = helper.join() {
                // The same as if it had happened on this thread. The others have stopped.
                resume_unwind(panic);
            }
        }
    });
}

fn work(tree: &Tree<'_>, board: &Board<'_>, desk: &Desk<'_>, visit: &mut dyn Visit) {
    let _abandon = AbandonOnPanic(board);
    let mut children = Vec::new();
    while let Some((key, task)) = board.claim() {
        desk.turn_to(Some(key.clone()));
        let before = desk.work();
        // What is next in order after the task is what it has brought forth, so that is gone on
        // with for a while: small directories are not worth a turn each.
        let mut stack = vec![task];
        while desk.work() - before < WORK_PER_TURN
            && let Some(task) = stack.pop()
        {
            if let Err(stopped) = tree.run(&task, desk, visit, &mut children) {
                board.stop(stopped, Some(key), desk.take());
                return;
            }
            stack.extend(children.drain(..).rev());
        }
        board.finish(key, desk.take(), desk.work() - before, stack);
    }
}

/// The other threads would wait for ever for what a thread in a panic had in hand.
struct AbandonOnPanic<'a, 'b>(&'a Board<'b>);

impl Drop for AbandonOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abandon();
        }
    }
}

/// The threads that help the callers of this process, of which there are no more than the machine
/// has to spare: ten large searches at once do not run faster on seventy threads.
struct Helpers {
    count: usize,
    counted: bool,
}

static HELPING: AtomicUsize = AtomicUsize::new(0);

impl Helpers {
    /// `None` when there are none to be had.
    fn claim(threads: Option<usize>) -> Option<Self> {
        if let Some(threads) = threads {
            return (threads > 1).then(|| Self { count: threads - 1, counted: false });
        }
        let most = parallelism() - 1;
        let busy = HELPING
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |busy| {
                (busy < most).then_some(most)
            })
            .ok()?;
        Some(Self { count: most - busy, counted: true })
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        if self.counted {
            HELPING.fetch_sub(self.count, Ordering::Relaxed);
        }
    }
}

/// Asked once: the answer takes a look into the control groups of the process.
fn parallelism() -> usize {
    static ANSWER: OnceLock<usize> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        thread::available_parallelism().map_or(1, NonZero::get).clamp(1, MOST_THREADS)
    })
}
