//! Arguments as they are recorded: without secrets.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::keys::hex;

/// Replaces the values of keys that look like secrets by `[redacted]`. Text that is not JSON may
/// contain any secret, so only its size and SHA-256 are recorded.
#[must_use]
pub fn redact_secrets(json: &str) -> String {
    if let Ok(value) = serde_json::from_str(json) {
        return redact(value).to_string();
    }
    let hash = hex(&Sha256::digest(json.as_bytes()));
    json!({ "inputBytes": json.len(), "inputHash": hash }).to_string()
}

fn redact(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(redact).collect(),
        Value::Object(entries) => {
            let redacted = entries.into_iter().map(|(key, item)| {
                let item = match item {
                    Value::Null => Value::Null,
                    _ if is_secret(&key) => Value::from("[redacted]"),
                    other => redact(other),
                };
                (key, item)
            });
            Value::Object(redacted.collect())
        }
        leaf => leaf,
    }
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
        // `maxTokens` and `tokens` are counts.
        || letters.ends_with("token")
        || ["auth", "jwt", "pat", "pwd"].contains(&letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_redacted() {
        let json = r#"{"apiKey":"a","db_password":{"x":1},"maxTokens":5,"author":"me","token":null,
            "headers":[{"Authorization":"Bearer a","Access-Token":"b"}]}"#;
        let redacted: Value = serde_json::from_str(&redact_secrets(json)).expect("JSON");
        let expected = json!({
            "apiKey": "[redacted]", "db_password": "[redacted]", "maxTokens": 5, "author": "me",
            "token": null,
            "headers": [{ "Authorization": "[redacted]", "Access-Token": "[redacted]" }],
        });
        assert_eq!(redacted, expected);
    }

    #[test]
    fn text_that_is_not_json_is_recorded_by_size_and_hash() {
        let redacted: Value = serde_json::from_str(&redact_secrets("héllo")).expect("JSON");
        let expected = json!({
            "inputBytes": 6,
            "inputHash": "3c48591d8d098a4538f5e013dfcf406e948eac4d3277b10bf614e295d6068179",
        });
        assert_eq!(redacted, expected);
        assert!(!redact_secrets("{\"password\":\"x\"").contains('x'), "not even in broken JSON");
    }
}
