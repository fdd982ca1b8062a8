//! Attachments: bytes in, in parts; bytes out, without a copy.

use std::path::Path;
use std::sync::{Arc, Mutex};

use napi::bindgen_prelude::{Buffer, Uint8Array};
use napi_derive::napi;
use toolwright_core::failure::Failure;
use toolwright_core::rows;
use toolwright_thread_store::{NewAttachment, ThreadError, Upload};

use super::{NativeThreadStore, closed};
use crate::call::{self, Promised, lock};
use crate::cross::{Cross, cross};

/// An attachment without its bytes.
#[napi(object)]
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

cross! { NewThreadAttachment => NewAttachment { name, mime_type, width, height } }

#[napi]
impl NativeThreadStore {
    /// Begins to store an attachment. Gives the number of the upload.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Unfinished>")]
    pub fn begin_upload(
        &self,
        thread_id: String,
        attachment: NewThreadAttachment,
    ) -> Promised<u32> {
        let uploads = Arc::clone(&self.uploads);
        self.ask(move |store| {
            let upload = store.begin_upload(&thread_id, attachment.cross())?;
            Ok(uploads.add(Arc::new(Mutex::new(Some(upload)))))
        })
    }

    /// The bytes that come next. Another thread reads them: leave them alone until the promise settles.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn append_bytes(&self, upload: u32, bytes: Uint8Array) -> Promised<()> {
        self.with_upload(upload, move |upload| upload.append(&bytes))
    }

    /// The characters of base64 that come next.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn append_base64(&self, upload: u32, text: String) -> Promised<()> {
        self.with_upload(upload, move |upload| upload.append_base64(&text))
    }

    /// Writes the last bytes, and gives the attachment as a JSON text. It is staged now.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn finish_upload(&self, upload: u32) -> Promised<String> {
        let removed = self.uploads.remove(upload);
        call::unstoppable(move || {
            let upload = removed.and_then(|upload| lock(&upload).take());
            let finished = upload.ok_or_else(closed).and_then(Upload::finish);
            Ok::<_, Failure>(rows::text(&finished?))
        })
    }

    /// Abandons an upload, and removes what it has written.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn drop_upload(&self, upload: u32) -> Promised<()> {
        let removed = self.uploads.remove(upload);
        call::unstoppable(move || {
            drop(removed);
            Ok::<_, Failure>(())
        })
    }

    /// Removes staged attachments.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn discard_staged(&self, thread_id: String, paths: Vec<String>) -> Promised<()> {
        self.ask(move |store| store.discard_staged(&thread_id, &paths))
    }

    /// An attachment as a JSON text, if there is one.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
    pub fn get_attachment(&self, thread_id: String, path: String) -> Promised<Option<String>> {
        self.ask(move |store| Ok(store.get_attachment(&thread_id, &path)?.as_ref().map(rows::text)))
    }

    /// All attachments in the order of their commits, as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn list_attachments(&self, thread_id: String) -> Promised<Vec<String>> {
        self.ask(move |store| Ok(rows::texts(&store.list_attachments(&thread_id)?)))
    }

    /// The bytes of an attachment from `start` to before `end`.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer | Unfinished>")]
    pub fn read_attachment(
        &self,
        thread_id: String,
        path: String,
        start: f64,
        end: Option<f64>,
    ) -> Promised<Buffer> {
        let (start, end) = (start.cross(), end.cross());
        self.ask(move |store| store.read_attachment(&thread_id, &path, start, end))
    }

    /// Removes an attachment. False where there is none.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
    pub fn delete_attachment(&self, thread_id: String, path: String) -> Promised<bool> {
        self.ask(move |store| store.delete_attachment(&thread_id, &path))
    }

    /// Writes an attachment into a directory, and gives the absolute path of the file.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn export_attachment(
        &self,
        thread_id: String,
        path: String,
        directory: String,
    ) -> Promised<String> {
        self.ask(move |store| store.export_attachment(&thread_id, &path, Path::new(&directory)))
    }
}

impl NativeThreadStore {
    fn with_upload(
        &self,
        number: u32,
        act: impl FnOnce(&mut Upload) -> Result<(), ThreadError> + Send + 'static,
    ) -> Promised<()> {
        let upload = self.uploads.get(number);
        call::unstoppable(move || {
            let mut slot = upload.as_deref().map(lock);
            // Closing the store removes its uploads.
            let upload = slot.as_deref_mut().and_then(Option::as_mut);
            upload.map_or_else(|| Err(closed()), act).map_err(Failure::from)
        })
    }
}
