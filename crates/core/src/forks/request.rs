//! What programs ask of forks, as JSON. `ts/fork` has checked it: a field that is missing or no such value is left at
//! its default.

use std::path::PathBuf;

use serde_json::Value;

use super::{Action, ApplyInput, OpenInput, StoredInput};
use crate::request_fields::{Fields, count, is_set, text, texts};

/// A directory of a request.
#[must_use]
pub fn directory(fields: &Fields, name: &str) -> Option<PathBuf> {
    text(fields, name).map(PathBuf::from)
}

/// The age of what is collected.
#[must_use]
pub fn max_age_ms(fields: &Fields) -> Option<u64> {
    count(fields, "maxAgeMs")
}

impl OpenInput {
    /// A fork with these options.
    #[must_use]
    pub fn new(fields: &Fields) -> Self {
        Self {
            base: directory(fields, "base").unwrap_or_default(),
            store: directory(fields, "store"),
            label: text(fields, "label"),
            id: text(fields, "id"),
            max_bytes: count(fields, "maxBytes"),
        }
    }
}

impl Action {
    /// The action of a request: to compare, without a name.
    #[must_use]
    pub fn new(fields: &Fields) -> Self {
        match fields.get("action").and_then(Value::as_str) {
            Some("apply") => Self::Apply(ApplyInput {
                paths: texts(fields, "paths"),
                dry_run: is_set(fields, "dryRun"),
                refuse_merges: text(fields, "merge").as_deref() == Some("refuse"),
            }),
            Some("undo") => Self::Undo,
            Some("discard") => Self::Discard,
            _ => Self::Compare(
                count(fields, "maxTextBytes").map(|max| usize::try_from(max).unwrap_or(usize::MAX)),
            ),
        }
    }
}

impl StoredInput {
    /// What is asked of a fork by its name.
    #[must_use]
    pub fn new(fields: &Fields) -> Self {
        Self {
            store: directory(fields, "store"),
            id: text(fields, "id").unwrap_or_default(),
            action: Action::new(fields),
        }
    }
}
