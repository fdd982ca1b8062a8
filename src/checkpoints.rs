//! Checkpoints of a directory. All of it runs on threads of its own, and comes back as JSON texts whose
//! fields `ts/journal/checkpoints` describes.

use std::path::Path;
use std::sync::Arc;

use napi::bindgen_prelude::ToNapiValue;
use napi_derive::napi;
use serde_json::{Map, Value};
use toolwright_checkpoints::{
    CheckpointError, Checkpoints, Progress, RunningCall, SqliteErrorKind,
};
use toolwright_core::checkpoints::{self, DiffInput, OpenInput, RestoreInput, report};
use toolwright_core::failure::Unfinished;

use crate::call::{CancelHandle, Promised};
use crate::cross::Cross;
use crate::store::Opened;

/// How far long work has come.
#[napi(object, object_from_js = false)]
pub struct CheckpointProgress {
    /// Files that were looked at, or restored; checkpoints that were removed.
    pub files: f64,
    /// Bytes that were read, restored or given back.
    pub bytes: f64,
}

/// A store of checkpoints. Open it before anything else.
#[napi]
#[derive(Default)]
pub struct NativeCheckpoints {
    store: Opened<Checkpoints>,
    progress: Arc<Progress>,
}

#[napi]
impl NativeCheckpoints {
    /// A store that is not open yet.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the store of a directory. Gives the full path of its file.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn open(&self, root: String, options: Map<String, Value>) -> Promised<String> {
        self.store.open(move || {
            OpenInput::new(root.into(), &options).run().map(|opened| {
                let path = opened.store().to_path_buf().cross();
                (opened, path)
            })
        })
    }

    /// Takes a checkpoint.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn take(&self, label: Option<String>, cancel: &CancelHandle) -> Promised<String> {
        let flag = cancel.flag();
        self.ask(move |store, progress| {
            checkpoints::take(store, label.as_deref(), &flag, progress).map(|it| report::taken(&it))
        })
    }

    /// A call is about to change files. Gives the number of the checkpoint before it.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Unfinished>")]
    pub fn begin_call(
        &self,
        call_id: String,
        turn: Option<String>,
        cancel: &CancelHandle,
    ) -> Promised<i64> {
        let flag = cancel.flag();
        self.ask(move |store, progress| {
            Ok(store.begin_call(&call_id, turn.as_deref(), &flag, progress)?.before)
        })
    }

    /// The call has ended. Gives what it changed.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn end_call(&self, call_id: String, turn: Option<String>, before: i64) -> Promised<String> {
        self.ask(move |store, progress| {
            let running = RunningCall { call: call_id, turn, before };
            report::end_call(store, &running, progress)
        })
    }

    /// A turn begins. Gives the number of its checkpoint.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Unfinished>")]
    pub fn begin_turn(&self, turn: String, cancel: &CancelHandle) -> Promised<i64> {
        let flag = cancel.flag();
        self.ask(move |store, progress| Ok(store.begin_turn(&turn, &flag, progress)?.id))
    }

    /// What changed from one checkpoint to another, or to the tree as it is.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn diff(
        &self,
        from: i64,
        to: Option<i64>,
        max_text_bytes: Option<f64>,
        cancel: &CancelHandle,
    ) -> Promised<String> {
        let (flag, max_text_bytes) = (cancel.flag(), max_text_bytes.cross());
        self.ask(move |store, progress| {
            let input = DiffInput { from, to, max_text_bytes };
            input.run(store, &flag, progress).map(|diff| report::diff(&diff))
        })
    }

    /// Restores a checkpoint, or undoes a call or a turn.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn restore(&self, request: Map<String, Value>, cancel: &CancelHandle) -> Promised<String> {
        let flag = cancel.flag();
        self.ask(move |store, progress| {
            let restored = RestoreInput::new(&request).run(store, &flag, progress)?;
            Ok(report::restored(&restored))
        })
    }

    /// The newest checkpoints, and the newest restorations.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn list(&self, limit: f64, before: Option<i64>) -> Promised<String> {
        self.ask(move |store, _| report::list(store, limit.cross(), before))
    }

    /// Removes checkpoints beyond the limits.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn gc(&self, limits: Map<String, Value>, cancel: &CancelHandle) -> Promised<String> {
        let flag = cancel.flag();
        self.ask(move |store, progress| {
            Ok(report::collected(&store.gc(checkpoints::limits(&limits), &flag, progress)?))
        })
    }

    /// How far the work that runs has come.
    #[napi(catch_unwind)]
    pub fn progress(&self) -> CheckpointProgress {
        CheckpointProgress {
            files: self.progress.files().cross(),
            bytes: self.progress.bytes().cross(),
        }
    }

    /// Closes the store.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn close(&self) -> Promised<()> {
        self.ask(|store, _| Ok(store.close()?))
    }

    /// Closes it on this thread, for a process that exits.
    #[napi(catch_unwind)]
    pub fn close_now(&self) {
        if let Some(store) = self.store.get() {
            let _ = store.close();
        }
    }
}

impl NativeCheckpoints {
    /// Asks on a thread of its own. `ts/core/native.ts` hands a store out only once it is open.
    fn ask<T: ToNapiValue + Send + 'static, V: Cross<T>>(
        &self,
        question: impl FnOnce(&Checkpoints, &Progress) -> Result<V, Unfinished> + Send + 'static,
    ) -> Promised<T> {
        let closed =
            || CheckpointError::Store(SqliteErrorKind::Closed.at(Path::new("checkpoints"))).into();
        let progress = Arc::clone(&self.progress);
        self.store.ask(closed, move |store| question(store, &progress))
    }
}
