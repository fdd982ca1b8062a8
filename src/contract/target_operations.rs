//! What is done with an opened target: reading a part of it, writing it, replacing a text in it.

use napi::bindgen_prelude::{AsyncTask, Object};
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::edit::{Change, EditInput};
use toolwright_core::file::{File, Publish};
use toolwright_core::read::ReadRangeInput;
use toolwright_core::write::WriteInput;
use toolwright_fs::Range;

use super::target::OpenedTarget;
use crate::cancel::CancelHandle;
use crate::files::{EditedFile, WrittenFile};
use crate::job::Job;
use crate::options::PublishOptions;
use crate::outcome::Outcome;
use crate::text::{CachedText, FileText, GivenText, cached_text};
use crate::{job, options};

/// A part of a file.
#[napi(object, object_from_js = false)]
pub struct FileRange {
    /// Its text. Bytes that are no UTF-8 are U+FFFD.
    #[napi(ts_type = "string | Buffer")]
    pub text: FileText,
    /// Where it begins in the file: at the wanted byte, or at the beginning of its character.
    pub offset: f64,
    /// Where the rest begins; none at the end of the file.
    pub next_offset: Option<f64>,
    /// The size of the file.
    pub file_bytes: f64,
    /// Some bytes are no UTF-8.
    pub lossy: bool,
}

impl From<Range> for FileRange {
    #[expect(clippy::cast_precision_loss, reason = "no file has 2^53 bytes")]
    fn from(range: Range) -> Self {
        Self {
            text: range.bytes.into(),
            offset: range.offset as f64,
            next_offset: range.next_offset.map(|next| next as f64),
            file_bytes: range.file_bytes as f64,
            lossy: range.is_lossy,
        }
    }
}

/// A text to be replaced by another, literally.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct ContractEdit {
    /// What to look for.
    #[napi(ts_type = "string")]
    pub old_string: GivenText,
    /// What to put in its place.
    #[napi(ts_type = "string")]
    pub new_string: GivenText,
    /// Wherever it is, and not only where it is the only one.
    pub replace_all: bool,
}

#[expect(private_interfaces, reason = "napi alone sees the task")]
#[napi]
impl OpenedTarget {
    /// Reads a part of the file that was opened.
    #[napi(catch_unwind, ts_return_type = "Promise<FileRange | Unfinished>")]
    pub fn read_range(
        &self,
        offset: f64,
        limit_bytes: f64,
        cancel: &CancelHandle,
    ) -> AsyncTask<Job<Outcome<FileRange>>> {
        let (target, cancel) = (self.target(), cancel.flag());
        job::short(move || {
            let (offset, limit_bytes) = (options::bytes(offset), options::bytes(limit_bytes));
            let read = target.map_err(Into::into).and_then(|target| {
                ReadRangeInput { target: &target, offset, limit_bytes }.run(&cancel)
            });
            read.map(FileRange::from).into()
        })
    }

    /// All of the file, if it is text of at most `limit_bytes` and nothing has to be waited for; else
    /// nothing, and `readRange` says why.
    #[napi(catch_unwind, ts_return_type = "string | Buffer | null")]
    pub fn try_read_cached<'env>(
        &self,
        env: &'env Env,
        limit_bytes: f64,
    ) -> Result<Option<CachedText<'env>>> {
        let Ok(target) = self.target() else { return Ok(None) };
        let text = target.file.try_read_cached(options::bytes(limit_bytes));
        text.map(|text| cached_text(env, &text)).transpose()
    }

    /// Makes `content` the text of the file.
    #[napi(catch_unwind, ts_return_type = "Promise<WrittenFile | Unfinished>")]
    pub fn write<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "string")] content: GivenText,
        limit_bytes: f64,
        publish: PublishOptions,
        cancel: &CancelHandle,
    ) -> Result<Object<'env>> {
        let (target, cancel) = (self.target(), cancel.flag());
        job::long(env, move || {
            let written = target.and_then(|target| Ok((target, content.encoded()?)));
            Outcome::from(written.map_err(Into::into).and_then(|(target, content)| {
                let file = File::Opened(&target);
                let (limit_bytes, publish) = (options::bytes(limit_bytes), &Publish::from(publish));
                let input = WriteInput { file, content: &content, limit_bytes, publish };
                input.run(&cancel).map(WrittenFile::from)
            }))
        })
    }

    /// Replaces a text in the file by another.
    #[napi(catch_unwind, ts_return_type = "Promise<EditedFile | Unfinished>")]
    pub fn edit<'env>(
        &self,
        env: &'env Env,
        edit: ContractEdit,
        limit_bytes: f64,
        publish: PublishOptions,
        cancel: &CancelHandle,
    ) -> Result<Object<'env>> {
        let (target, cancel) = (self.target(), cancel.flag());
        job::long(env, move || {
            let ContractEdit { old_string, new_string, replace_all: all } = edit;
            let texts = target
                .and_then(|target| Ok((target, old_string.encoded()?, new_string.encoded()?)));
            Outcome::from(texts.map_err(Into::into).and_then(|(target, old, new)| {
                let file = File::Opened(&target);
                let change = Change::Replacement { old: &old, new: &new, all };
                let (limit_bytes, publish) = (options::bytes(limit_bytes), &Publish::from(publish));
                EditInput { file, change, limit_bytes, publish }.run(&cancel).map(EditedFile::from)
            }))
        })
    }
}
