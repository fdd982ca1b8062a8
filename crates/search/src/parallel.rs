//! The threads of a search. It begins with one, and a large tree gets more.

use std::fs::File;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::listing::{Task, WalkError};
use crate::query::Parallelism;
use crate::stop_signal::Stopped;
use crate::tree::{Tree, Visitor};
use crate::work_queue::WorkQueue;
use crate::worker_output::WorkerOutput;

/// One search must not take all the processors of a large machine. Not measured.
const MAX_THREADS: usize = 8;

/// A thread gets its next task after it has opened this many files and directories.
const OPENED_PER_TURN: usize = 16;

/// Makes the visitor of each thread.
pub(crate) trait VisitorBuilder: Sync {
    /// A task has at most this many files.
    fn max_files_per_task(&self) -> usize;

    /// Whether visitors want to know more of a file than its name.
    fn wants_metadata(&self) -> bool {
        false
    }

    fn build<'o>(&'o self, output: &'o WorkerOutput<'_>) -> Box<dyn Visitor + 'o>;

    /// Handles the file that a search was started with, in place of a directory.
    fn visit_start(&self, file: &File, output: &WorkerOutput<'_>) -> Result<(), WalkError>;
}

/// Runs all tasks. `output` is that of the first thread.
pub(crate) fn run(
    tree: &Tree<'_>,
    queue: &WorkQueue<'_>,
    output: &WorkerOutput<'_>,
    mut tasks: Vec<Task>,
    parallelism: Parallelism,
    builder: &dyn VisitorBuilder,
) -> Result<(), Stopped> {
    let mut visitor = builder.build(output);
    tasks.reverse();
    let mut stack = tasks;
    let mut children = Vec::new();
    let mut threshold = parallelism.threshold;
    while let Some(task) = stack.pop() {
        tree.run(&task, output, &mut *visitor, &mut children)?;
        if !output.flush() {
            return Ok(());
        }
        stack.extend(children.drain(..).rev());
        if output.opened() >= threshold && !stack.is_empty() {
            if let Some(helpers) = Helpers::acquire(parallelism.threads) {
                queue.extend(stack);
                run_parallel(tree, queue, output, &mut *visitor, &helpers, builder);
                return Ok(());
            }
            threshold = output.opened() + parallelism.threshold;
        }
    }
    Ok(())
}

fn run_parallel(
    tree: &Tree<'_>,
    queue: &WorkQueue<'_>,
    output: &WorkerOutput<'_>,
    visitor: &mut dyn Visitor,
    helpers: &Helpers,
    builder: &dyn VisitorBuilder,
) {
    thread::scope(|scope| {
        let help = || {
            let output = WorkerOutput::new(queue);
            work(tree, queue, &output, &mut *builder.build(&output));
        };
        let spawned: Vec<_> = (0..helpers.count)
            // If a thread cannot be spawned, the search goes on with fewer.
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, help).ok())
            .collect();
        work(tree, queue, output, visitor);
        for helper in spawned {
            if let Err(panic) = helper.join() {
                // As if it had panicked on this thread. The others have stopped.
                resume_unwind(panic);
            }
        }
    });
}

fn work(
    tree: &Tree<'_>,
    queue: &WorkQueue<'_>,
    output: &WorkerOutput<'_>,
    visitor: &mut dyn Visitor,
) {
    let _abandon = AbandonOnPanic(queue);
    let mut children = Vec::new();
    while let Some((key, task)) = queue.pop() {
        output.begin_task(key.clone());
        let before = output.opened();
        // The tasks that replace this one are next in order, so this thread goes on with them for a
        // while. A small directory is not worth a turn of its own.
        let mut stack = vec![task];
        while output.opened() - before < OPENED_PER_TURN
            && let Some(task) = stack.pop()
        {
            if let Err(stopped) = tree.run(&task, output, visitor, &mut children) {
                queue.stop(stopped, Some(key), output.take());
                return;
            }
            stack.extend(children.drain(..).rev());
        }
        queue.finish(key, output.take(), output.opened() - before, stack);
    }
}

/// Ends the search when a thread panics. Otherwise the other threads would wait for its results for
/// ever.
struct AbandonOnPanic<'a, 'b>(&'a WorkQueue<'b>);

impl Drop for AbandonOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abandon();
        }
    }
}

/// Threads that help the caller's. All searches of the process share as many as the machine has to
/// spare: ten large searches at the same time do not run faster on seventy threads.
struct Helpers {
    count: usize,
    /// Whether they are taken from the shared ones.
    shared: bool,
}

static BUSY_HELPERS: AtomicUsize = AtomicUsize::new(0);

impl Helpers {
    /// `None` if none are free.
    fn acquire(threads: Option<usize>) -> Option<Self> {
        if let Some(threads) = threads {
            return (threads > 1).then(|| Self { count: threads - 1, shared: false });
        }
        let max = available_threads() - 1;
        let busy = BUSY_HELPERS
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |busy| (busy < max).then_some(max))
            .ok()?;
        Some(Self { count: max - busy, shared: true })
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        if self.shared {
            BUSY_HELPERS.fetch_sub(self.count, Ordering::Relaxed);
        }
    }
}

/// Determined once, because it takes a look into the control groups of the process.
fn available_threads() -> usize {
    static ANSWER: OnceLock<usize> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        thread::available_parallelism().map_or(1, NonZero::get).clamp(1, MAX_THREADS)
    })
}
