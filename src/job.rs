//! Work off the JavaScript thread that cannot take the process down with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{AsyncTask, ToNapiValue, spawn};
use napi::{Env, Error, Result, Task, sys};
use toolwright_core::launch_limiter::{Admission, COMMAND_LAUNCHES, Launch, STARTUP_WINDOW};
use toolwright_core::thread_pool::{CALL_THREADS, Completion, run_here};

use crate::deferred;
use crate::outcome::Outcome;

type Work<T> = Box<dyn FnOnce() -> Outcome<T> + Send>;

/// Short work, on the pool that the runtime keeps for its own file operations: the cheapest way off
/// the JavaScript thread.
pub struct Job<T>(Option<Work<T>>);

pub(crate) fn short<T: ToNapiValue + Send + 'static>(
    work: impl FnOnce() -> Outcome<T> + Send + 'static,
) -> AsyncTask<Job<T>> {
    AsyncTask::new(Job(Some(Box::new(work))))
}

impl<T: ToNapiValue + Send + 'static> Task for Job<T> {
    type Output = Outcome<T>;
    type JsValue = Outcome<T>;

    fn compute(&mut self) -> Result<Outcome<T>> {
        let work = self.0.take().ok_or_else(|| Error::from_reason("the work was started twice"))?;
        // A panic that left `compute` would abort the process.
        Ok(caught(work))
    }

    fn resolve(&mut self, _env: Env, outcome: Outcome<T>) -> Result<Outcome<T>> {
        Ok(outcome)
    }
}

/// One thread is enough for the runtime: it only passes on what happens on others.
#[napi_derive::module_init]
fn start_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .thread_name("toolwright")
        .build();
    if let Ok(runtime) = runtime {
        napi::bindgen_prelude::create_custom_tokio_runtime(runtime);
    }
}

/// The promise of a call. The work starts when JavaScript gets the promise, and the thread that does it
/// settles the promise, so the way back waits for no other thread.
pub struct Promised<T> {
    work: Work<T>,
    start: fn(Launch),
}

/// Long work (a search, a change of a file), on a thread of its own: the shared pool has four.
pub(crate) fn long<T>(work: impl FnOnce() -> Outcome<T> + Send + 'static) -> Promised<T> {
    Promised { work: Box::new(work), start }
}

/// A command, which starts when few others are starting.
pub(crate) fn command<T>(work: impl FnOnce() -> Outcome<T> + Send + 'static) -> Promised<T> {
    Promised { work: Box::new(work), start: start_command }
}

impl<T: ToNapiValue + 'static> ToNapiValue for Promised<T> {
    unsafe fn to_napi_value(env: sys::napi_env, promised: Self) -> Result<sys::napi_value> {
        let Self { work, start } = promised;
        let (deferred, promise) = deferred::promise(&Env::from_raw(env))?;
        let work = Box::new(move || {
            let outcome = caught(work);
            Completion::new(move || deferred.resolve(outcome))
        });
        start(Launch { work, fallback: run_here });
        Ok(promise)
    }
}

/// A command that reports its outcome by its completion. It must not unwind. Where no thread can be had
/// it is dropped: the runtime's thread delivers the events of other commands.
pub(crate) fn detached_command(work: impl FnOnce() -> Completion + Send + 'static) {
    start_command(Launch { work: Box::new(work), fallback: drop });
}

/// Work that no caller waits for, and neither does the end of the process.
pub(crate) fn detached(work: impl FnOnce() + Send + 'static) {
    let work = Box::new(move || {
        // A panic only ends this attempt.
        let _ = catch_unwind(AssertUnwindSafe(work));
        Completion::new(|| ())
    });
    start(Launch { work, fallback: drop });
}

fn start_command(launch: Launch) {
    match COMMAND_LAUNCHES.admit(launch) {
        Admission::Admitted(launch) => start(launch),
        Admission::Queued { needs_timer: false } => {}
        Admission::Queued { needs_timer: true } => drop(spawn(async {
            while COMMAND_LAUNCHES.keeps_timer() {
                tokio::time::sleep(STARTUP_WINDOW).await;
                while let Some(Launch { work, fallback }) = COMMAND_LAUNCHES.next() {
                    if let Err(work) = CALL_THREADS.run(work) {
                        fallback(work);
                    }
                }
            }
        })),
    }
}

/// Without a thread for it the work goes to the runtime's, since this one is JavaScript's.
fn start(Launch { work, fallback }: Launch) {
    if let Err(work) = CALL_THREADS.run(work) {
        drop(spawn(async move { fallback(work) }));
    }
}

/// Runs `work`; a panic in it becomes an outcome.
pub(crate) fn caught<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Outcome::panicked(panic.as_ref()))
}

/// Locks. Every change under a lock of the binding is a single call, so a panic leaves the value whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
