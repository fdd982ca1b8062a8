//! Texts that stand for values: of the same form, because programs check that, and made of nothing else.

use crate::error::CredentialError;

/// How tokens of vendors begin. What follows is random. The longest one that fits counts.
const PREFIXES: [&str; 30] = [
    "AKIA",
    "dckr_pat_",
    "dop_v1_",
    "github_pat_",
    "gho_",
    "ghp_",
    "ghr_",
    "ghs_",
    "ghu_",
    "glpat-",
    "gsk_",
    "hf_",
    "lin_api_",
    "npm_",
    "ntn_",
    "pplx-",
    "pypi-",
    "r8_",
    "rk_live_",
    "rk_test_",
    "sk-",
    "sk-ant-",
    "sk-ant-api03-",
    "sk-or-v1-",
    "sk-proj-",
    "sk_live_",
    "sk_test_",
    "tvly-",
    "xoxb-",
    "xoxp-",
];

/// The forms of values that are not known yet, by how a variable is called: the prefix, and how many letters
/// and digits follow.
const FORMS: [(&str, &str, usize); 9] = [
    ("ANTHROPIC", "sk-ant-api03-", 95),
    ("GH_", "ghp_", 36),
    ("GITHUB", "ghp_", 36),
    ("GITLAB", "glpat-", 20),
    ("HF_", "hf_", 34),
    ("NODE_AUTH_TOKEN", "npm_", 36),
    ("NPM", "npm_", 36),
    ("OPENAI", "sk-proj-", 48),
    ("TWINE", "pypi-", 60),
];
const PLAIN: (&str, usize) = ("", 40);

/// A placeholder for a value: as long, with the vendor's prefix, and of the same classes of characters.
pub(crate) fn like(value: &str) -> Result<String, CredentialError> {
    let prefix = PREFIXES.iter().filter(|prefix| value.starts_with(**prefix));
    let prefix = prefix.max_by_key(|prefix| prefix.len()).copied().unwrap_or_default();
    let rest = value.get(prefix.len()..).unwrap_or_default();
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let letters = if rest.bytes().all(is_hex) { &b"abcdef"[..] } else { LOWER };
    let mut made = prefix.to_owned();
    for byte in rest.bytes() {
        let class: &[u8] = match byte {
            b'0'..=b'9' => b"0123456789",
            b'a'..=b'z' => letters,
            b'A'..=b'Z' => UPPER,
            _ => {
                // What separates parts of a token is a part of its form.
                made.push(char::from(byte));
                continue;
            }
        };
        made.push(char::from(one_of(class)?));
    }
    Ok(made)
}

const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const BOTH: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A placeholder for a value that is not known yet.
pub(crate) fn for_variable(variable: &str) -> Result<String, CredentialError> {
    let form = FORMS.iter().find(|(begin, ..)| variable.starts_with(begin));
    let (prefix, count) = form.map_or(PLAIN, |(_, prefix, count)| (*prefix, *count));
    let mut made = prefix.to_owned();
    for _ in 0..count {
        made.push(char::from(one_of(BOTH)?));
    }
    Ok(made)
}

/// One of at most 64 bytes, each as likely as the others.
fn one_of(all: &[u8]) -> Result<u8, CredentialError> {
    let mut random = [0_u8; 1];
    loop {
        getrandom::fill(&mut random).map_err(|_| CredentialError::Random)?;
        if let Some(byte) = all.get(usize::from(random[0] & 0x3f)) {
            return Ok(*byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_has_the_form_of_its_value_and_nothing_else_of_it() {
        for (value, prefix) in [
            ("ghp_0123456789abcdefABCDEF0123456789abcd", "ghp_"),
            ("github_pat_11ABCDEFG0aaaaaaaaaaaa_bbbbbbbbbbbb", "github_pat_"),
            ("sk-ant-api03-AbCdEf-0123456789_xyz", "sk-ant-api03-"),
            ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm_"),
            ("5f4dcc3b5aa765d61d8327deb882cf99", ""),
            ("eyJhbGciOi.JIUzI1NiJ9.c2lnbmF0dXJl", ""),
        ] {
            let made = like(value).expect("made");
            assert_eq!(made.len(), value.len());
            assert!(made.starts_with(prefix) && made != value, "{made}");
            for (made, own) in made.bytes().zip(value.bytes()) {
                assert_eq!(made.is_ascii_digit(), own.is_ascii_digit());
                assert_eq!(made.is_ascii_lowercase(), own.is_ascii_lowercase());
                assert_eq!(made.is_ascii_uppercase(), own.is_ascii_uppercase());
            }
        }
        let hex = like("5f4dcc3b5aa765d61d8327deb882cf99").expect("made");
        assert!(hex.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hex}");
    }

    #[test]
    fn a_variable_tells_the_form_of_what_is_not_known_yet() {
        let made = for_variable("GITHUB_TOKEN").expect("made");
        assert!(made.starts_with("ghp_") && made.len() == 40, "{made}");
        let made = for_variable("COMPANY_KEY").expect("made");
        assert!(made.len() == 40 && made.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_ne!(for_variable("A"), for_variable("A"));
    }

    impl PartialEq for CredentialError {
        fn eq(&self, other: &Self) -> bool {
            self.to_string() == other.to_string()
        }
    }
}
