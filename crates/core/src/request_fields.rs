//! The fields of a request as JSON, of which TypeScript has checked the types.

use std::time::Duration;

use serde_json::{Map, Value};

/// The fields of a request.
pub(crate) type Fields = Map<String, Value>;

pub(crate) fn text(fields: &Fields, name: &str) -> Option<String> {
    fields.get(name).and_then(Value::as_str).map(str::to_owned)
}

pub(crate) fn texts(fields: &Fields, name: &str) -> Vec<String> {
    let array = fields.get(name).and_then(Value::as_array).into_iter().flatten();
    array.filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(crate) fn is_set(fields: &Fields, name: &str) -> bool {
    fields.get(name).and_then(Value::as_bool) == Some(true)
}

/// JavaScript's numbers may have a fraction.
pub(crate) fn count(fields: &Fields, name: &str) -> Option<u64> {
    let value = fields.get(name)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let whole = |number: f64| number as u64;
    value.as_u64().or_else(|| value.as_f64().map(whole))
}

pub(crate) fn milliseconds(fields: &Fields, name: &str) -> Option<Duration> {
    count(fields, name).map(Duration::from_millis)
}
