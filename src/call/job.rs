//! Work off the JavaScript thread that cannot take the process down with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::AtomicBool;

use napi::bindgen_prelude::{AsyncTask, ToNapiValue, spawn};
use napi::{Env, Error, Result, Task, sys};
use toolwright_core::failure::Unfinished;
use toolwright_core::launch_limiter::{Admission, COMMAND_LAUNCHES, Launch, STARTUP_WINDOW};
use toolwright_core::thread_pool::{CALL_THREADS, Completion, run_here};
use toolwright_exec::Cancel;

use super::cancel::CancelHandle;
use super::deferred;
use super::outcome::Outcome;
use crate::cross::Cross;
use crate::running;

type Work<T> = Box<dyn FnOnce() -> Outcome<T> + Send>;

/// Short work, on the pool that the runtime keeps for its own file operations: the cheapest way off
/// the JavaScript thread.
pub struct Job<T>(Option<Work<T>>);

pub(crate) fn short<T: ToNapiValue + Send + 'static, V: Cross<T>>(
    cancel: &CancelHandle,
    work: impl FnOnce(&AtomicBool) -> std::result::Result<V, Unfinished> + Send + 'static,
) -> AsyncTask<Job<T>> {
    let cancel = cancel.flag();
    AsyncTask::new(Job(Some(Box::new(move || work(&cancel).into()))))
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
pub(crate) fn long<T: 'static, V: Cross<T>>(
    cancel: &CancelHandle,
    work: impl FnOnce(&AtomicBool) -> std::result::Result<V, Unfinished> + Send + 'static,
) -> Promised<T> {
    let cancel = cancel.flag();
    unstoppable(move || work(&cancel))
}

/// Long work that nobody cancels.
pub(crate) fn unstoppable<T: 'static, V: Cross<T>, E>(
    work: impl FnOnce() -> std::result::Result<V, E> + Send + 'static,
) -> Promised<T>
where
    E: Into<Unfinished>,
{
    Promised { work: Box::new(move || work().map_err(Into::into).into()), start }
}

/// A command, which starts when few others are starting, and ends with its environment at the latest.
pub(crate) fn command<T: 'static, V: Cross<T>>(
    env: &Env,
    cancel: &CancelHandle,
    work: impl FnOnce(&Cancel) -> std::result::Result<V, Unfinished> + Send + 'static,
) -> Result<Promised<T>> {
    let running = running::command(env, cancel.for_command())?;
    let work = move || work(running.cancel()).into();
    Ok(Promised { work: Box::new(work), start: start_command })
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

/// The promise of something that happens by itself, such as the end of a process.
pub struct Awaited<T>(Pin<Box<dyn Future<Output = T> + Send>>);

pub(crate) fn awaited<T: Send, V: Cross<T>>(
    future: impl Future<Output = V> + Send + 'static,
) -> Awaited<T> {
    Awaited(Box::pin(async { future.await.cross() }))
}

impl<T: ToNapiValue + Send + 'static> ToNapiValue for Awaited<T> {
    unsafe fn to_napi_value(env: sys::napi_env, Self(future): Self) -> Result<sys::napi_value> {
        let (deferred, promise) = deferred::promise(&Env::from_raw(env))?;
        drop(spawn(async { deferred.resolve(future.await) }));
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
fn caught<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Outcome::panicked(panic.as_ref()))
}
