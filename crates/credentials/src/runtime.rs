//! The thread that carries the connections of all sessions.

use std::future::{Future, pending};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tokio::runtime::{Builder, Handle};

use crate::error::CredentialError;

static RUNTIME: Mutex<Option<Handle>> = Mutex::new(None);

/// Begins a task there. The thread begins with the first one, and rests while there are none.
pub(crate) fn spawn(
    task: impl Future<Output = ()> + Send + 'static,
) -> Result<(), CredentialError> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let handle = match &*runtime {
        Some(handle) => handle,
        None => runtime.insert(begin()?),
    };
    handle.spawn(task);
    Ok(())
}

fn begin() -> Result<Handle, CredentialError> {
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(CredentialError::Thread)?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("toolwright-credentials".to_owned())
        .spawn(move || runtime.block_on(pending::<()>()))
        .map_err(CredentialError::Thread)?;
    Ok(handle)
}

/// Where a task may have to wait for the system.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
