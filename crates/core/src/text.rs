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

/// UTF-16 as UTF-8. A surrogate without its other half becomes U+FFFD. Nothing where there is no memory for it.
#[must_use]
pub fn from_utf16(units: &[u16]) -> Option<String> {
    let characters = || {
        let decoded = char::decode_utf16(units.iter().copied());
        decoded.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
    };
    let mut text = String::new();
    text.try_reserve_exact(characters().map(char::len_utf8).sum()).ok()?;
    text.extend(characters());
    Some(text)
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

/// From this limit on, cut output keeps its end too, after a line that says what is missing.
const BOTH_ENDS_FROM: usize = 1024;

/// How much of the beginning of an output that is longer than `limit` is shown.
#[must_use]
pub fn head_room(limit: usize) -> usize {
    if limit < BOTH_ENDS_FROM { limit } else { limit / 2 }
}

/// An output of `total` bytes, which are more than `limit`, as a command's is cut: its beginning, of which
/// `head` has [`head_room`] bytes, a line about the omission, and its end, of which `tail` has the rest.
#[must_use]
pub fn both_ends(head: &[u8], tail: &[u8], total: u64, limit: usize) -> Vec<u8> {
    let mut bytes = head[..whole_characters(head)].to_vec();
    if limit < BOTH_ENDS_FROM {
        return bytes;
    }
    let head_bytes = bytes.len();
    if bytes.last() != Some(&b'\n') {
        bytes.push(b'\n');
    }
    let marker = |missing: u64| format!("[output cut: {missing} bytes left out here]\n");
    // The number of missing bytes has no more digits than that of all bytes.
    let room = limit - bytes.len() - marker(total).len();
    let mut start = tail.len().saturating_sub(room);
    let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    start += tail[start..].iter().take(3).take_while(is_inside).count();
    let total_kept = head_bytes + tail.len() - start;
    bytes.extend_from_slice(marker(total - total_kept as u64).as_bytes());
    bytes.extend_from_slice(&tail[start..]);
    bytes
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
