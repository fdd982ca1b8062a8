//! Laws of frames: no value gets through in one, each stays as long as it was, and none waits for another.

use std::sync::Arc;

use proptest::prelude::*;
use toolwright_credentials::{Frames, Searches};

const VALUE: &str = "ghp_CANARY/0123456789abcdefABCDEF0123456";
const PLACEHOLDER: &str = "ghp_placeholder0000000000000000000000000";

fn frames() -> Frames {
    Frames::new(Arc::new(Searches::new([(VALUE, PLACEHOLDER)])))
}

fn frame(content: &[u8], key: Option<[u8; 4]>) -> Vec<u8> {
    let mask = if key.is_some() { 0x80 } else { 0 };
    let mut all = vec![0x81];
    match content.len() {
        length @ 0..126 => all.push(mask | u8::try_from(length).expect("short")),
        length @ 126..0x1_0000 => {
            all.push(mask | 0x7e);
            all.extend(u16::try_from(length).expect("short").to_be_bytes());
        }
        length => {
            all.push(mask | 0x7f);
            all.extend((length as u64).to_be_bytes());
        }
    }
    all.extend(key.into_iter().flatten());
    all.extend_from_slice(content);
    all
}

#[test]
fn a_message_is_passed_on_when_it_is_there() {
    let mut frames = frames();
    let ends_like_a_value = frame(b"it may begin: ghp_CANARY", None);
    assert_eq!(frames.push(&ends_like_a_value), ends_like_a_value);
    let long = frame(VALUE.repeat(2_000).as_bytes(), None);
    assert_eq!(frames.push(&long), frame(PLACEHOLDER.repeat(2_000).as_bytes(), None));
    let in_url = frame(b"ghp_CANARY%2F0123456789abcdefABCDEF0123456", None);
    assert_eq!(frames.push(&in_url), frame(format!("{PLACEHOLDER}xx").as_bytes(), None));
    let masked = frame(VALUE.as_bytes(), Some([0; 4]));
    assert_eq!(frames.push(&masked), masked, "its key may be any");
}

proptest! {
    #[test]
    fn frames_are_what_they_were_but_for_values(
        messages in proptest::collection::vec(("[a-z]{0,200}", 0_usize..3, "(ghp_|g|[a-z]{0,80})"), 1..6),
        piece in 1_usize..300,
    ) {
        let text = |value: &str| {
            let one = |(before, count, after): &(String, usize, String)| {
                frame(format!("{before}{}{after}", value.repeat(*count)).as_bytes(), None)
            };
            messages.iter().map(one).collect::<Vec<_>>().concat()
        };
        let mut frames = frames();
        let out: Vec<u8> = text(VALUE).chunks(piece).flat_map(|piece| frames.push(piece)).collect();
        prop_assert_eq!(out, text(PLACEHOLDER));
    }

    #[test]
    fn what_is_no_frame_comes_out_as_long_as_it_was_or_waits(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let mut frames = frames();
        let out: Vec<u8> = bytes.chunks(7).flat_map(|piece| frames.push(piece)).collect();
        prop_assert!(out.len() <= bytes.len() && bytes.starts_with(&out));
    }
}
