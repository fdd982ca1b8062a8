//! What is done with an opened target: reading a part of it, writing it, replacing a text in it.

use std::sync::atomic::AtomicBool;

use napi::bindgen_prelude::{AsyncTask, Buffer, Either, Object};
use napi::{Env, JsString, Result};
use napi_derive::napi;
use toolwright_core::voice;
use toolwright_fs::{Durability, FsError, OpenTarget, UpdateError, WriteOptions};

use super::target::OpenedTarget;
use super::{Unfinished, file_error};
use crate::cancel::CancelHandle;
use crate::error::NativeError;
use crate::job::{Job, Outcome};
use crate::text::GivenText;
use crate::write::sha256_hex;
use crate::{job, options};

/// How a changed file is published.
#[napi(object)]
#[derive(Debug)]
pub struct ContractPublish {
    /// Wait until file and directory are on the disk.
    pub fsync: bool,
    /// Overwrite in place where the file cannot be replaced atomically.
    pub allow_in_place: bool,
    /// How long to wait for other calls on the same file.
    pub wait_ms: f64,
}

impl From<&ContractPublish> for WriteOptions {
    fn from(options: &ContractPublish) -> Self {
        Self {
            durability: if options.fsync { Durability::Fsync } else { Durability::Process },
            allow_in_place: options.allow_in_place,
            wait: options::milliseconds(options.wait_ms),
            protected: Vec::new(), // looked at when it was opened
        }
    }
}

/// A part of a file.
#[napi(object)]
#[derive(Default)]
pub struct RangeOutcome {
    /// The text, when all of it is ASCII.
    pub text: Option<String>,
    /// UTF-8 otherwise.
    pub bytes: Option<Buffer>,
    /// Where it begins in the file: at the wanted byte, or at the beginning of its character.
    pub offset: f64,
    /// Where the rest begins; none at the end of the file.
    pub next_offset: Option<f64>,
    /// The size of the file.
    pub file_bytes: f64,
    /// Bytes that are no UTF-8 are shown as U+FFFD.
    pub lossy: bool,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Unfinished for RangeOutcome {
    fn unfinished(error: Option<NativeError>) -> Self {
        Self { cancelled: error.is_none(), error, ..Self::default() }
    }
}

/// What became of a write.
#[napi(object)]
#[derive(Debug, Default)]
pub struct ContractWriteOutcome {
    /// There was no such file before.
    pub created: Option<bool>,
    /// How long the file is now.
    pub bytes: Option<f64>,
    /// True when the call was cancelled before anything changed.
    pub cancelled: bool,
    /// What went wrong; nothing was changed.
    pub error: Option<NativeError>,
}

impl Unfinished for ContractWriteOutcome {
    fn unfinished(error: Option<NativeError>) -> Self {
        Self { cancelled: error.is_none(), error, ..Self::default() }
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

/// What became of an edit.
#[napi(object)]
#[derive(Debug, Default)]
pub struct ContractEditOutcome {
    /// How many places were replaced.
    pub replacements: Option<u32>,
    /// The line of the first one, from one.
    pub line: Option<u32>,
    /// True when the call was cancelled before anything changed.
    pub cancelled: bool,
    /// What went wrong; nothing was changed.
    pub error: Option<NativeError>,
}

impl Unfinished for ContractEditOutcome {
    fn unfinished(error: Option<NativeError>) -> Self {
        Self { cancelled: error.is_none(), error, ..Self::default() }
    }
}

#[expect(private_interfaces, reason = "the task is napi's to see, and nobody else's")]
#[napi]
impl OpenedTarget {
    /// Reads a part of the file that was opened.
    #[napi(catch_unwind, ts_return_type = "Promise<RangeOutcome>")]
    pub fn read_range(
        &self,
        offset: f64,
        limit_bytes: f64,
        cancel: &CancelHandle,
    ) -> AsyncTask<Job<RangeOutcome>> {
        let (opened, cancel) = (self.target(), cancel.flag());
        job::short(move || match opened {
            Ok(opened) => read_range(&opened.file, offset, limit_bytes, &cancel),
            Err(closed) => RangeOutcome::failed(closed),
        })
    }

    /// All of the file, if it is text of at most `limit_bytes` and nothing has to be waited for; else
    /// nothing, and `readRange` says why.
    #[napi(catch_unwind)]
    pub fn try_read_cached<'env>(
        &self,
        env: &'env Env,
        limit_bytes: f64,
    ) -> Result<Option<Either<JsString<'env>, Buffer>>> {
        let opened = self.target().ok();
        let limit = options::bytes(limit_bytes);
        let text = opened.and_then(|opened| opened.file.try_read_cached(limit));
        text.map(|text| {
            if text.is_ascii() {
                env.create_string_latin1(&text).map(Either::A) // ASCII is Latin-1, too
            } else {
                Ok(Either::B(text.into()))
            }
        })
        .transpose()
    }

    /// Makes `content` the text of the file.
    #[napi(catch_unwind, ts_return_type = "Promise<ContractWriteOutcome>")]
    pub fn write<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "string")] content: GivenText,
        limit_bytes: f64,
        publish: ContractPublish,
        cancel: &CancelHandle,
    ) -> Result<Object<'env>> {
        let (opened, cancel) = (self.target(), cancel.flag());
        job::long(env, move || match opened {
            Ok(opened) => match content.encoded() {
                Ok(content) => write(&opened.file, &content, limit_bytes, &publish, &cancel),
                Err(error) => ContractWriteOutcome::failed(error),
            },
            Err(closed) => ContractWriteOutcome::failed(closed),
        })
    }

    /// Replaces a text in the file by another.
    #[napi(catch_unwind, ts_return_type = "Promise<ContractEditOutcome>")]
    pub fn edit<'env>(
        &self,
        env: &'env Env,
        edit: ContractEdit,
        limit_bytes: f64,
        publish: ContractPublish,
        cancel: &CancelHandle,
    ) -> Result<Object<'env>> {
        let (opened, cancel) = (self.target(), cancel.flag());
        job::long(env, move || match opened {
            Ok(opened) => replace(&opened.file, edit, limit_bytes, &publish, &cancel),
            Err(closed) => ContractEditOutcome::failed(closed),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "no file is that long")]
fn read_range(
    held: &OpenTarget,
    offset: f64,
    limit_bytes: f64,
    cancel: &AtomicBool,
) -> RangeOutcome {
    let range = match held.read_range(options::bytes(offset), options::bytes(limit_bytes), cancel) {
        Ok(range) => range,
        Err(error) => return RangeOutcome::unfinished(file_error::told(&error)),
    };
    if range.is_binary {
        let native = crate::error::binary_file(held.display_path(), range.file_bytes);
        return RangeOutcome::failed(native);
    }
    let mut outcome = RangeOutcome {
        offset: range.offset as f64,
        next_offset: range.next_offset.map(|next| next as f64),
        file_bytes: range.file_bytes as f64,
        lossy: range.is_lossy,
        ..RangeOutcome::default()
    };
    if range.is_lossy {
        outcome.bytes =
            Some(String::from_utf8_lossy(&range.bytes).into_owned().into_bytes().into());
    } else if range.bytes.is_ascii() {
        outcome.text = String::from_utf8(range.bytes).ok();
    } else {
        outcome.bytes = Some(range.bytes.into());
    }
    outcome
}

#[expect(clippy::cast_precision_loss, reason = "no text is that long")]
fn write(
    held: &OpenTarget,
    content: &str,
    limit_bytes: f64,
    publish: &ContractPublish,
    cancel: &AtomicBool,
) -> ContractWriteOutcome {
    let limit = options::bytes(limit_bytes);
    if content.len() as u64 > limit {
        return ContractWriteOutcome::failed(too_large("Content", content, limit));
    }
    match held.write(content.as_bytes(), &WriteOptions::from(publish), cancel) {
        Ok(created) => ContractWriteOutcome {
            created: Some(created),
            bytes: Some(content.len() as f64),
            ..ContractWriteOutcome::default()
        },
        Err(error) => ContractWriteOutcome::unfinished(file_error::told(&error)),
    }
}

fn too_large(what: &str, text: &str, limit: u64) -> NativeError {
    let bytes = text.len();
    let summary = format!("{what} too large ({bytes} bytes)");
    let place = format!("{summary}: limit {limit} bytes");
    let hint = "Write the file in parts: a first part with write, the rest with edit.";
    NativeError::new("TOOL_CONTENT_TOO_LARGE", summary, &place, hint)
        .with("contentBytes", bytes)
        .with("contentHash", sha256_hex(text))
        .with("limitBytes", limit)
}

fn replace(
    held: &OpenTarget,
    edit: ContractEdit,
    limit_bytes: f64,
    publish: &ContractPublish,
    cancel: &AtomicBool,
) -> ContractEditOutcome {
    let limit = options::bytes(limit_bytes);
    let (old_string, new_string) = match (edit.old_string.encoded(), edit.new_string.encoded()) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(error), _) | (_, Err(error)) => return ContractEditOutcome::failed(error),
    };
    for (what, text) in [("old_string", &old_string), ("new_string", &new_string)] {
        if text.len() as u64 > limit {
            return ContractEditOutcome::failed(too_large(what, text, limit));
        }
    }
    let mut done = (0, 0);
    let updated = held.update(limit, &WriteOptions::from(publish), cancel, |old| {
        let replaced =
            toolwright_patch::replace(old, &old_string, &new_string, edit.replace_all, limit)?;
        done = (replaced.replacements, replaced.line);
        Ok::<_, toolwright_patch::ReplaceError>(replaced.bytes)
    });
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    match updated {
        Ok(_) => ContractEditOutcome {
            replacements: Some(number(done.0)),
            line: Some(number(done.1)),
            ..ContractEditOutcome::default()
        },
        Err(UpdateError::Fs(error)) => ContractEditOutcome::unfinished(file_error::told(&error)),
        Err(UpdateError::Refused(error)) => not_made(held.display_path(), &error),
    }
}

/// A result that cannot be made is told as a file that cannot be held.
fn not_made(path: &str, error: &toolwright_patch::ReplaceError) -> ContractEditOutcome {
    use toolwright_patch::ReplaceError;
    let path = path.to_owned();
    let trouble = match *error {
        ReplaceError::TooLarge { bytes, limit } => {
            FsError::TooLarge { path, bytes, limit, result: true }
        }
        ReplaceError::NoMemory { .. } => {
            let source = std::io::ErrorKind::OutOfMemory.into();
            FsError::Io { path, operation: "making the new content", source }
        }
        _ => return ContractEditOutcome::failed(not_replaced(&path, error)),
    };
    ContractEditOutcome::unfinished(file_error::told(&trouble))
}

fn not_replaced(path: &str, error: &toolwright_patch::ReplaceError) -> NativeError {
    use toolwright_patch::ReplaceError;
    let code = match error {
        ReplaceError::NotFound { .. } => "TOOL_EDIT_NO_MATCH",
        ReplaceError::Ambiguous { .. } => "TOOL_EDIT_AMBIGUOUS",
        _ => "INVALID_INPUT",
    };
    let summary = error.summary();
    let said = error.to_string();
    let rest = said.strip_prefix(&summary).unwrap_or_default();
    let place = format!("{summary}: `{path}`{rest}");
    let mut native =
        NativeError::new(code, summary, &place, voice::patches::replacement_hint(error))
            .with("path", path);
    match error {
        ReplaceError::NotFound { candidates } => {
            let lines: Vec<usize> = candidates.iter().map(|candidate| candidate.line).collect();
            native = native.with("nearestLines", lines);
        }
        ReplaceError::Ambiguous { count, lines, .. } => {
            native = native.with("count", *count).with("lines", lines.clone());
        }
        _ => {}
    }
    native
}
