//! Forks of directories. All of it runs on threads of its own, and comes back as JSON texts whose fields `ts/fork`
//! describes.

use std::sync::{Arc, OnceLock};

use napi_derive::napi;
use serde_json::{Map, Value};
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::forks::{self, Action, Forked, OpenInput, StoredInput};

use crate::call::{self, CancelHandle, Promised};
use crate::grants::GrantedRoot;

/// A fork of a directory. Open it before anything else.
#[napi]
#[derive(Default)]
pub struct NativeFork {
    fork: Arc<OnceLock<Forked>>,
}

#[napi]
impl NativeFork {
    /// A fork that is not open yet.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a fork, or opens one by its name. Gives what it is.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn open(&self, options: Map<String, Value>) -> Promised<String> {
        let slot = Arc::clone(&self.fork);
        call::unstoppable(move || {
            let opened = Forked::open(&OpenInput::new(&options))?;
            let facts = opened.facts();
            let _ = slot.set(opened);
            facts
        })
    }

    /// What tools work in, in place of the directory. None once it is closed.
    #[napi(catch_unwind)]
    pub fn root(&self) -> Option<GrantedRoot> {
        self.fork.get().and_then(Forked::grant).map(|grant| GrantedRoot(Arc::new(grant)))
    }

    /// Compares, applies or discards it.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn act(&self, request: Map<String, Value>, cancel: &CancelHandle) -> Promised<String> {
        let (slot, flag) = (Arc::clone(&self.fork), cancel.flag());
        call::unstoppable(move || opened(&slot)?.act(&Action::new(&request), &flag))
    }

    /// Closes it. It stays in the store.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn close(&self) -> Promised<()> {
        let slot = Arc::clone(&self.fork);
        call::unstoppable(move || opened(&slot)?.close())
    }

    /// Leaves it on this thread, for a process that exits.
    #[napi(catch_unwind)]
    pub fn close_now(&self) {
        if let Some(fork) = self.fork.get() {
            fork.leave();
        }
    }
}

fn opened(slot: &OnceLock<Forked>) -> Result<&Forked, Unfinished> {
    slot.get().ok_or_else(|| Failure::fork_is_closed().into())
}

/// Compares, applies or discards a fork by its name.
#[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
pub fn act_on_fork(request: Map<String, Value>, cancel: &CancelHandle) -> Promised<String> {
    let flag = cancel.flag();
    call::unstoppable(move || StoredInput::new(&request).run(&flag))
}

/// The forks of a store.
#[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
pub fn list_forks(request: Map<String, Value>) -> Promised<String> {
    call::unstoppable(move || {
        let [store, base] = ["store", "base"].map(|name| forks::directory(&request, name));
        forks::list(store.as_deref(), base.as_deref())
    })
}

/// Removes forks that nobody needs.
#[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
pub fn collect_forks(request: Map<String, Value>) -> Promised<String> {
    call::unstoppable(move || {
        let store = forks::directory(&request, "store");
        forks::collect(store.as_deref(), forks::max_age_ms(&request))
    })
}
