//! Work off the JavaScript thread that cannot take the process down with it.

use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use napi::Env;
use napi::Result;
use napi::Task;
use napi::bindgen_prelude::AsyncTask;
use napi::bindgen_prelude::PromiseRaw;
use napi::bindgen_prelude::ToNapiValue;
use napi::bindgen_prelude::TypeName;

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

/// How many long calls run at once; more wait for their turn.
const THREADS: usize = 2048;

/// Threads are started when there is work for them. One of the runtime's own is enough: all it does
/// is to pass on that a call has ended.
#[napi_derive::module_init]
fn start_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(THREADS)
        .thread_name("toolwright")
        .build();
    if let Ok(runtime) = runtime {
        napi::bindgen_prelude::create_custom_tokio_runtime(runtime);
    }
}

/// Long work (a search, a command), on a thread of its own: the shared pool has four.
pub(crate) fn long<T: Outcome>(
    env: &Env,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<PromiseRaw<'_, T>> {
    let work: Work<T> = Box::new(work);
    env.spawn_future(async move {
        Ok(match tokio::task::spawn_blocking(move || caught(work)).await {
            Ok(outcome) => outcome,
            Err(_) => T::failed(NativeError::from_panic(&"the work was dropped")),
        })
    })
}

/// Runs `work`; a panic in it becomes an outcome.
pub(crate) fn caught<T: Outcome>(work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| T::failed(NativeError::from_panic(panic.as_ref())))
}
