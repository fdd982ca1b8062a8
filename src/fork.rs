//! Forks of directories. All of it runs on threads of its own, and comes back as JSON texts whose fields `ts/fork`
//! describes.

use std::sync::Arc;

use napi_derive::napi;
use serde_json::{Map, Value};
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::forks::{self, Action, Forked, OpenInput, StoredInput};

use crate::call::{self, CancelHandle, Promised};
use crate::grants::GrantedRoot;
use crate::store::Opened;

/// A fork of a directory. Open it before anything else.
#[napi]
#[derive(Default)]
pub struct NativeFork {
    fork: Opened<Forked>,
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
        self.fork.open(move || {
            let opened = Forked::open(&OpenInput::new(&options))?;
            let facts = opened.facts()?;
            Ok::<_, Unfinished>((opened, facts))
        })
    }

    /// What tools work in, in place of the directory. None once it is closed.
    #[napi(catch_unwind)]
    pub fn root(&self) -> Option<GrantedRoot> {
        self.fork.get().and_then(|fork| fork.grant()).map(|grant| GrantedRoot(Arc::new(grant)))
    }

    /// Compares, applies or discards it.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn act(&self, request: Map<String, Value>, cancel: &CancelHandle) -> Promised<String> {
        let flag = cancel.flag();
        self.fork.ask(closed, move |fork| fork.act(&Action::new(&request), &flag))
    }

    /// Closes it. It stays in the store.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn close(&self) -> Promised<()> {
        self.fork.ask(closed, |fork| fork.close())
    }

    /// Leaves it on this thread, for a process that exits.
    #[napi(catch_unwind)]
    pub fn close_now(&self) {
        if let Some(fork) = self.fork.get() {
            fork.leave();
        }
    }
}

fn closed() -> Unfinished {
    Failure::fork_is_closed().into()
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
