//! Names as file systems compare them that ignore case, or characters that nobody sees.

/// Code points that file systems ignore in names: Unicode's `Default_Ignorable_Code_Point`. Those that HFS+
/// ignores are among them.
const IGNORED: [(u32, u32); 17] = [
    (0xad, 0xad),
    (0x34f, 0x34f),
    (0x61c, 0x61c),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x202a, 0x202e),
    (0x2060, 0x206f),
    (0x3164, 0x3164),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfff8),
    (0x1_bca0, 0x1_bca3),
    (0x1_d173, 0x1_d17a),
    (0xe_0000, 0xe_0fff),
];

/// A name in small letters, without what is ignored. It ends with a NUL where the bytes are not UTF-8 any more,
/// because git reads no further when it compares such a name.
///
/// Letters beyond ASCII fold as far as they fold into ASCII. The names of git have no other letters.
pub(super) fn folded(name: &[u8]) -> String {
    let (text, is_cut) = match std::str::from_utf8(name) {
        Ok(text) => (text, false),
        Err(error) => {
            let text = std::str::from_utf8(&name[..error.valid_up_to()]);
            (text.unwrap_or_default(), true)
        }
    };
    let mut folded = String::with_capacity(name.len() + 1);
    for character in text.chars() {
        match character {
            one if is_ignored(one) => {}
            'ſ' => folded.push('s'),
            '\u{212a}' => folded.push('k'), // the sign for kelvin
            'ı' | 'İ' => folded.push('i'),
            'ﬀ' => folded.push_str("ff"),
            'ﬁ' => folded.push_str("fi"),
            'ﬂ' => folded.push_str("fl"),
            'ﬅ' | 'ﬆ' => folded.push_str("st"),
            'ß' | 'ẞ' => folded.push_str("ss"),
            // No characters, and to git the same as bytes that are not UTF-8.
            '\u{fffe}' | '\u{ffff}' => folded.push('\0'),
            one => folded.push(one.to_ascii_lowercase()),
        }
    }
    if is_cut {
        folded.push('\0');
    }
    folded
}

fn is_ignored(character: char) -> bool {
    let code = u32::from(character);
    IGNORED.iter().any(|(first, last)| (*first..=*last).contains(&code))
}
