//! The two threads that carry the connections of all sessions: one reads and writes what commands have, the other what
//! hosts have. So of a long answer one piece is decrypted while the piece before it is encrypted.

use std::future::{Future, pending};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tokio::runtime::{Builder, Handle};

use crate::error::CredentialError;

/// Which end of a connection a thread has.
#[derive(Debug, Clone, Copy)]
enum End {
    Command,
    Host,
}

static RUNTIMES: [Mutex<Option<Handle>>; 2] = [Mutex::new(None), Mutex::new(None)];

/// Begins a task for commands. The thread begins with the first one, and rests while there are none.
pub(crate) fn spawn(
    task: impl Future<Output = ()> + Send + 'static,
) -> Result<(), CredentialError> {
    handle(End::Command)?.spawn(task);
    Ok(())
}

/// Where the ends of hosts are.
pub(crate) fn of_hosts() -> Result<Handle, CredentialError> {
    handle(End::Host)
}

fn handle(end: End) -> Result<Handle, CredentialError> {
    let mut runtime = RUNTIMES[end as usize].lock().unwrap_or_else(PoisonError::into_inner);
    match &*runtime {
        Some(handle) => Ok(handle.clone()),
        None => Ok(runtime.insert(begin(end)?).clone()),
    }
}

fn begin(end: End) -> Result<Handle, CredentialError> {
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(CredentialError::Thread)?;
    let handle = runtime.handle().clone();
    let name = match end {
        End::Command => "toolwright-credentials",
        End::Host => "toolwright-credential-hosts",
    };
    thread::Builder::new()
        .name(name.to_owned())
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
