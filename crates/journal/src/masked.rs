//! Arguments as they are kept: contents by size and hash, secrets not at all.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::keys::hex;

/// What is not kept of arguments.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mask<'a> {
    /// Keys, at any depth, whose text is kept only by its size and SHA-256: `content` becomes
    /// `contentBytes` and `contentHash`.
    pub hashed: &'a [&'a str],
    /// Whether the values of keys that look like secrets are replaced by `[redacted]`.
    pub secrets: bool,
}

/// The arguments as they are to be kept. What is not JSON is kept only by its size and hash, since
/// nobody can tell what is in it; without anything to mask it is kept as it is.
#[must_use]
pub fn masked(json: &str, mask: Mask<'_>) -> String {
    if mask.hashed.is_empty() && !mask.secrets {
        return json.to_owned();
    }
    if let Ok(value) = serde_json::from_str(json) {
        return apply(value, mask).to_string();
    }
    let mut map = Map::new();
    describe(&mut map, "input", json);
    Value::Object(map).to_string()
}

fn apply(value: Value, mask: Mask<'_>) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| apply(item, mask)).collect(),
        Value::Object(entries) => {
            let mut kept = Map::new();
            for (key, item) in entries {
                match item {
                    Value::String(text) if mask.hashed.contains(&key.as_str()) => {
                        describe(&mut kept, &key, &text);
                    }
                    Value::Null => {
                        kept.insert(key, Value::Null);
                    }
                    _ if mask.secrets && is_secret(&key) => {
                        kept.insert(key, Value::from("[redacted]"));
                    }
                    other => {
                        kept.insert(key, apply(other, mask));
                    }
                }
            }
            Value::Object(kept)
        }
        leaf => leaf,
    }
}

fn describe(map: &mut Map<String, Value>, key: &str, text: &str) {
    map.insert(format!("{key}Bytes"), Value::from(text.len()));
    map.insert(format!("{key}Hash"), Value::from(hex(&Sha256::digest(text.as_bytes()))));
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
    fn contents_are_kept_by_size_and_hash() {
        let mask = Mask { hashed: &["content", "patch"], secrets: false };
        let kept = masked(r#"{"path":"a","edits":[{"content":"héllo"}],"content":5}"#, mask);
        let kept: Value = serde_json::from_str(&kept).expect("JSON");
        let expected = serde_json::json!({
            "path": "a",
            "content": 5,
            "edits": [{
                "contentBytes": 6,
                "contentHash": "3c48591d8d098a4538f5e013dfcf406e948eac4d3277b10bf614e295d6068179",
            }],
        });
        assert_eq!(kept, expected);
    }

    #[test]
    fn secrets_are_not_kept() {
        let mask = Mask { hashed: &[], secrets: true };
        let json = r#"{"apiKey":"a","db_password":{"x":1},"maxTokens":5,"author":"me","token":null,
            "headers":[{"Authorization":"Bearer a","Access-Token":"b"}]}"#;
        let kept: Value = serde_json::from_str(&masked(json, mask)).expect("JSON");
        let expected = serde_json::json!({
            "apiKey": "[redacted]", "db_password": "[redacted]", "maxTokens": 5, "author": "me",
            "token": null,
            "headers": [{ "Authorization": "[redacted]", "Access-Token": "[redacted]" }],
        });
        assert_eq!(kept, expected);
        assert!(!masked("{\"password\":\"x\"", mask).contains('x'), "not even in broken JSON");
    }

    #[test]
    fn nothing_to_mask_changes_nothing() {
        assert_eq!(masked("{ \"b\":1, \"a\":2.0 }", Mask::default()), "{ \"b\":1, \"a\":2.0 }");
    }
}
