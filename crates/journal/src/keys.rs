//! Keys that stay the same when a call is retried, and differ between any two calls of a task.
//!
//! Pure functions: the same inputs give the same key in every process, on every machine, in every
//! release. Each hashed field is preceded by its length, so no two different lists of fields are the same
//! bytes, whatever characters they hold.

use std::fmt::Write;

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

use crate::call::TaskId;

/// The idempotency key of a call, for interfaces that do the same thing once however often it is
/// requested: `tw1_` and 64 hexadecimal digits. `ordinal` counts the calls of an attempt with the same
/// tool and the same arguments: see [`Ordinals`](crate::Ordinals).
#[must_use]
pub fn call_idempotency_key(task: &TaskId, tool: &str, args_hash: &str, ordinal: i64) -> String {
    let iteration = task.iteration.to_le_bytes();
    let ordinal = ordinal.to_le_bytes();
    let digest = digest_of(&[
        b"toolwright call key 1",
        task.run_id.as_bytes(),
        task.node_id.as_bytes(),
        &iteration,
        tool.as_bytes(),
        args_hash.as_bytes(),
        &ordinal,
    ]);
    format!("tw1_{digest}")
}

/// The idempotency key of a call that has an identity of its own, such as the id that a durable engine keeps with the
/// model's answer: `tw2_` and 64 hexadecimal digits. Neither arguments nor order play a part, because the engine
/// executes a single call again, in a process that has seen none of the others.
#[must_use]
pub fn claimed_call_key(task: &TaskId, tool: &str, call_id: &str) -> String {
    let iteration = task.iteration.to_le_bytes();
    let digest = digest_of(&[
        b"toolwright claimed call key 2",
        task.run_id.as_bytes(),
        task.node_id.as_bytes(),
        &iteration,
        tool.as_bytes(),
        call_id.as_bytes(),
    ]);
    format!("tw2_{digest}")
}

/// The hash of a call's arguments, as 64 hexadecimal digits. Equal for JSON texts that mean the same,
/// whatever the order of keys, the spaces, and the notation of numbers.
///
/// A text that is not JSON, or is nested deeper than 128 levels, is hashed as it stands.
///
/// ```
/// use toolwright_journal::keys::args_hash;
///
/// assert_eq!(args_hash(r#"{"a":1,"b":[]}"#), args_hash(r#"{ "b": [], "a": 1.0 }"#));
/// ```
#[must_use]
pub fn args_hash(json: &str) -> String {
    match serde_json::from_str::<Value>(json) {
        Ok(value) => {
            let mut canonical = String::with_capacity(json.len());
            write_canonical(&mut canonical, &value);
            digest_of(&[b"toolwright arguments 1", canonical.as_bytes()])
        }
        Err(_) => digest_of(&[b"toolwright raw arguments 1", json.as_bytes()]),
    }
}

/// A short name of a task that is valid in a file's name.
pub(crate) fn task_hash(task: &TaskId) -> String {
    let iteration = task.iteration.to_le_bytes();
    digest_of(&[b"toolwright task 1", task.run_id.as_bytes(), task.node_id.as_bytes(), &iteration])
}

fn digest_of(fields: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for field in fields {
        hasher.update((field.len() as u64).to_le_bytes());
        hasher.update(field);
    }
    hex(&hasher.finalize())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// No spaces; keys sorted by their bytes; every number in its shortest form. The keys are sorted here
/// because another crate of a build can make `serde_json` keep the order of the source.
fn write_canonical(text: &mut String, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => {
            let _ = write!(text, "{value}");
        }
        Value::Number(number) => write_number(text, number),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(text, item);
            }
            text.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|one, other| one.0.cmp(other.0));
            text.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                let _ = write!(text, "{}:", Value::from(key.as_str()));
                write_canonical(text, item);
            }
            text.push('}');
        }
    }
}

/// `1`, `1.0` and `1e0` are one number, and so are `0` and `-0`.
fn write_number(text: &mut String, number: &Number) {
    /// Up to here every integer has an exact floating-point number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let _ = if let Some(integer) = number.as_i64() {
        write!(text, "{integer}")
    } else if let Some(integer) = number.as_u64() {
        write!(text, "{integer}")
    } else {
        match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "a small integer")]
            Some(float) if float.fract() == 0.0 && float.abs() <= EXACT => {
                write!(text, "{}", float as i64)
            }
            Some(float) => write!(text, "{float:e}"),
            None => write!(text, "{number}"),
        }
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task(run: &str, node: &str, iteration: i64) -> TaskId {
        TaskId { run_id: run.to_owned(), node_id: node.to_owned(), iteration }
    }

    /// Short words over an alphabet in which every delimiter anybody might use is frequent.
    fn words() -> impl Strategy<Value = String> {
        proptest::collection::vec(
            proptest::sample::select(vec!['a', 'b', ':', '|', '/', '\0', '"', ',', '0', '1']),
            0..5,
        )
        .prop_map(|characters| characters.into_iter().collect())
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            words().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::vec((words(), inner), 0..5)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    /// The same value as text, with the keys of every object the other way round and spaces added.
    fn backwards(value: &Value) -> String {
        match value {
            Value::Array(items) => {
                format!("[ {} ]", items.iter().map(backwards).collect::<Vec<_>>().join(" , "))
            }
            Value::Object(map) => {
                let mut entries: Vec<_> = map
                    .iter()
                    .map(|(key, item)| {
                        format!("{} : {}", Value::from(key.as_str()), backwards(item))
                    })
                    .collect();
                entries.reverse();
                format!("{{ {} }}", entries.join(" , "))
            }
            leaf => leaf.to_string(),
        }
    }

    type Parts = ((String, String, i64), (String, String, i64));

    fn parts() -> impl Strategy<Value = Parts> {
        ((words(), words(), 0_i64..3), (words(), words(), 0_i64..3))
    }

    fn key(((run, node, iteration), (tool, hash, ordinal)): &Parts) -> String {
        call_idempotency_key(&task(run, node, *iteration), tool, hash, *ordinal)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn keys_are_equal_only_for_equal_parts(one in parts(), other in parts()) {
            prop_assert_eq!(key(&one) == key(&other), one == other);
        }

        #[test]
        fn tasks_are_equal_only_for_equal_parts(one in parts(), other in parts()) {
            let hash = |((run, node, iteration), _): &Parts| task_hash(&task(run, node, *iteration));
            prop_assert_eq!(hash(&one) == hash(&other), one.0 == other.0);
        }

        #[test]
        fn the_order_of_keys_and_spaces_are_irrelevant(value in json()) {
            prop_assert_eq!(args_hash(&value.to_string()), args_hash(&backwards(&value)));
        }

        #[test]
        fn different_arguments_differ(one in json(), other in json()) {
            let equal = {
                let (mut a, mut b) = (String::new(), String::new());
                write_canonical(&mut a, &one);
                write_canonical(&mut b, &other);
                a == b
            };
            prop_assert_eq!(args_hash(&one.to_string()) == args_hash(&other.to_string()), equal);
            // The canonical text means the value, so that two values never share one.
            let mut text = String::new();
            write_canonical(&mut text, &one);
            let again: Value = serde_json::from_str(&text).expect("JSON");
            let mut twice = String::new();
            write_canonical(&mut twice, &again);
            prop_assert_eq!(text, twice);
        }
    }

    #[test]
    fn numbers_are_what_they_mean() {
        for same in
            [&["1", "1.0", "1e0", "10e-1"][..], &["0", "-0", "0.0", "-0.0"], &["1e21", "1E+21"]]
        {
            for text in same {
                assert_eq!(args_hash(same[0]), args_hash(text), "{text}");
            }
        }
        assert_ne!(args_hash("9007199254740993"), args_hash("9007199254740992"));
        assert_ne!(args_hash("1"), args_hash("\"1\""));
        assert_ne!(args_hash("{\"a\":[]}"), args_hash("{\"a\":{}}"));
    }

    #[test]
    fn a_key_never_changes_between_releases() {
        // Computed by hand from the description above; a payment made under an old key is found
        // again only as long as this holds.
        assert_eq!(
            args_hash("{\"to\":\"a@b.c\",\"amount\":5.0}"),
            "00955e5ac1293fc708702d418791eb56ed37e4e8995083ea28542dedd9c7a632",
        );
        let task = task("run-1", "pay", 0);
        assert_eq!(
            call_idempotency_key(&task, "charge", &args_hash("{}"), 1),
            "tw1_d945fd05d0e3c73b9ae1331e680268942016c8621c26698fe56c9f1d11b0bf98",
        );
    }

    #[test]
    fn what_cannot_be_parsed_is_hashed_as_it_stands() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert_eq!(args_hash(&deep), args_hash(&deep.clone()));
        assert_ne!(args_hash("{"), args_hash("{{"));
        assert_ne!(
            args_hash("\"\\ud800\""),
            args_hash("\"\\ud801\""),
            "no text, and still told apart"
        );
    }
}
