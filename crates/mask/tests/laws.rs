//! The laws of masking: no byte of a secret is left, nothing else changes, and neither depends on where pieces end.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use toolwright_mask::{Counts, Mask, Secret};

/// More than the longest literal, and the window of formats with a piece.
const MAX_HELD: usize = 40 << 10;

fn cases() -> u32 {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|f| f.parse().ok());
    300 * factor.unwrap_or(1)
}

fn mask(values: &[&str], formats: bool) -> Arc<Mask> {
    let secret =
        |(index, value): (usize, &&str)| Secret::given(&format!("S{index}"), value.as_bytes());
    let secrets: Vec<_> = values.iter().enumerate().map(secret).collect();
    Arc::new(Mask::new(&secrets, formats).unwrap())
}

fn whole(mask: &Mask, text: &[u8]) -> Vec<u8> {
    mask.masked(text, &mut Counts::default()).into_owned()
}

fn streamed<'p>(mask: &Arc<Mask>, pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    let (mut masker, mut out) = (mask.stream(), Vec::new());
    for piece in pieces {
        masker.push(piece, &mut out);
        assert!(masker.held() <= MAX_HELD, "{} bytes are kept back", masker.held());
    }
    masker.finish(&mut out);
    assert_eq!(masker.held(), 0);
    out
}

/// What is left when every byte of every occurrence is gone.
fn without(values: &[String], text: &[u8]) -> Vec<u8> {
    let mut is_secret = vec![false; text.len()];
    for value in values.iter().map(String::as_bytes) {
        for at in 0..text.len() {
            if text[at..].starts_with(value) {
                is_secret[at..at + value.len()].fill(true);
            }
        }
    }
    text.iter().zip(is_secret).filter(|(_, secret)| !secret).map(|(byte, _)| *byte).collect()
}

fn without_names(text: &[u8]) -> Vec<u8> {
    let mut rest = String::from_utf8(text.to_vec()).unwrap();
    for index in 0..9 {
        rest = rest.replace(&format!("[S{index}]"), "");
    }
    rest.into_bytes()
}

const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A token of GitHub or npm with its checksum.
fn with_checksum(beginning: &str, body: &str) -> String {
    let mut rest = crc32fast::hash(body.as_bytes());
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    format!("{beginning}{body}{}", std::str::from_utf8(&digits).unwrap())
}

/// One text of each format, made up here, by the name that stands in its place.
fn tokens() -> Vec<(&'static str, String)> {
    let letters =
        |count: usize| "aB3dE5gH7jK9mN1pQ".chars().cycle().take(count).collect::<String>();
    let hex = |count: usize| "0a1b2c3d4e5f6789".chars().cycle().take(count).collect::<String>();
    let capitals =
        |count: usize| "A2B3C4D5E6F7GHIJ".chars().cycle().take(count).collect::<String>();
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        vec![letters(64); 12].join("\n")
    );
    vec![
        ("GITHUB_TOKEN", with_checksum("ghp_", &letters(30))),
        ("GITHUB_TOKEN", with_checksum("gho_", &letters(30))),
        ("GITHUB_TOKEN", with_checksum("ghs_", &letters(30))),
        ("GITHUB_TOKEN", format!("github_pat_{}_{}", letters(22), letters(59))),
        ("NPM_TOKEN", with_checksum("npm_", &letters(30))),
        ("AWS_ACCESS_KEY_ID", format!("AKIA{}", capitals(16))),
        ("AWS_ACCESS_KEY_ID", format!("ASIA{}", capitals(16))),
        ("ANTHROPIC_API_KEY", format!("sk-ant-api03-{}AA", letters(93))),
        ("OPENAI_API_KEY", format!("sk-proj-{}T3BlbkFJ{}", letters(74), letters(74))),
        ("OPENAI_API_KEY", format!("sk-{}T3BlbkFJ{}", letters(20), letters(20))),
        ("OPENROUTER_API_KEY", format!("sk-or-v1-{}", hex(64))),
        ("SLACK_TOKEN", format!("xoxb-123456789012-123456789012-{}", letters(24))),
        ("SLACK_TOKEN", format!("xapp-1-A0123456789-1234567890123-{}", hex(64))),
        ("SLACK_TOKEN", format!("xoxe.xoxp-1-{}", letters(120))),
        ("STRIPE_KEY", format!("sk_live_{}", letters(24))),
        ("STRIPE_KEY", format!("rk_test_{}", letters(99))),
        ("STRIPE_WEBHOOK_SECRET", format!("whsec_{}", letters(32))),
        ("GOOGLE_API_KEY", format!("AIza{}", letters(35))),
        ("GOOGLE_CLIENT_SECRET", format!("GOCSPX-{}", letters(28))),
        ("GOOGLE_TOKEN", format!("ya29.{}", letters(100))),
        ("GITLAB_TOKEN", format!("glpat-{}", letters(20))),
        ("GITLAB_TOKEN", format!("glpat-{}.01.0a1b2c3d4", letters(27))),
        ("PYPI_TOKEN", format!("pypi-AgEIcHlwaS5vcmc{}", letters(120))),
        ("HUGGING_FACE_TOKEN", format!("hf_{}", letters(34))),
        ("SENDGRID_API_KEY", format!("SG.{}.{}", letters(22), letters(43))),
        ("DIGITALOCEAN_TOKEN", format!("dop_v1_{}", hex(64))),
        ("DOCKER_TOKEN", format!("dckr_pat_{}", letters(27))),
        ("DATABRICKS_TOKEN", format!("dapi{}", hex(32))),
        ("SHOPIFY_TOKEN", format!("shpat_{}", hex(32))),
        ("SENTRY_TOKEN", format!("sntryu_{}", hex(64))),
        ("LINEAR_API_KEY", format!("lin_api_{}", letters(40))),
        ("NOTION_TOKEN", format!("ntn_12345678901{}", letters(35))),
        ("GROQ_API_KEY", format!("gsk_{}", letters(52))),
        ("XAI_API_KEY", format!("xai-{}", letters(80))),
        ("PERPLEXITY_API_KEY", format!("pplx-{}", letters(48))),
        ("REPLICATE_API_TOKEN", format!("r8_{}", letters(37))),
        ("VAULT_TOKEN", format!("hvs.{}", letters(95))),
        ("AGE_SECRET_KEY", format!("AGE-SECRET-KEY-1{}", capitals(58))),
        ("JWT", format!("eyJ{}.eyJ{}.{}", letters(30), letters(80), letters(43))),
        ("PRIVATE_KEY", key),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Values that overlap, contain each other and repeat themselves.
    #[test]
    fn no_byte_of_a_value_is_left_and_no_other_changes(
        values in vec("[ab]{8,12}", 1..5),
        text in "[ab ]{0,120}",
        cuts in vec(0usize..121, 0..8),
    ) {
        let known: Vec<&str> = values.iter().map(String::as_str).collect();
        let mask = mask(&known, false);
        let text = text.as_bytes();
        let masked = whole(&mask, text);
        prop_assert_eq!(without_names(&masked), without(&values, text));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        prop_assert_eq!(streamed(&mask, pieces), masked.clone());
        prop_assert_eq!(whole(&mask, &masked), masked);
    }

    #[test]
    fn what_has_no_secret_is_the_same(
        bytes in vec(any::<u8>(), 0..4000),
        size in 1usize..700,
        formats in any::<bool>(),
    ) {
        let mask = mask(&["x7Gk29QmZp41", "a8Kd93jfKq02LmxZ77Tb"], formats);
        prop_assert_eq!(&whole(&mask, &bytes), &bytes);
        prop_assert_eq!(streamed(&mask, bytes.chunks(size)), bytes);
    }

    /// Beginnings of tokens and pieces of them, in any order.
    #[test]
    fn formats_do_not_depend_on_where_pieces_end(
        parts in vec(prop_oneof![
            (0usize..40).prop_map(|index| tokens()[index].1.clone()),
            (0usize..40, 1usize..30).prop_map(|(index, length)| tokens()[index].1[..length.min(tokens()[index].1.len())].to_owned()),
            "[a-zA-Z0-9_. \n-]{0,20}",
            Just("-----BEGIN PRIVATE KEY-----\n".to_owned()),
            Just("\n".to_owned()),
        ], 0..12),
        size in 1usize..200,
    ) {
        let mask = mask(&["x7Gk29QmZp41"], true);
        let text = parts.concat();
        let masked = whole(&mask, text.as_bytes());
        prop_assert_eq!(
            String::from_utf8(streamed(&mask, text.as_bytes().chunks(size))).unwrap(),
            String::from_utf8(masked.clone()).unwrap()
        );
        prop_assert_eq!(whole(&mask, &masked), masked);
    }
}

#[test]
fn a_value_is_masked_wherever_a_piece_ends_in_it() {
    let value = "x7Gk29QmZp41-a8Kd93jfKq02LmxZ77Tb";
    let mask = mask(&[value], false);
    let text = format!("a token {value}, and {value}\n");
    for first in 0..=text.len() {
        let (one, rest) = text.as_bytes().split_at(first);
        for second in [0, 1, rest.len() / 2, rest.len()] {
            let (two, three) = rest.split_at(second.min(rest.len()));
            assert_eq!(streamed(&mask, [one, two, three]), b"a token [S0], and [S0]\n");
        }
    }
    assert_eq!(streamed(&mask, text.as_bytes().chunks(1)), b"a token [S0], and [S0]\n");
}

#[test]
fn a_value_is_known_in_base_64_and_in_addresses() {
    let mask = mask(&["x7Gk/29Qm+Zp41"], false);
    for (text, masked) in [
        // `x7Gk/29Qm+Zp41`, `u:x7Gk/29Qm+Zp41` and `me:x7Gk/29Qm+Zp41`.
        ("eDdHay8yOVFtK1pwNDE=", "[S0]E="),
        ("dTp4N0drLzI5UW0rWnA0MQ==", "dTp4[S0]Q=="),
        ("bWU6eDdHay8yOVFtK1pwNDE=", "bWU6[S0]E="),
        ("https://u:x7Gk%2F29Qm%2BZp41@h", "https://u:[S0]@h"),
    ] {
        let masked_text = String::from_utf8(whole(&mask, text.as_bytes())).unwrap();
        assert!(masked_text.contains("[S0]"), "{text}: {masked_text}");
        assert!(masked_text.len() <= masked.len() + 4, "{masked_text}");
    }
}

#[test]
fn each_format_is_masked_wherever_a_piece_ends_in_it() {
    let mask = Arc::new(Mask::new(&[], true).unwrap());
    for (name, token) in tokens() {
        let text = format!("token: {token}\nnext\n");
        let expected = format!("token: [{name}]\nnext\n");
        let masked = String::from_utf8(whole(&mask, text.as_bytes())).unwrap();
        assert_eq!(masked, expected);
        for at in 0..=text.len() {
            let (one, two) = text.as_bytes().split_at(at);
            let masked = String::from_utf8(streamed(&mask, [one, two])).unwrap();
            assert_eq!(masked, expected, "{name}, divided at {at}");
        }
        assert_eq!(streamed(&mask, text.as_bytes().chunks(1)), expected.as_bytes(), "{name}");
        // At the end, and in a longer word.
        assert_eq!(streamed(&mask, [token.as_bytes()]), format!("[{name}]").as_bytes());
        if name != "PRIVATE_KEY" {
            assert_eq!(
                whole(&mask, format!("x{token}").as_bytes()),
                format!("x{token}").as_bytes()
            );
        }
    }
}

#[test]
fn what_only_looks_like_a_token_stays() {
    let mask = Mask::new(&[], true).unwrap();
    for text in [
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "npm_config_registry=https://registry.npmjs.org/",
        "-----BEGIN PRIVATE KEY-----",
        "const HEADER = '-----BEGIN RSA PRIVATE KEY-----\\n'",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "sk-learn-is-a-library-for-machine-learning-with-many-words",
        "glpat-is-the-beginning-of-a-token-of-gitlab",
        "eyJ.eyJ.",
        "AKIAIOSFODNN7EX",
    ] {
        assert_eq!(whole(&mask, text.as_bytes()), text.as_bytes());
    }
}

/// A token that is longer than what is kept back is masked whole, and what follows is not.
#[test]
fn a_token_without_end_takes_no_memory() {
    let mask = Arc::new(Mask::new(&[], true).unwrap());
    let head = "eyJhbGciOiJIUzI1NiJ9aaaa.eyJzdWIiOiIxMjM0NTY3ODkwIn0.";
    let long = format!("{head}{}", "a1B2c3D4".repeat(20_000));
    let text = format!("{long} next");
    assert!(streamed(&mask, text.as_bytes().chunks(1000)) == b"[JWT] next");
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}", "a1B2c3D4a1B2c3D4\n".repeat(9000));
    let text = format!("{key}-----END PRIVATE KEY-----\nnext");
    let masked = streamed(&mask, text.as_bytes().chunks(1000));
    assert!(masked == b"[PRIVATE_KEY]-----END PRIVATE KEY-----\nnext");
    let text = "a".repeat(200_000);
    assert!(streamed(&mask, text.as_bytes().chunks(1000)) == text.as_bytes());
}

/// Texts that are nearly tokens take time that grows with their length: with its square, each would take hours.
#[test]
fn hostile_text_takes_no_longer() {
    let mask = Arc::new(Mask::new(&[], true).unwrap());
    for part in [
        "aeyJa-",
        "eyJa-",
        "glpat-abcdefghijklmnopqrstuvwx-",
        "-----BEGIN ",
        "npm_",
        "aAKIA",
        "sk-ant-api03-",
    ] {
        let text = part.repeat((2 << 20) / part.len());
        let started = std::time::Instant::now();
        let out = streamed(&mask, text.as_bytes().chunks(64 << 10));
        let took = started.elapsed();
        assert!(took.as_secs_f64() < 90.0, "{part}: {took:?} for {} bytes", out.len());
        let text = &text.as_bytes()[..100_000];
        let started = std::time::Instant::now();
        let _ = streamed(&mask, text.chunks(1));
        assert!(
            started.elapsed().as_secs_f64() < 90.0,
            "{part}, byte by byte: {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn places_are_counted_by_name() {
    let mask = mask(&["x7Gk29QmZp41", "a8Kd93jfKq02"], false);
    let mut counts = Counts::default();
    let _ = mask.masked(b"a8Kd93jfKq02 x7Gk29QmZp41 a8Kd93jfKq02", &mut counts);
    assert_eq!(counts.list(), [("S1".to_owned(), 2), ("S0".to_owned(), 1)]);
    assert_eq!(counts.total(), 3);
}
