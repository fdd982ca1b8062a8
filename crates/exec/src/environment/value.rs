//! Secrets by value: what looks like nothing else, whatever its name is.
//!
//! A value is dropped with its variable, so a rule here has to be one that no ordinary value meets: the beginning
//! of a token that its issuer has chosen for being found, with as much behind it as such a token has.

use super::find;

/// How tokens begin, and how many letters, digits, dashes and underscores follow at least.
const TOKENS: &[(&str, usize)] = &[
    ("AGE-SECRET-KEY-1", 50),
    ("AIza", 35), // Google
    ("AKIA", 16), // Amazon
    ("ASIA", 16),
    ("ATATT3x", 50),        // Atlassian
    ("CCIPAT_", 20),        // CircleCI
    ("EAACEdEose0cBA", 10), // Facebook
    ("FLWSECK", 20),
    ("GOCSPX-", 20),
    ("LTAI", 16), // Alibaba
    ("NRAK-", 20),
    ("PMAK-", 24),
    ("SG.", 40),   // SendGrid
    ("cfat_", 40), // Cloudflare
    ("cfk_", 40),
    ("cfut_", 40),
    ("dckr_oat_", 20),
    ("dckr_pat_", 20),
    ("dop_v1_", 40),
    ("dp.pt.", 30),
    ("dp.st.", 30),
    ("dapi", 32), // Databricks
    ("figd_", 30),
    ("fly_", 30),
    ("fo1_", 30),
    ("ghp_", 30), // GitHub
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 30),
    ("glpat-", 16), // GitLab
    ("glcbt-", 16),
    ("gldt-", 16),
    ("glft-", 16),
    ("glimt-", 16),
    ("gloas-", 16),
    ("glsoat-", 16),
    ("glrt-", 16),
    ("glptt-", 16),
    ("glsa_", 30), // Grafana
    ("glc_", 30),
    ("gsk_", 30), // Groq
    ("hf_", 30),
    ("hvs.", 20), // Vault
    ("hvb.", 20),
    ("lin_api_", 30),
    ("lsv2_", 30),
    ("nfp_", 30),
    ("npm_", 30),
    ("ntn_", 30),
    ("nvapi-", 30),
    ("oy2", 43), // NuGet
    ("pcsk_", 30),
    ("phc_", 30),
    ("phx_", 30),
    ("pplx-", 30),
    ("pul-", 40),
    ("pypi-", 40),
    ("r8_", 30),      // Replicate
    ("rk_live_", 16), // Stripe
    ("rk_test_", 16),
    ("rnd_", 24),
    ("rubygems_", 30),
    ("sbp_", 30),
    ("secret_", 40),
    ("shpat_", 30), // Shopify
    ("shpss_", 30),
    ("sk-", 32), // OpenAI and many after it
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("sntrys_", 30),
    ("sntryu_", 30),
    ("tfp_", 30),
    ("tskey-", 20),
    ("vercel_", 24),
    ("whsec_", 20),
    ("xai-", 40),
    ("xapp-", 20), // Slack
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxo-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("ya29.", 20),
];

/// Longer tokens have at least this many letters and digits in a row.
const LONG: usize = 24;
const MIN_RUN: usize = 10;

/// Addresses that are secrets themselves.
const ADDRESSES: &[&str] = &[
    "hooks.slack.com/services/",
    "hooks.slack.com/workflows/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "webhook.office.com/webhookb2/",
    "api.telegram.org/bot",
    "hooks.zapier.com/hooks/catch/",
];

/// Parts of connection strings, in small letters without spaces. Something follows them up to a semicolon.
const PARTS: &[&str] = &[
    "password=",
    "pwd=",
    "accountkey=",
    "sharedaccesskey=",
    "sharedaccesssignature=",
    "accesskey=",
];

/// Whether a value holds a secret.
pub(super) fn is_secret_value(value: &[u8]) -> bool {
    has_address_with_password(value)
        || has_token(value)
        || has_private_key(value)
        || is_secret_address(value)
        || is_connection_string(value)
        || is_web_token(value)
}

fn has_token(value: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    TOKENS.iter().any(|(start, least)| {
        let start = start.as_bytes();
        let mut at = 0;
        while let Some(found) = find(&value[at..], start) {
            let begins = at + found;
            at = begins + start.len();
            let is_begin = begins == 0 || !value[begins - 1].is_ascii_alphanumeric();
            let rest = &value[at..];
            let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
            if is_begin && length >= *least && is_random(&rest[..length], *least) {
                return true;
            }
        }
        false
    })
}

/// Whether text is unlike words that people join by dashes: digits among letters, and in long text many
/// together.
fn is_random(text: &[u8], least: usize) -> bool {
    let is_mixed =
        |run: &[u8]| run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic);
    if least < LONG {
        return is_mixed(text);
    }
    let mut runs = text.split(|byte| !byte.is_ascii_alphanumeric());
    runs.any(|run| run.len() >= MIN_RUN && is_mixed(run))
}

fn has_private_key(value: &[u8]) -> bool {
    find(value, b"-----BEGIN ").is_some_and(|at| {
        let line = &value[at..];
        let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
        find(&line[..end.min(100)], b"PRIVATE KEY").is_some()
    })
}

fn is_secret_address(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    ADDRESSES.iter().any(|address| {
        let after = find(&lower, address.as_bytes()).map(|at| &lower[at + address.len()..]);
        after.is_some_and(|after| after.first().is_some_and(u8::is_ascii_alphanumeric))
    })
}

/// Whether a value is a list of settings with a password in it: `Server=x;Password=y`.
fn is_connection_string(value: &[u8]) -> bool {
    let plain: Vec<u8> = value
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(u8::to_ascii_lowercase)
        .collect();
    let mut parts = plain.split(|byte| *byte == b';');
    let is_list = plain.contains(&b';') && plain.split(|byte| *byte == b'=').count() > 2;
    is_list
        && parts.any(|part| {
            PARTS.iter().any(|secret| {
                part.strip_prefix(secret.as_bytes()).is_some_and(|rest| !rest.is_empty())
            })
        })
        || is_lone_part(&plain)
}

/// `Password=…` or `AccountKey=…` by itself, or between spaces as `host=x password=y`.
fn is_lone_part(plain: &[u8]) -> bool {
    PARTS.iter().any(|secret| {
        plain.strip_prefix(secret.as_bytes()).is_some_and(|rest| rest.len() > 3)
            || find(plain, b"host=").is_some()
                && find(plain, secret.as_bytes()).is_some_and(|at| plain.len() > at + secret.len())
    })
}

/// Whether a value is a signed token of the web: two objects of JSON and a signature, in base 64.
fn is_web_token(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    let value = value.strip_prefix(b"Bearer ").unwrap_or(value);
    let mut parts = value.split(|byte| *byte == b'.');
    let mut is_object =
        || parts.next().is_some_and(|part| part.len() > 12 && part.starts_with(b"eyJ"));
    is_object() && is_object()
}

/// Whether an address with a password stands anywhere in a value.
fn has_address_with_password(value: &[u8]) -> bool {
    let mut rest = value;
    while let Some(at) = find(rest, b"://") {
        let scheme = rest[..at].iter().rev();
        let scheme: Vec<u8> = scheme.copied().take_while(|&byte| is_of_scheme(byte)).collect();
        rest = &rest[at + 3..];
        let is_web = scheme.eq_ignore_ascii_case(b"ptth") || scheme.eq_ignore_ascii_case(b"sptth");
        if !scheme.is_empty() && has_password(rest, is_web) {
            return true;
        }
    }
    false
}

fn is_of_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Whether what follows `://` has a password before its host. For the web a user alone is one: it
/// is how tokens are passed, while `ssh://git@…` and `postgres://me@…` are ordinary.
fn has_password(rest: &[u8], is_web: bool) -> bool {
    let is_end =
        |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'<' | b'>');
    let rest = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
    let path = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    let authority = &rest[..path.unwrap_or(rest.len())];
    if let Some(at) = authority.iter().rposition(|&byte| byte == b'@') {
        let user = &authority[..at];
        let colon = user.iter().position(|&byte| byte == b':');
        return colon.map_or(is_web && !user.is_empty(), |colon| colon + 1 < user.len());
    }
    // A password with a `/` in it, as people write them: `user:pass/word@host`. What stands there
    // otherwise is a port, or an address in brackets.
    let after_colon =
        authority.iter().position(|&byte| byte == b':').map(|at| &authority[at + 1..]);
    after_colon.is_some_and(|port| {
        !port.iter().all(u8::is_ascii_digit)
            && authority.first() != Some(&b'[')
            && rest[authority.len()..].contains(&b'@')
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRETS: &[&str] = &[
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789",
        "sk-ant-api03-AbCdEf0123456789-AbCdEf0123456789_AbCdEf",
        "sk-proj-abcdEFGH0123456789abcdEFGH0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "ASIAIOSFODNN7EXAMPLE",
        "AGE-SECRET-KEY-1QQPQQGZQVQYQXP8L6V9WJ3H0Y2T5R4E3W2Q1ASDFGHJKLZXCVBNM0",
        "xoxb-123456789012-abcDEF",
        "glpat-abcdEFGH1234ijkl5678",
        "npm_abcdEFGH0123456789abcdEFGH0123456789",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nabc",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        "Server=tcp:db;Database=x;User Id=sa;Password=hunter2;",
        "Server = db ; Pwd = x ; Encrypt = true",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abc==;EndpointSuffix=x",
        "Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey=abc=",
        "host=localhost user=me password=x dbname=y",
        "Password=hunter2",
        "https://hooks.slack.com/services/T00/B00/XXXX",
        "https://discord.com/api/webhooks/1/abc",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
        "{\"token\":\"ghp_16C7e42F292c6912E7710c838347Ae178B4a\"}",
        "token ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    ];

    const ORDINARY: &[&str] = &[
        "",
        "1",
        "/usr/bin:/bin",
        "sk-learn",
        "task-runner-with-a-very-long-name-and-more-words-than-usual",
        "npm_config_cache",
        "npm_lifecycle_event",
        "hf_transfer",
        "AKIA",
        "ASIA/Tokyo",
        "dapi",
        "xoxb",
        "secret_santa_is_a_game_of_gifts_among_friends_and_family",
        "https://hooks.slack.com/services/",
        "https://api.slack.com",
        "-----BEGIN CERTIFICATE-----\nMIIB",
        "-----BEGIN PUBLIC KEY-----",
        "password",
        "password=",
        "a=b;c=d",
        "LS_COLORS=rs=0:di=01;34:ln=01;36",
        "rs=0:di=01;34:pwd",
        "eyJ",
        "a.b.c",
        "postgres://me@localhost/db",
        "-Dfile.encoding=UTF-8 -Xmx2g",
        "1.2.3",
        "sk-",
        "fly_away_home",
        "550e8400-e29b-41d4-a716-446655440000",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "git@github.com:me/x.git",
        "https://github.com/me/sk-toolkit/blob/main/README.md",
        "vim -c ':set nopwd'",
        "ghp_",
        "glpat-",
        "whsec_",
        "SG.UTF-8",
    ];

    #[test]
    fn secrets_are_known_by_their_values() {
        for secret in SECRETS {
            assert!(is_secret_value(secret.as_bytes()), "{secret}");
        }
    }

    #[test]
    fn ordinary_values_are_none() {
        for value in ORDINARY {
            assert!(!is_secret_value(value.as_bytes()), "{value}");
        }
    }

    proptest! {
        /// Paths, versions, words, numbers, lists of them, identifiers: whatever is ordinary.
        #[test]
        fn what_people_and_programs_write_is_none(value in prop_oneof![
            "(/[a-z][a-z0-9._-]{0,12}){1,6}(:(/[a-z][a-z0-9._-]{0,12}){1,4}){0,3}",
            "[a-z]{1,10}([ _.-][a-z0-9]{1,10}){0,8}",
            "[A-Z][A-Z_]{0,20}",
            "[0-9a-f]{0,64}",
            "[0-9]{1,4}(\\.[0-9]{1,4}){0,3}",
            "https?://[a-z]{1,10}\\.example(:[0-9]{2,4})?(/[a-z0-9]{0,10}){0,3}",
            "[a-z]{2}_[A-Z]{2}\\.UTF-8",
            "-?-[a-z-]{1,12}(=[a-z0-9/.]{0,10})?( -?-[a-z-]{1,12}){0,3}",
        ]) {
            prop_assert!(!is_secret_value(value.as_bytes()), "{}", value);
        }

        #[test]
        fn a_secret_is_found_between_other_words(
            before in "[a-z]{0,8}[ =:\"']",
            index in 0..14usize,
            after in "[ \"',;][a-z ]{0,8}",
        ) {
            let value = format!("{before}{}{after}", SECRETS[index]);
            prop_assert!(is_secret_value(value.as_bytes()), "{}", value);
        }

        #[test]
        fn any_bytes_are_looked_at(value in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = is_secret_value(&value);
        }
    }
}
