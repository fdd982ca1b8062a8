//! Text that is cut to a limit, never in the middle of a character.

use std::borrow::Cow;

use toolwright_fs::whole_characters;

/// The text of at most `limit` bytes. Decoding makes three bytes of one that is not UTF-8, so bytes
/// within the limit may become a text that is not, which is cut.
#[must_use]
pub fn within(bytes: Vec<u8>, limit: usize) -> String {
    let mut text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    if text.len() > limit {
        text.truncate(whole_characters(&text.as_bytes()[..limit]));
    }
    text
}

/// The beginning of a line, with an ellipsis where more of it follows.
#[must_use]
pub fn clipped(line: &[u8], limit: usize) -> Cow<'_, str> {
    if line.len() <= limit {
        return String::from_utf8_lossy(line);
    }
    let mut text = within(line[..whole_characters(&line[..limit])].to_vec(), limit);
    text.push('…');
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_character_is_kept_whole_or_left_out() {
        assert_eq!(within("aé".into(), 2), "a");
        assert_eq!(within("aé".into(), 3), "aé");
        assert_eq!(within("😀😀".into(), 7), "😀");
        assert_eq!(within("😀".into(), 3), "");
        assert_eq!(within("".into(), 0), "");
        assert_eq!(clipped(b"abc", 3), "abc");
        assert_eq!(clipped(b"abcd", 3), "abc…");
        assert_eq!(clipped("aéb".as_bytes(), 2), "a…");
        assert_eq!(clipped("😀😀".as_bytes(), 6), "😀…");
    }

    #[test]
    fn bytes_that_are_no_text_become_replacement_characters() {
        assert_eq!(within(vec![b'a', 0xff], 4), "a\u{fffd}");
        assert_eq!(within(vec![b'a', 0xff, 0xff], 5), "a\u{fffd}");
        assert_eq!(clipped(&[0x80, 0x80, 0x80, 0x80, 0x80], 4), "\u{fffd}…");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_longest_prefix_within_the_limit_is_kept(text in ".{0,20}", limit in 0..30_usize) {
            let cut = within(text.clone().into_bytes(), limit);
            prop_assert!(cut.len() <= limit && text.starts_with(&cut));
            let next = text[cut.len()..].chars().next();
            prop_assert!(next.is_none_or(|next| cut.len() + next.len_utf8() > limit));
        }

        #[test]
        fn any_bytes_stay_within_the_limit(bytes in prop::collection::vec(any::<u8>(), 0..20), limit in 0..30_usize) {
            prop_assert!(within(bytes.clone(), limit).len() <= limit);
            let clipped = clipped(&bytes, limit);
            prop_assert_eq!(clipped.ends_with('…') && bytes.len() > limit, bytes.len() > limit);
        }
    }
}
