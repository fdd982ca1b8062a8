//! Work off the JavaScript thread that cannot take the process down with it.

use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use napi::Env;
use napi::Result;
use napi::Task;
use napi::bindgen_prelude::AsyncTask;
use napi::bindgen_prelude::Object;
use napi::bindgen_prelude::ToNapiValue;
use napi::bindgen_prelude::TypeName;
use napi::bindgen_prelude::spawn;

use crate::error::NativeError;
use crate::settle;
use crate::threads;
use crate::threads::Ending;

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
        .thread_name("toolwright")
        .build();
    if let Ok(runtime) = runtime {
        napi::bindgen_prelude::create_custom_tokio_runtime(runtime);
    }
}

/// Long calls that have been started and not ended.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// From this many on, the JavaScript thread leaves it to another to wake or start theirs.
const HANDED_OVER: usize = 4;

/// Long work (a search, a command), on a thread of its own: the shared pool has four.
///
/// A few calls are given to their threads directly, which is quickest. Many at once are handed over
/// by the runtime's own thread, since starting and waking threads would hold the event loop up. The
/// promise is settled from the thread itself: the way back needs nobody.
pub(crate) fn long<T: Outcome>(
    env: &Env,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Object<'_>> {
    let (unsettled, promise) = settle::promise::<T>(env)?;
    let work = counted(move || {
        let outcome = caught(work);
        Box::new(move || unsettled.fulfil(outcome))
    });
    // Where there is no thread to be had, the runtime's own is the one.
    start(work, |work| work()());
    Ok(promise)
}

/// The same for work whose outcome somebody else is told, by the ending that it gives back. It does
/// not unwind. Where there is no thread to be had it is dropped: the runtime's own thread serves those
/// who wait for news of it.
pub(crate) fn detached(work: impl FnOnce() -> Ending + Send + 'static) {
    start(counted(work), |work| {
        drop(work);
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    });
}

/// Work that is counted until it is done.
fn counted(work: impl FnOnce() -> Ending + Send + 'static) -> threads::Work {
    RUNNING.fetch_add(1, Ordering::Relaxed);
    Box::new(move || {
        let ending = work();
        RUNNING.fetch_sub(1, Ordering::Relaxed);
        ending
    })
}

fn start(work: threads::Work, last_resort: fn(threads::Work)) {
    // The one to be started is counted already.
    let work = if RUNNING.load(Ordering::Relaxed) > HANDED_OVER {
        work
    } else if let Err(work) = threads::run(work) {
        work
    } else {
        return;
    };
    // It is left to the runtime's own thread to find one.
    drop(spawn(async move {
        if let Err(work) = threads::run(work) {
            last_resort(work);
        }
    }));
}

/// Runs `work`; a panic in it becomes an outcome.
pub(crate) fn caught<T: Outcome>(work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| T::failed(NativeError::from_panic(panic.as_ref())))
}
