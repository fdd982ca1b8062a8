//! What many calls share: a journal, a store of threads or of checkpoints, a fork. It is opened before anything else,
//! and all that might wait runs on threads of its own.

use std::sync::{Arc, OnceLock};

use napi::bindgen_prelude::ToNapiValue;
use toolwright_core::failure::Unfinished;

use crate::call::{self, Promised};
use crate::cross::Cross;

/// The store, once it is open.
pub(crate) struct Opened<S>(Arc<OnceLock<Arc<S>>>);

impl<S> Default for Opened<S> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<S: Send + Sync + 'static> Opened<S> {
    pub(crate) fn get(&self) -> Option<&Arc<S>> {
        self.0.get()
    }

    /// Opens it, and gives its full path.
    pub(crate) fn open<E: Into<Unfinished>>(
        &self,
        open: impl FnOnce() -> Result<(S, String), E> + Send + 'static,
    ) -> Promised<String> {
        let slot = Arc::clone(&self.0);
        call::unstoppable(move || {
            let (store, path) = open()?;
            let _ = slot.set(Arc::new(store));
            Ok::<_, E>(path)
        })
    }

    /// Asks a question, or fails where the store is `closed`.
    pub(crate) fn ask<T, V, E>(
        &self,
        closed: fn() -> E,
        question: impl FnOnce(&Arc<S>) -> Result<V, E> + Send + 'static,
    ) -> Promised<T>
    where
        T: ToNapiValue + Send + 'static,
        V: Cross<T>,
        E: Into<Unfinished> + 'static,
    {
        let opened = self.0.get().cloned();
        call::unstoppable(move || {
            let store = opened.ok_or_else(closed);
            store.and_then(|store| question(&store))
        })
    }
}
