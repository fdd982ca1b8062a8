//! Attachments: bytes in, in parts; bytes out, without a copy.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{Buffer, Object, Uint8Array};
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_thread_store::{NewAttachment, ThreadError, Upload};

use super::{NativeThreadStore, not_open, to_outcome};
use crate::outcome::Outcome;
use crate::{job, options, rows};

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
    /// Begins to store an attachment. Gives the number of the upload.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Unfinished>")]
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
            let upload = store.begin_upload(&thread_id, new)?;
            Ok(uploads.add(Arc::new(Mutex::new(Some(upload)))))
        })
    }

    /// The bytes that come next. Another thread reads them: leave them alone until the promise settles.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn append_bytes<'env>(
        &self,
        env: &'env Env,
        upload: u32,
        bytes: Uint8Array,
    ) -> Result<Object<'env>> {
        self.with_upload(env, upload, move |upload| upload.append(&bytes))
    }

    /// The characters of base64 that come next.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn append_base64<'env>(
        &self,
        env: &'env Env,
        upload: u32,
        text: String,
    ) -> Result<Object<'env>> {
        self.with_upload(env, upload, move |upload| upload.append_base64(&text))
    }

    /// Writes the last bytes, and gives the attachment as a JSON text. It is staged now.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn finish_upload<'env>(&self, env: &'env Env, upload: u32) -> Result<Object<'env>> {
        let removed = self.uploads.remove(upload);
        job::long(env, move || {
            let upload = removed.and_then(|upload| lock(&upload).take());
            let finished = upload.ok_or_else(not_open).and_then(Upload::finish);
            to_outcome(finished.map(|attachment| rows::text(&attachment)))
        })
    }

    /// Abandons an upload, and removes what it has written.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn drop_upload<'env>(&self, env: &'env Env, upload: u32) -> Result<Object<'env>> {
        let removed = self.uploads.remove(upload);
        job::long(env, move || {
            drop(removed);
            Outcome::done(())
        })
    }

    /// Removes staged attachments.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn discard_staged<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        paths: Vec<String>,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| store.discard_staged(&thread_id, &paths))
    }

    /// An attachment as a JSON text, if there is one.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
    pub fn get_attachment<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        path: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            Ok(store.get_attachment(&thread_id, &path)?.as_ref().map(rows::text))
        })
    }

    /// All attachments in the order of their commits, as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn list_attachments<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| Ok(rows::texts(&store.list_attachments(&thread_id)?)))
    }

    /// The bytes of an attachment from `start` to before `end`.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer | Unfinished>")]
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
            store.read_attachment(&thread_id, &path, start, end).map(Buffer::from)
        })
    }

    /// Removes an attachment. False where there is none.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
    pub fn delete_attachment<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        path: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| store.delete_attachment(&thread_id, &path))
    }

    /// Writes an attachment into a directory, and gives the absolute path of the file.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn export_attachment<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        path: String,
        directory: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            let file = store.export_attachment(&thread_id, &path, Path::new(&directory))?;
            Ok(file.to_string_lossy().into_owned())
        })
    }
}

impl NativeThreadStore {
    fn with_upload<'env>(
        &self,
        env: &'env Env,
        number: u32,
        act: impl FnOnce(&mut Upload) -> std::result::Result<(), ThreadError> + Send + 'static,
    ) -> Result<Object<'env>> {
        let upload = self.uploads.get(number);
        job::long(env, move || {
            let mut slot = upload.as_deref().map(lock);
            // Closing the store removes its uploads.
            let result =
                slot.as_deref_mut().and_then(Option::as_mut).map_or_else(|| Err(not_open()), act);
            to_outcome(result)
        })
    }
}

/// An upload whose thread panicked is dropped by its handle, never used again.
fn lock(upload: &Mutex<Option<Upload>>) -> MutexGuard<'_, Option<Upload>> {
    upload.lock().unwrap_or_else(PoisonError::into_inner)
}
