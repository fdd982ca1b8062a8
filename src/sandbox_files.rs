//! Files of a sandbox, as its commands see them.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings and buffers over so")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use napi::bindgen_prelude::{AsyncTask, Buffer, Uint8Array};
use napi_derive::napi;
use toolwright_core::command::environment::{self, Variables};
use toolwright_core::command::program::ProgramSettings;
use toolwright_core::file::Publish;
use toolwright_core::sandbox_files::{NewContent, OpenedFile, SandboxFiles, Status};
use toolwright_fs::{Named, NamedKind};

use crate::bytes::Filling;
use crate::cancel::CancelHandle;
use crate::command::CommandSettings;
use crate::job::{self, Job, Promised};
use crate::options::{self, PublishOptions, number};
use crate::outcome::Outcome;

/// The settings of commands with the host's variables, for another thread.
struct View {
    settings: Arc<ProgramSettings>,
    host: Arc<Variables>,
}

impl View {
    /// Must be called on the JavaScript thread, where no other code changes the environment meanwhile.
    fn new(settings: &CommandSettings, host_env: Option<HashMap<String, String>>) -> Self {
        Self { settings: settings.shared(), host: environment::of_host(host_env, None) }
    }

    fn files(&self) -> SandboxFiles<'_> {
        SandboxFiles { settings: &self.settings, host: &self.host }
    }
}

/// A file that is open for reading.
#[napi]
pub struct SandboxFile {
    file: Arc<OpenedFile>,
    first: Option<Buffer>,
}

#[napi]
impl SandboxFile {
    /// How many bytes it had when it was opened.
    #[napi(getter, catch_unwind)]
    pub fn bytes(&self) -> f64 {
        number(self.file.bytes)
    }

    /// Its beginning, once.
    #[napi(catch_unwind)]
    pub fn take_first(&mut self) -> Option<Buffer> {
        self.first.take()
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
        let (file, cancel) = (Arc::clone(&self.file), cancel.flag());
        let from = options::bytes(from);
        job::short(move || {
            let read = file.read(from, target.len(), &cancel);
            Outcome::from(read.map(|bytes| Filling { bytes, target }))
        })
    }
}

/// Opens the regular file at `path` and reads its first `max_bytes` bytes. Nothing where only a command
/// can tell what the path names.
#[napi(catch_unwind, ts_return_type = "Promise<SandboxFile | null | Unfinished>")]
pub fn sandbox_open(
    settings: &CommandSettings,
    host_env: Option<HashMap<String, String>>,
    path: String,
    max_bytes: f64,
    cancel: &CancelHandle,
) -> Promised<Option<SandboxFile>> {
    let (view, cancel) = (View::new(settings, host_env), cancel.flag());
    job::long(move || {
        Outcome::from(view.files().open(&path).and_then(|opened| {
            let Some(file) = opened else { return Ok(None) };
            let first = file.read(0, options::size(max_bytes), &cancel)?;
            Ok(Some(SandboxFile { file: Arc::new(file), first: Some(first.into()) }))
        }))
    })
}

/// What a path names.
#[napi(object, object_from_js = false)]
pub struct SandboxStatus {
    /// A directory, or else a regular file.
    pub is_directory: bool,
    /// Its size.
    pub bytes: f64,
}

impl From<Status> for SandboxStatus {
    fn from(Status { is_directory, bytes }: Status) -> Self {
        Self { is_directory, bytes: number(bytes) }
    }
}

/// Looks at the file or directory at `path`. Nothing where only a command can tell.
#[napi(catch_unwind, ts_return_type = "Promise<SandboxStatus | null | Unfinished>")]
pub fn sandbox_stat(
    settings: &CommandSettings,
    host_env: Option<HashMap<String, String>>,
    path: String,
) -> Promised<Option<SandboxStatus>> {
    let view = View::new(settings, host_env);
    job::long(move || {
        let status = view.files().status(&path);
        Outcome::from(status.map(|status| status.map(SandboxStatus::from)))
    })
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

impl From<Named> for SandboxEntry {
    fn from(Named { name, kind }: Named) -> Self {
        let kind = match kind {
            NamedKind::File => "file",
            NamedKind::Directory => "directory",
            NamedKind::Symlink => "symlink",
            NamedKind::Other => "other",
        };
        Self { name: name.to_string_lossy().into_owned(), kind }
    }
}

/// Lists the directory at `path`. Nothing where only a command can tell.
#[napi(catch_unwind, ts_return_type = "Promise<Array<SandboxEntry> | null | Unfinished>")]
pub fn sandbox_list(
    settings: &CommandSettings,
    host_env: Option<HashMap<String, String>>,
    path: String,
    cancel: &CancelHandle,
) -> Promised<Option<Vec<SandboxEntry>>> {
    let (view, cancel) = (View::new(settings, host_env), cancel.flag());
    job::long(move || {
        let names = view.files().list(&path, &cancel);
        let entries = |names: Vec<Named>| names.into_iter().map(SandboxEntry::from).collect();
        Outcome::from(names.map(|names| names.map(entries)))
    })
}

/// Makes `content`, or what is in the file `staged` of the host, the content of the file at `path`. False
/// where only a command can tell what the path names.
#[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
pub fn sandbox_write(
    settings: &CommandSettings,
    host_env: Option<HashMap<String, String>>,
    path: String,
    content: Buffer,
    staged: Option<String>,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<bool> {
    let (view, cancel) = (View::new(settings, host_env), cancel.flag());
    // A copy, because the caller may change its bytes meanwhile.
    let content = content.to_vec();
    job::long(move || {
        let content = match &staged {
            Some(place) => NewContent::Staged(Path::new(place)),
            None => NewContent::Bytes(&content),
        };
        let written = view.files().write(&path, &content, &Publish::from(publish), &cancel);
        Outcome::from(written.map(|done| done.is_some()))
    })
}

/// Deletes the file or link at `path`. False where only a command can tell what the path names.
#[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
pub fn sandbox_delete(
    settings: &CommandSettings,
    host_env: Option<HashMap<String, String>>,
    path: String,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<bool> {
    let (view, cancel) = (View::new(settings, host_env), cancel.flag());
    job::long(move || {
        let deleted = view.files().delete(&path, &Publish::from(publish), &cancel);
        Outcome::from(deleted.map(|done| done.is_some()))
    })
}
