//! What programs ask of checkpoints, as JSON. `ts/journal/checkpoints` has checked it: a field that is
//! missing or no such value is left at its default.

use std::path::PathBuf;

use serde_json::Value;
use toolwright_checkpoints::{GcLimits, Options};

use super::{OpenInput, RestoreInput, RestoreTarget};
use crate::request_fields::{Fields, count, is_set, milliseconds, text, texts};

impl OpenInput {
    /// A store with these options.
    #[must_use]
    pub fn new(root: PathBuf, fields: &Fields) -> Self {
        let defaults = Options::default();
        let options = Options {
            ignore: texts(fields, "ignore"),
            with_ignored: is_set(fields, "withIgnored"),
            max_file_bytes: count(fields, "maxFileBytes").unwrap_or(defaults.max_file_bytes),
            max_bytes: count(fields, "maxBytes").unwrap_or(defaults.max_bytes),
            max_age: milliseconds(fields, "maxAgeMs").unwrap_or(defaults.max_age),
            inherit: is_set(fields, "inherit"),
            busy_timeout: milliseconds(fields, "busyTimeoutMs").unwrap_or(defaults.busy_timeout),
        };
        Self { root, store: text(fields, "store").map(PathBuf::from), options }
    }
}

impl RestoreInput {
    /// A restoration of one of `id`, `call` and `turn`.
    #[must_use]
    pub fn new(fields: &Fields) -> Self {
        let id = || fields.get("id").and_then(Value::as_i64).unwrap_or(0);
        let target = match (text(fields, "call"), text(fields, "turn")) {
            (Some(call), _) => RestoreTarget::Call(call),
            (None, Some(turn)) => RestoreTarget::Turn(turn),
            (None, None) => RestoreTarget::Checkpoint(id()),
        };
        Self {
            target,
            paths: texts(fields, "paths"),
            dry_run: is_set(fields, "dryRun"),
            force: is_set(fields, "force"),
            call: text(fields, "name"),
        }
    }
}

/// The limits of a collection.
#[must_use]
pub fn limits(fields: &Fields) -> GcLimits {
    GcLimits {
        max_bytes: count(fields, "maxBytes"),
        max_age: milliseconds(fields, "maxAgeMs"),
        max_checkpoints: count(fields, "maxCheckpoints"),
    }
}
