//! Work off the JavaScript thread that cannot take the process down with it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::bindgen_prelude::{AsyncTask, Object, ToNapiValue, TypeName, spawn};
use napi::{Env, Result, Task};
use toolwright_core::launch_limiter::{Admission, COMMAND_LAUNCHES, Launch, STARTUP_WINDOW};
use toolwright_core::thread_pool::{self, CALL_THREADS, Completion, run_here};

use crate::deferred;
use crate::error::NativeError;

/// An outcome object: it can say that the work panicked.
pub(crate) trait Outcome: ToNapiValue + TypeName + Send + 'static {
    fn failed(error: NativeError) -> Self;
}

type Work<T> = Box<dyn FnOnce() -> T + Send>;

/// Short work, on the pool that the runtime keeps for its own file operations: the cheapest way off
/// the JavaScript thread.
pub(crate) struct Job<T>(Option<Work<T>>);

pub(crate) fn short<T: Outcome>(work: impl FnOnce() -> T + Send + 'static) -> AsyncTask<Job<T>> {
    AsyncTask::new(Job(Some(Box::new(work))))
}

impl<T: Outcome> Task for Job<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> Result<T> {
        // A panic that left `compute` would abort the process.
        Ok(match self.0.take() {
            Some(work) => caught(work),
            None => T::failed(NativeError::from_panic(&"the work was started twice")),
        })
    }

    fn resolve(&mut self, _env: Env, output: T) -> Result<T> {
        Ok(output)
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

/// Long work (a search, a change of a file), on a thread of its own: the shared pool has four.
///
/// The thread itself settles the promise, so the way back waits for no other thread.
pub(crate) fn long<T: Outcome>(
    env: &Env,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Object<'_>> {
    let (work, promise) = promised(env, work)?;
    start(Launch { work, fallback: run_here });
    Ok(promise)
}

/// A command, which starts when few others are starting.
pub(crate) fn command<T: Outcome>(
    env: &Env,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Object<'_>> {
    let (work, promise) = promised(env, work)?;
    start_command(Launch { work, fallback: run_here });
    Ok(promise)
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

fn promised<T: Outcome>(
    env: &Env,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<(thread_pool::Work, Object<'_>)> {
    let (deferred, promise) = deferred::promise::<T>(env)?;
    let work = Box::new(move || {
        let outcome = caught(work);
        Completion::new(move || deferred.resolve(outcome))
    });
    Ok((work, promise))
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
pub(crate) fn caught<T: Outcome>(work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| T::failed(NativeError::from_panic(panic.as_ref())))
}
