//! What programs ask of checkpoints, as JSON. `ts/journal/checkpoints` has checked it: a field that is
//! missing or no such value is left at its default.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use toolwright_checkpoints::{GcLimits, Options};

use super::{OpenInput, RestoreInput, RestoreTarget};

/// The fields of a request.
type Fields = Map<String, Value>;

fn text(fields: &Fields, name: &str) -> Option<String> {
    fields.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn texts(fields: &Fields, name: &str) -> Vec<String> {
    let array = fields.get(name).and_then(Value::as_array).into_iter().flatten();
    array.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn is_set(fields: &Fields, name: &str) -> bool {
    fields.get(name).and_then(Value::as_bool) == Some(true)
}

/// JavaScript's numbers may have a fraction.
fn count(fields: &Fields, name: &str) -> Option<u64> {
    let value = fields.get(name)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let whole = |number: f64| number as u64;
    value.as_u64().or_else(|| value.as_f64().map(whole))
}

fn milliseconds(fields: &Fields, name: &str) -> Option<Duration> {
    count(fields, name).map(Duration::from_millis)
}

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
