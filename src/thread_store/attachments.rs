//! Attachments: bytes in, in parts; bytes out, without a copy.

use std::path::Path;
use std::sync::{Arc, Mutex};

use napi::bindgen_prelude::{Object, Uint8Array};
use napi::{Env, Result};
use napi_derive::napi;
use serde_json::json;
use toolwright_threads::{NewAttachment, ThreadError, Upload};

use super::outcome::ThreadOutcome;
use super::{NativeThreadStore, rows, unpoisoned};
use crate::{job, options};

/// An attachment without its bytes.
#[napi(object)]
#[derive(Debug)]
pub struct NewThreadAttachment {
    /// What a reader calls it.
    pub name: String,
    /// For instance `image/png`.
    pub mime_type: String,
    /// In pixels.
    pub width: Option<u32>,
    /// In pixels.
    pub height: Option<u32>,
}

#[napi]
impl NativeThreadStore {
    /// Begins to store an attachment: the number of the upload.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn begin_upload<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        attachment: NewThreadAttachment,
    ) -> Result<Object<'env>> {
        let uploads = Arc::clone(&self.uploads);
        self.ask(env, move |store| {
            let NewThreadAttachment { name, mime_type, width, height } = attachment;
            let new = NewAttachment { name, mime_type, width, height };
            ThreadOutcome::of(store.begin_upload(&thread_id, new), |upload| {
                let upload = Arc::new(Mutex::new(Some(upload)));
                ThreadOutcome::json(&json!(unpoisoned(&uploads).add(upload)))
            })
        })
    }

    /// The bytes that come next. They are read on another thread: leave them alone until the promise
    /// settles.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn append_bytes<'env>(
        &self,
        env: &'env Env,
        upload: u32,
        bytes: Uint8Array,
    ) -> Result<Object<'env>> {
        self.with_upload(env, upload, move |upload| done(upload.append(&bytes)))
    }

    /// The characters of base64 that come next.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn append_base64<'env>(
        &self,
        env: &'env Env,
        upload: u32,
        text: String,
    ) -> Result<Object<'env>> {
        self.with_upload(env, upload, move |upload| done(upload.append_base64(&text)))
    }

    /// Writes the last bytes; gives the attachment, which is staged now.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn finish_upload<'env>(&self, env: &'env Env, upload: u32) -> Result<Object<'env>> {
        let taken = unpoisoned(&self.uploads).held.remove(&upload);
        job::long(env, move || {
            let upload = taken.and_then(|upload| unpoisoned(&upload).take());
            let finished = upload.ok_or_else(no_upload).and_then(Upload::finish);
            ThreadOutcome::of(finished, |found| ThreadOutcome::json(&rows::attachment(&found)))
        })
    }

    /// Gives an upload up, and removes what it has written.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn drop_upload<'env>(&self, env: &'env Env, upload: u32) -> Result<Object<'env>> {
        let taken = unpoisoned(&self.uploads).held.remove(&upload);
        job::long(env, move || {
            drop(taken);
            ThreadOutcome::default()
        })
    }

    /// Removes what is staged and is not to be committed.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn discard_staged<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        paths: Vec<String>,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| done(store.discard_staged(&thread_id, &paths)))
    }

    /// An attachment, or `null`.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn get_attachment<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        path: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            ThreadOutcome::of(store.get_attachment(&thread_id, &path), |found| {
                ThreadOutcome::json(&json!(found.as_ref().map(rows::attachment)))
            })
        })
    }

    /// All attachments, as they were committed.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn list_attachments<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            ThreadOutcome::of(store.list_attachments(&thread_id), |found| {
                ThreadOutcome::list(&found, rows::attachment)
            })
        })
    }

    /// The bytes of an attachment from `start` to before `end`.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn read_attachment<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        path: String,
        start: f64,
        end: Option<f64>,
    ) -> Result<Object<'env>> {
        let (start, end) = (options::bytes(start), end.map(options::bytes));
        self.ask(env, move |store| {
            ThreadOutcome::of(store.read_attachment(&thread_id, &path, start, end), |bytes| {
                ThreadOutcome { bytes: Some(bytes.into()), ..ThreadOutcome::default() }
            })
        })
    }

    /// Removes an attachment; tells whether there was one.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn delete_attachment<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        path: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| ThreadOutcome::told(store.delete_attachment(&thread_id, &path)))
    }

    /// Writes an attachment into a directory; gives the absolute path of the file.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn export_attachment<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        path: String,
        directory: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            let exported = store.export_attachment(&thread_id, &path, Path::new(&directory));
            ThreadOutcome::of(exported, |file| ThreadOutcome::json(&json!(file.to_string_lossy())))
        })
    }
}

impl NativeThreadStore {
    fn with_upload<'env>(
        &self,
        env: &'env Env,
        number: u32,
        act: impl FnOnce(&mut Upload) -> ThreadOutcome + Send + 'static,
    ) -> Result<Object<'env>> {
        let found = unpoisoned(&self.uploads).held.get(&number).cloned();
        job::long(env, move || match found {
            Some(found) => match unpoisoned(&found).as_mut() {
                Some(upload) => act(upload),
                None => ThreadOutcome::of::<()>(Err(no_upload()), |()| ThreadOutcome::default()),
            },
            None => ThreadOutcome::of::<()>(Err(no_upload()), |()| ThreadOutcome::default()),
        })
    }
}

fn done(result: std::result::Result<(), ThreadError>) -> ThreadOutcome {
    ThreadOutcome::of(result, |()| ThreadOutcome::default())
}

/// The store was closed meanwhile.
fn no_upload() -> ThreadError {
    super::outcome::not_open()
}
