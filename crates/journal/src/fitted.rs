//! Outputs cut to a limit that are still JSON.

use serde_json::Value;

/// The smallest limit: the frame around an empty preview has to fit.
const MIN_LIMIT: usize = 64;

/// A JSON text that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// At most as many bytes as the limit (or 64, if that is more).
    pub json: String,
    /// The length of the whole text in bytes.
    pub bytes: usize,
}

/// Cuts `json` to `limit` bytes. A text that fits stays as it is. A longer one becomes
/// `{"truncated":true,"bytes":N,"preview":"…"}`, so its readers still find JSON. The preview is the
/// beginning of a string's content, or else of the JSON text, and ends between two characters.
#[must_use]
pub fn fit_json(json: String, limit: usize) -> Fitted {
    let limit = limit.max(MIN_LIMIT);
    let bytes = json.len();
    if bytes <= limit {
        return Fitted { json, bytes };
    }
    let content = match serde_json::from_str(&json) {
        Ok(Value::String(text)) => text,
        _ => json,
    };
    let head = format!("{{\"truncated\":true,\"bytes\":{bytes},\"preview\":\"");
    let tail = "\"}";
    let mut room = limit.saturating_sub(head.len() + tail.len());
    let mut cut = String::with_capacity(limit);
    cut.push_str(&head);
    for character in content.chars() {
        let Some(left) = room.checked_sub(escaped_length(character)) else { break };
        room = left;
        push_escaped(&mut cut, character);
    }
    cut.push_str(tail);
    Fitted { json: cut, bytes }
}

fn escaped_length(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '\0'..'\u{20}' => 6,
        _ => character.len_utf8(),
    }
}

fn push_escaped(text: &mut String, character: char) {
    match character {
        '"' => text.push_str("\\\""),
        '\\' => text.push_str("\\\\"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        '\0'..'\u{20}' => {
            let digit = |value: u32| char::from_digit(value, 16).unwrap_or('0');
            let code = u32::from(character);
            text.push_str("\\u00");
            text.push(digit(code / 16));
            text.push(digit(code % 16));
        }
        _ => text.push(character),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Strings with everything that is escaped, and characters of one to four bytes.
    fn texts() -> impl Strategy<Value = String> {
        proptest::collection::vec(
            prop_oneof![
                any::<char>(),
                proptest::sample::select(vec!['"', '\\', '\n', '\u{1}', 'é', '€', '😀', 'a']),
            ],
            0..400,
        )
        .prop_map(|characters| characters.into_iter().collect())
    }

    proptest! {
        #[test]
        fn what_is_kept_fits_and_is_the_beginning(
            text in texts(), limit in 0_usize..500, as_string in any::<bool>()
        ) {
            let value = if as_string { Value::from(text) } else { serde_json::json!([{ "out": text }]) };
            let json = value.to_string();
            let fitted = fit_json(json.clone(), limit);
            prop_assert_eq!(fitted.bytes, json.len());
            prop_assert!(fitted.json.len() <= limit.max(MIN_LIMIT));
            if json.len() <= limit.max(MIN_LIMIT) {
                prop_assert_eq!(fitted.json, json);
            } else {
                let cut: Value = serde_json::from_str(&fitted.json).expect("JSON");
                prop_assert_eq!(&cut["truncated"], &Value::Bool(true));
                prop_assert_eq!(&cut["bytes"], &Value::from(json.len()));
                let preview = cut["preview"].as_str().expect("text");
                let content = value.as_str().map_or(json.clone(), str::to_owned);
                prop_assert!(content.starts_with(preview));
                // Nothing more would have fitted.
                let next = content[preview.len()..].chars().next().expect("it was cut");
                prop_assert!(fitted.json.len() + escaped_length(next) > limit.max(MIN_LIMIT));
            }
        }
    }

    #[test]
    fn what_is_no_json_is_cut_all_the_same() {
        let fitted = fit_json("{".repeat(100), 70);
        assert_eq!(fitted.json.len(), 70);
        assert!(serde_json::from_str::<Value>(&fitted.json).is_ok());
    }
}
