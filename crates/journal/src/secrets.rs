//! Arguments without secrets.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::keys::hex;

/// The arguments with `[redacted]` in place of the values of keys that look like secrets. A text that is
/// not JSON may hold anything, so only its size and hash are kept.
#[must_use]
pub fn without_secrets(json: &str) -> String {
    let value = serde_json::from_str(json).map_or_else(|_| description(json), redacted);
    value.to_string()
}

fn redacted(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(redacted).collect(),
        Value::Object(entries) => {
            let entry = |(key, item): (String, Value)| match item {
                Value::Null => (key, Value::Null),
                _ if is_secret(&key) => (key, Value::from("[redacted]")),
                item => (key, redacted(item)),
            };
            Value::Object(entries.into_iter().map(entry).collect())
        }
        leaf => leaf,
    }
}

fn description(text: &str) -> Value {
    let mut map = Map::new();
    map.insert("inputBytes".to_owned(), Value::from(text.len()));
    map.insert("inputHash".to_owned(), Value::from(hex(&Sha256::digest(text.as_bytes()))));
    Value::Object(map)
}

/// Whether a key's name looks like that of a secret: `apiKey`, `DB_PASSWORD`, `authorization`.
fn is_secret(key: &str) -> bool {
    const PARTS: [&str; 10] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "apikey",
        "privatekey",
        "accesskey",
        "credential",
        "cookie",
        "authorization",
    ];
    let letters: String =
        key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    PARTS.iter().any(|part| letters.contains(part))
        // Not `maxTokens` or `tokens`, which count something.
        || letters.ends_with("token")
        || ["auth", "jwt", "pat", "pwd"].contains(&letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_kept() {
        let json = r#"{"apiKey":"a","db_password":{"x":1},"maxTokens":5,"author":"me","token":null,
            "headers":[{"Authorization":"Bearer a","Access-Token":"b"}]}"#;
        let kept: Value = serde_json::from_str(&without_secrets(json)).expect("JSON");
        let expected = serde_json::json!({
            "apiKey": "[redacted]", "db_password": "[redacted]", "maxTokens": 5, "author": "me",
            "token": null,
            "headers": [{ "Authorization": "[redacted]", "Access-Token": "[redacted]" }],
        });
        assert_eq!(kept, expected);
    }

    #[test]
    fn a_text_that_is_not_json_is_kept_by_size_and_hash() {
        let kept: Value = serde_json::from_str(&without_secrets("héllo")).expect("JSON");
        let expected = serde_json::json!({
            "inputBytes": 6,
            "inputHash": "3c48591d8d098a4538f5e013dfcf406e948eac4d3277b10bf614e295d6068179",
        });
        assert_eq!(kept, expected);
        assert!(!without_secrets("{\"password\":\"x\"").contains('x'), "not even broken JSON");
    }
}
