//! What is no secret whatever its variable is called: `true`, `eu-west-1`, a path, the address of a service.
//!
//! The rule asks for no entropy. It names what ordinary values are made of, and everything else counts as secret:
//! numbers, words with a few digits behind them, joined by the usual signs; paths; addresses without a password.
//! So a password of words is ordinary, which a host gives by name if it has one.

use crate::parts::password;

/// No shorter value is masked: it would be found in ordinary words.
pub const MIN_LENGTH: usize = 8;
/// The most digits behind a word.
const MAX_TAIL: usize = 4;
/// The longest word in letters of one case.
const MAX_WORD: usize = 24;
/// From this length on, a part with digits between letters is no word.
const LONG: usize = 16;
/// From this length on, letters of both cases without an order, with digits, are no words: base 64.
const ENCODED: usize = 32;
/// This many short parts with digits between letters are a key: `7F3A-K9Q2-…`.
const MANY_ODD: usize = 3;

/// Whether a value is too ordinary to be masked.
#[must_use]
pub fn is_ordinary(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    if value.len() < MIN_LENGTH {
        return true;
    }
    if is_uuid(value) {
        return false;
    }
    if let Some(rest) = after_scheme(value) {
        return password(value).is_none() && is_address(rest);
    }
    is_path(value) || is_of_words(value)
}

/// What follows `https://`.
fn after_scheme(value: &[u8]) -> Option<&[u8]> {
    let at = value.windows(3).position(|window| window == b"://")?;
    let is_scheme =
        value[..at].iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
    (at > 0 && is_scheme).then(|| &value[at + 3..])
}

/// Whether no part of an address is a key. The number of a tenant is none.
fn is_address(rest: &[u8]) -> bool {
    let mut parts = rest.split(|byte| b"/?&=#".contains(byte));
    parts.all(|part| is_uuid(part) || part.len() < LONG || is_of_words(part))
}

/// Whether a value is a path: it begins with a sign of one, or with a directory named by letters.
fn is_path(value: &[u8]) -> bool {
    let is_of_path =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-~@+:\\ ".contains(byte) || *byte >= 0x80;
    if !value.iter().all(is_of_path) {
        return false;
    }
    if [&b"./"[..], b"../", b"~/"].iter().any(|start| value.starts_with(start)) {
        return true;
    }
    if let [drive, b':', b'\\' | b'/', ..] = value {
        return drive.is_ascii_alphabetic();
    }
    let Some(rest) = value.strip_prefix(b"/") else { return false };
    let first = rest.split(|byte| *byte == b'/').next().unwrap_or_default();
    let first = first.strip_prefix(b".").unwrap_or(first);
    first.len() >= 2 && first.len() < rest.len() && is_in_one_case(first)
}

/// Whether a value is made of words and numbers.
fn is_of_words(value: &[u8]) -> bool {
    let is_join = |byte: &u8| b"-_./:,;=@ \\".contains(byte);
    // Punctuation of a sentence, which has spaces.
    let is_of_sentence = |byte: &u8| b"!?'\"()*#%&+<>[]{}|~`$^".contains(byte);
    let has_spaces = value.contains(&b' ');
    let is_separator = |byte: &u8| {
        is_join(byte) || has_spaces && (is_of_sentence(byte) || byte.is_ascii_whitespace())
    };
    let is_of_text =
        |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80 || is_separator(byte);
    if !value.iter().all(is_of_text) {
        return false;
    }
    let parts = || value.split(is_separator).filter(|part| !part.is_empty());
    let odd = parts().filter(|part| part.len() < MIN_LENGTH && is_odd(part)).count();
    odd < MANY_ODD
        && parts().all(is_word)
        && !(value.len() >= ENCODED && is_encoded(value, parts()))
}

/// Whether letters of both cases and digits stand together, and some part has no order of cases.
fn is_encoded<'v>(value: &[u8], mut parts: impl Iterator<Item = &'v [u8]>) -> bool {
    !value.contains(&b' ')
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_lowercase)
        && parts.any(|part| part.len() >= MIN_LENGTH && !is_in_order(part))
}

/// Whether a part is a word, a number, or too short to be anything else.
fn is_word(part: &[u8]) -> bool {
    if part.len() < MIN_LENGTH || part.iter().all(u8::is_ascii_digit) {
        return true;
    }
    let digits = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let letters = &part[..part.len() - digits];
    if letters.iter().all(|byte| !byte.is_ascii_digit()) && digits <= MAX_TAIL {
        return is_letters_of_words(letters);
    }
    // `secp256k1` and `sha256rsa` are words, `x7Gk29Qm` is none.
    let is_mixed =
        letters.iter().any(u8::is_ascii_lowercase) && letters.iter().any(u8::is_ascii_uppercase);
    part.len() < LONG && !is_mixed && changes(part) < 4
}

/// Whether letters are words: of one case, or of several words with capitals.
fn is_letters_of_words(letters: &[u8]) -> bool {
    if is_in_one_case(letters) {
        return letters.len() <= MAX_WORD || letters.iter().any(|byte| *byte >= 0x80);
    }
    // Words with capitals have three letters on the average.
    letters.len() >= 3 * humps(letters)
}

/// How many words capitals make of letters.
fn humps(letters: &[u8]) -> usize {
    let begins = |pair: &[u8]| !pair[0].is_ascii_uppercase() && pair[1].is_ascii_uppercase();
    1 + letters.windows(2).filter(|pair| begins(pair)).count()
}

/// Whether capitals stand where words begin, or everywhere: `KeyVault`, `clientId`, `RS256`.
fn is_in_order(part: &[u8]) -> bool {
    let digits = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let letters = &part[..part.len() - digits];
    let irregular = |three: &[u8]| {
        three[0].is_ascii_uppercase()
            && three[1].is_ascii_uppercase()
            && three[2].is_ascii_lowercase()
    };
    letters.iter().all(|byte| !byte.is_ascii_digit())
        && (is_in_one_case(letters) || !letters.windows(3).any(irregular))
}

/// `key`, `Key` or `KEY`.
fn is_in_one_case(letters: &[u8]) -> bool {
    let Some((_, rest)) = letters.split_first() else { return true };
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte >= 0x80;
    letters.iter().all(is_letter)
        && (!rest.iter().any(u8::is_ascii_uppercase) || !letters.iter().any(u8::is_ascii_lowercase))
}

/// Whether digits stand before letters.
fn is_odd(part: &[u8]) -> bool {
    part.windows(2).any(|pair| pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic())
}

/// How often letters and digits follow each other.
fn changes(part: &[u8]) -> usize {
    part.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count()
}

fn is_uuid(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| *byte == b'-');
    let has = |length: &usize| {
        parts
            .next()
            .is_some_and(|part| part.len() == *length && part.iter().all(u8::is_ascii_hexdigit))
    };
    value.len() == 36 && [8, 4, 4, 4, 12].iter().all(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_values_are_known() {
        for value in [
            "",
            "1",
            "true",
            "enabled",
            "production",
            "disabled-by-default",
            "2024-06-01",
            "12345678901234567890",
            "2024-06-01T12:00:00",
            "1.2.3.4:8080",
            "eu-central-1",
            "kerberos-ldap",
            "my-app-secrets",
            "prod/my-app/db",
            "/etc/ssl/private/key.pem",
            "/run/secrets/a8f3e9d2c1b04f7e",
            "~/.ssh/id_rsa",
            "./keys/dev.pem",
            "../a8f3e9d2c1b04f7e/x",
            "C:\\Users\\me\\key.pem",
            "/tmp/ssh-XXXXXXabc123/agent.4711",
            "/var/run/x.sock",
            "https://login.example.com/oauth2/v2.0/token",
            "http://localhost:3000/callback?next=/home",
            "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/oauth2",
            "X-Api-Key",
            "Authorization",
            "my-tenant.eu.auth0.com",
            "kv-prod-westeurope-01",
            "session_id",
            "clientCredentials",
            "ClientSecretPost",
            "getUserAccessTokenFromRequest",
            "secp256k1",
            "sha256rsa",
            "HMACSHA256",
            "aes-256-gcm",
            "me@example.com",
            "application/x-www-form-urlencoded",
            "postgres",
            "password123",
            "correct-horse-battery-staple",
            "changeme",
            "Please log in first!",
            "KEY=value",
            "id_ed25519",
            "no-reply@example.com",
            "x86_64-unknown-linux-gnu",
            "postgres://localhost:5432/app",
            "AzureServicesAuthConnectionString",
        ] {
            assert!(is_ordinary(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn other_values_are_secrets() {
        for value in [
            "x7Gk29Qm",
            "Passw0rd!",
            "Tr0ub4dor&3",
            "Sup3rS3cret",
            "p7#kd!Qz2",
            "550e8400-e29b-41d4-a716-446655440000",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "7F3A-K9Q2-8ZT1-4M7X",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "AKIAIOSFODNN7EXAMPLE",
            "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",
            "sk-ant-api03-AbCdEf0123456789-AbCdEf0123456789_AbCdEf",
            "https://user:pa55-word@host/x",
            "https://hooks.example.com/services/T00000000/B00000000/a8Kd93jfKq02LmxZ77TbQwEr",
            "QUJDRA8f3Kd9z1==",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
            "/aB3+dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z",
            "postgres://app:x7Gk29Qm@db/app",
        ] {
            assert!(!is_ordinary(value.as_bytes()), "{value}");
        }
    }
}
