//! What programs ask of forks, as JSON. `ts/fork` has checked it: a field that is missing or no such value is left at
//! its default.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{Action, ApplyInput, OpenInput, StoredInput};

/// The fields of a request.
type Fields = Map<String, Value>;

fn text(fields: &Fields, name: &str) -> Option<String> {
    fields.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// JavaScript's numbers may have a fraction.
fn count(fields: &Fields, name: &str) -> Option<u64> {
    let value = fields.get(name)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let whole = |number: f64| number as u64;
    value.as_u64().or_else(|| value.as_f64().map(whole))
}

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
            Some("apply") => {
                let paths = fields.get("paths").and_then(Value::as_array).into_iter().flatten();
                let paths = paths.filter_map(Value::as_str).map(str::to_owned).collect();
                let is = |name: &str, value: Value| fields.get(name) == Some(&value);
                Self::Apply(ApplyInput {
                    paths,
                    dry_run: is("dryRun", true.into()),
                    refuse_merges: is("merge", "refuse".into()),
                })
            }
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
