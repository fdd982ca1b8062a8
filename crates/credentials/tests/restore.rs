//! Laws of the way back: no value gets through, however an answer is cut into pieces, and nothing else changes.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use proptest::prelude::*;
use toolwright_credentials::{Restorer, Searches};

fn through(restorer: &mut Restorer, pieces: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        out.extend_from_slice(&restorer.push(Bytes::copy_from_slice(piece)));
    }
    out.extend_from_slice(&restorer.finish());
    out
}

const VALUE: &str = "ghp_CANARY0123456789abcdefABCDEF01234567";
const PLACEHOLDER: &str = "ghp_placeholder0000000000000000000000000";

fn restorer_of(value: &str, placeholder: &str) -> Restorer {
    Restorer::new(Arc::new(Searches::new([(value, placeholder)])))
}

fn restorer() -> Restorer {
    restorer_of(VALUE, PLACEHOLDER)
}

#[test]
fn a_value_that_is_split_at_any_offset_becomes_its_placeholder() {
    let text = format!("{{\"token\":\"{VALUE}\",\"again\":\"x{VALUE}{VALUE}\"}}");
    let expected = text.replace(VALUE, PLACEHOLDER);
    for first in 0..=text.len() {
        for second in (first..=text.len()).step_by(3) {
            let bytes = text.as_bytes();
            let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
            assert_eq!(through(&mut restorer(), &pieces), expected.as_bytes());
        }
    }
    let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    assert_eq!(through(&mut restorer(), &bytes), expected.as_bytes());
}

#[test]
fn no_form_of_a_value_gets_through() {
    let odd = "a/b+c=d~CANARY/0123?x";
    for value in [VALUE, odd] {
        let placeholder = "p".repeat(value.len());
        for before in 0..4 {
            for after in 0..4 {
                let text = format!("{}{value}{}", "u".repeat(before), "w".repeat(after));
                for coded in [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                    let mut restorer = restorer_of(value, &placeholder);
                    let pieces: Vec<&[u8]> = coded.as_bytes().chunks(5).collect();
                    let out = String::from_utf8(through(&mut restorer, &pieces)).unwrap();
                    assert_eq!(out.len(), coded.len());
                    let decoded = STANDARD.decode(&out).or_else(|_| URL_SAFE_NO_PAD.decode(&out));
                    let decoded = decoded.unwrap();
                    let middle = &decoded[before + 1..before + value.len() - 1];
                    assert!(middle.iter().all(|byte| *byte == b'p'), "{decoded:?}");
                }
            }
        }
    }
    let mut restorer = restorer_of(odd, "placeholder-00000000");
    for form in ["a%2Fb%2Bc%3Dd~CANARY%2F0123%3Fx", "a\\/b+c=d~CANARY\\/0123?x"] {
        let out = String::from_utf8(through(&mut restorer, &[form.as_bytes()])).unwrap();
        assert_eq!(out, "placeholder-00000000");
    }
    assert!(!restorer.keeps_length());
}

#[test]
fn what_cannot_become_a_value_is_not_kept_back() {
    let mut restorer = restorer();
    assert_eq!(restorer.push(Bytes::from_static(b"data: 1\n\n")), "data: 1\n\n");
    assert_eq!(restorer.push(Bytes::from_static(b"token gh")), "token ");
    assert_eq!(restorer.push(Bytes::from_static(b"x")), "ghx");
    assert_eq!(restorer.push(Bytes::from_static(b"ghp_CAN")), "");
    assert_eq!(restorer.finish(), "ghp_CAN");
}

proptest! {
    #[test]
    fn a_text_without_values_passes_as_it_is(
        text in proptest::collection::vec(any::<u8>(), 0..400),
        cuts in proptest::collection::vec(0_usize..400, 0..8),
    ) {
        let pieces = cut(&text, cuts);
        prop_assert_eq!(through(&mut restorer(), &pieces), text);
    }

    #[test]
    fn a_stream_is_what_the_whole_is(
        words in proptest::collection::vec("(ghp_|ghp_CANARY|g|0123|[a-z]{0,3})", 0..20),
        values in proptest::collection::vec(0_usize..20, 0..4),
        cuts in proptest::collection::vec(0_usize..600, 0..8),
    ) {
        let mut words = words;
        for at in values {
            words.insert(at.min(words.len()), VALUE.to_owned());
        }
        let text = words.concat();
        let pieces = cut(text.as_bytes(), cuts);
        let out = String::from_utf8(through(&mut restorer(), &pieces)).unwrap();
        prop_assert!(!out.contains(VALUE));
        prop_assert_eq!(out, text.replace(VALUE, PLACEHOLDER));
    }
}

fn cut(bytes: &[u8], mut cuts: Vec<usize>) -> Vec<&[u8]> {
    cuts.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for cut in cuts {
        let to = cut.clamp(from, bytes.len());
        pieces.push(&bytes[from..to]);
        from = to;
    }
    pieces.push(&bytes[from..]);
    pieces
}
