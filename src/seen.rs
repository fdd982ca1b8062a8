//! What a conversation has seen of files.
#![expect(clippy::needless_pass_by_value, reason = "napi hands values over so")]

use std::sync::Arc;

use napi::bindgen_prelude::{ClassInstance, FromNapiValue, TypeName, ValidateNapiValue};
use napi::{ValueType, sys};
use napi_derive::napi;
use toolwright_core::seen::{SeenFiles as Seen, UnseenChanges};

use crate::call::Outcome;
use crate::cross::Cross;
use crate::grants::GrantedRoot;
use crate::text::TextArgument;

/// The files that one conversation has seen: given to every read and change that a model makes in it.
#[napi]
pub struct SeenFiles(Arc<Seen>);

/// What happens to calls that would undo changes which the model has not been shown.
#[napi(object, object_to_js = false)]
pub struct SeenFilesOptions {
    /// Whether such a call is refused, or made and told.
    #[napi(ts_type = "'refuse' | 'tell'")]
    pub unseen_changes: String,
    /// Whether a checkpoint keeps what calls replace.
    pub has_checkpoints: bool,
    /// The most bytes of a difference.
    pub limit_bytes: f64,
}

#[napi]
impl SeenFiles {
    /// Of a conversation that has seen nothing.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: SeenFilesOptions) -> Self {
        let unseen = UnseenChanges::of(&options.unseen_changes);
        Self(Arc::new(Seen::new(unseen, options.has_checkpoints, options.limit_bytes.cross())))
    }

    /// Notes that the model was shown a part of a file: lines from `first_line` on, from 1.
    #[napi(catch_unwind, ts_return_type = "undefined | Unfinished")]
    pub fn note_lines(
        &self,
        root: &GrantedRoot,
        path: String,
        #[napi(ts_arg_type = "string")] text: TextArgument,
        first_line: f64,
        is_end: bool,
    ) -> Outcome<()> {
        let note =
            |text: String| self.0.note_lines(&root.0, &path, &text, first_line.cross(), is_end);
        text.encoded().map(note).into()
    }

    /// What was noted since the last call, for a journal.
    #[napi(catch_unwind)]
    pub fn take_record(&self) -> Option<String> {
        self.0.ledger().take_record()
    }

    /// Takes records of a journal, in any order.
    #[napi(catch_unwind)]
    pub fn restore(&self, records: Vec<String>) {
        self.0.ledger().restore(records.iter().map(String::as_str));
    }
}

impl SeenFiles {
    pub(crate) fn shared(&self) -> Arc<Seen> {
        Arc::clone(&self.0)
    }
}

/// The same as a field of an object.
pub struct SeenArgument(pub(crate) Arc<Seen>);

impl TypeName for SeenArgument {
    fn type_name() -> &'static str {
        "SeenFiles"
    }

    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl ValidateNapiValue for SeenArgument {}

impl FromNapiValue for SeenArgument {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        // SAFETY: the value belongs to the environment, on whose thread this is.
        let seen = unsafe { ClassInstance::<SeenFiles>::from_napi_value(env, value)? };
        Ok(Self(seen.shared()))
    }
}
