//! Work off the JavaScript thread that cannot take the process down with it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::bindgen_prelude::{AsyncTask, Object, ToNapiValue, TypeName, spawn};
use napi::{Env, Result, Task};

use crate::error::NativeError;
use crate::pace::{LastResort, Turn};
use crate::threads::Ending;
use crate::{pace, settle, threads};

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

/// One thread of the runtime's own is enough: all it does is to pass on what happens on others.
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
/// The promise is settled from the thread itself: the way back needs nobody.
pub(crate) fn long<T: Outcome>(
    env: &Env,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Object<'_>> {
    let (work, promise) = promised(env, work)?;
    start(work, do_here);
    Ok(promise)
}

/// The same for a command, which begins when few others begin.
pub(crate) fn command<T: Outcome>(
    env: &Env,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Object<'_>> {
    let (work, promise) = promised(env, work)?;
    in_turn(work, do_here);
    Ok(promise)
}

/// A command whose outcome somebody else is told, by the ending that it gives back. It does not
/// unwind. Where there is no thread to be had it is dropped: the runtime's own thread serves those who
/// wait for news of it.
pub(crate) fn detached_command(work: impl FnOnce() -> Ending + Send + 'static) {
    in_turn(Box::new(work), drop);
}

/// Work that nobody waits for, not even the end of the process.
pub(crate) fn detached(work: impl FnOnce() + Send + 'static) {
    let work = move || -> Ending {
        // Whatever it was about is tried again another time.
        let _ = catch_unwind(AssertUnwindSafe(work));
        Box::new(|| ())
    };
    start(Box::new(work), drop);
}

fn promised<T: Outcome>(
    env: &Env,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<(threads::Work, Object<'_>)> {
    let (unsettled, promise) = settle::promise::<T>(env)?;
    let work = Box::new(move || -> Ending {
        let outcome = caught(work);
        Box::new(move || unsettled.fulfil(outcome))
    });
    Ok((work, promise))
}

/// Where there is no thread to be had, the runtime's own is the one.
fn do_here(work: threads::Work) {
    work()();
}

fn in_turn(work: threads::Work, last_resort: LastResort) {
    match pace::turn(work, last_resort) {
        Turn::Now(work) => start(work, last_resort),
        Turn::Later { keep: false } => {}
        Turn::Later { keep: true } => drop(spawn(async {
            while pace::is_needed() {
                tokio::time::sleep(pace::YOUTH).await;
                while let Some((work, last_resort)) = pace::next() {
                    if let Err(work) = threads::run(work) {
                        last_resort(work);
                    }
                }
            }
        })),
    }
}

fn start(work: threads::Work, last_resort: LastResort) {
    if let Err(work) = threads::run(work) {
        drop(spawn(async move { last_resort(work) }));
    }
}

/// Runs `work`; a panic in it becomes an outcome.
pub(crate) fn caught<T: Outcome>(work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| T::failed(NativeError::from_panic(panic.as_ref())))
}
