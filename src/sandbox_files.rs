//! Files of a sandbox, as its commands see them.
#![expect(clippy::needless_pass_by_value, reason = "napi hands buffers over so")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use napi::bindgen_prelude::{AsyncTask, Buffer, Uint8Array};
use napi_derive::napi;
use toolwright_core::command::environment::{self, Variables};
use toolwright_core::command::program::ProgramSettings;
use toolwright_core::sandbox_files::{
    Answer, NewContent, OpenedFile, SandboxFiles as Files, Status,
};
use toolwright_fs::{Named, NamedKind};

use crate::bytes::Filling;
use crate::call::{self, CancelHandle, Job, Promised};
use crate::command::CommandSettings;
use crate::cross::{Cross, convert, cross, words};
use crate::files::PublishOptions;

/// The files of commands with certain settings. What only a command can tell is answered with nothing.
#[napi]
pub struct SandboxFiles {
    settings: Arc<ProgramSettings>,
    host: Arc<Variables>,
}

/// A file that is open for reading.
#[napi]
pub struct SandboxFile {
    /// How many bytes it had when it was opened.
    #[napi(readonly)]
    pub bytes: f64,
    file: Arc<OpenedFile>,
    first: Option<Vec<u8>>,
}

impl Cross<SandboxFile> for (OpenedFile, Vec<u8>) {
    fn cross(self) -> SandboxFile {
        let (file, first) = self;
        SandboxFile { bytes: file.bytes.cross(), file: Arc::new(file), first: Some(first) }
    }
}

#[napi]
impl SandboxFile {
    /// Its beginning, once.
    #[napi(catch_unwind)]
    pub fn take_first(&mut self) -> Option<Buffer> {
        self.first.take().cross()
    }

    /// Reads from `from` on into `target`, as much as it holds; fewer bytes only at the end. Gives how many.
    /// Nothing else may use the memory meanwhile.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Unfinished>")]
    pub fn read_into(
        &self,
        target: Uint8Array,
        from: f64,
        cancel: &CancelHandle,
    ) -> AsyncTask<Job<Filling>> {
        let file = Arc::clone(&self.file);
        call::short(cancel, move |cancel| {
            let bytes = file.read(from.cross(), target.len(), cancel)?;
            Ok(Filling { bytes, target })
        })
    }
}

/// What a path names.
#[napi(object, object_from_js = false)]
pub struct SandboxStatus {
    /// A directory, or else a regular file.
    pub is_directory: bool,
    /// Its size.
    pub bytes: f64,
}

/// A name in a directory.
#[napi(object, object_from_js = false)]
pub struct SandboxEntry {
    /// The name; what is not UTF-8 in it as U+FFFD.
    pub name: String,
    /// What it is.
    #[napi(js_name = "type", ts_type = "'file' | 'directory' | 'symlink' | 'other'")]
    pub kind: &'static str,
}

words!(NamedKind);
convert! { () => bool: |_done| true; }
cross! {
    Status => SandboxStatus { is_directory, bytes }
    Named => SandboxEntry { name, kind }
}

impl SandboxFiles {
    fn long<T: 'static, V: Cross<T>>(
        &self,
        cancel: &CancelHandle,
        work: impl FnOnce(Files<'_>, &AtomicBool) -> Answer<V> + Send + 'static,
    ) -> Promised<Option<T>> {
        let (settings, host) = (Arc::clone(&self.settings), Arc::clone(&self.host));
        call::long(cancel, move |cancel| work(Files { settings: &settings, host: &host }, cancel))
    }
}

#[napi]
impl SandboxFiles {
    /// As the variables of the host are now.
    #[napi(constructor, catch_unwind)]
    pub fn new(settings: &CommandSettings, host_env: Option<HashMap<String, String>>) -> Self {
        Self { settings: settings.shared(), host: environment::of_host(host_env, None) }
    }

    /// Opens the regular file at `path` and reads its first `max_bytes` bytes.
    #[napi(catch_unwind, ts_return_type = "Promise<SandboxFile | null | Unfinished>")]
    pub fn open(
        &self,
        path: String,
        max_bytes: f64,
        cancel: &CancelHandle,
    ) -> Promised<Option<SandboxFile>> {
        self.long(cancel, move |files, cancel| files.begin(&path, max_bytes.cross(), cancel))
    }

    /// Looks at the file or directory at `path`.
    #[napi(catch_unwind, ts_return_type = "Promise<SandboxStatus | null | Unfinished>")]
    pub fn stat(&self, path: String, cancel: &CancelHandle) -> Promised<Option<SandboxStatus>> {
        self.long(cancel, move |files, _| files.status(&path))
    }

    /// Lists the directory at `path`.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<SandboxEntry> | null | Unfinished>")]
    pub fn list(&self, path: String, cancel: &CancelHandle) -> Promised<Option<Vec<SandboxEntry>>> {
        self.long(cancel, move |files, cancel| files.list(&path, cancel))
    }

    /// Makes `content`, or what is in the file `staged` of the host, the content of the file at `path`. True
    /// when it is done.
    #[napi(catch_unwind, ts_return_type = "Promise<true | null | Unfinished>")]
    pub fn write(
        &self,
        path: String,
        content: Buffer,
        staged: Option<String>,
        publish: PublishOptions,
        cancel: &CancelHandle,
    ) -> Promised<Option<bool>> {
        // A copy, because the caller may change its bytes meanwhile.
        let content = content.to_vec();
        self.long(cancel, move |files, cancel| {
            let content = match &staged {
                Some(place) => NewContent::Staged(place.as_ref()),
                None => NewContent::Bytes(&content),
            };
            files.write(&path, &content, &publish.cross(), cancel)
        })
    }

    /// Deletes the file or link at `path`. True when it is done.
    #[napi(catch_unwind, ts_return_type = "Promise<true | null | Unfinished>")]
    pub fn delete(
        &self,
        path: String,
        publish: PublishOptions,
        cancel: &CancelHandle,
    ) -> Promised<Option<bool>> {
        self.long(cancel, move |files, cancel| files.delete(&path, &publish.cross(), cancel))
    }
}
