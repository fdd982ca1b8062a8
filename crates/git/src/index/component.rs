//! Names of files that git checks out. A stand-in until the crate has one place for them.

/// Whether git would check out a file or directory of this name on any system.
pub(super) fn is_allowed(name: &[u8]) -> bool {
    if matches!(name, b"" | b"." | b"..") || name.contains(&0) {
        return false;
    }
    let Some(first) = name.first() else { return false };
    if !matches!(first, b'.' | b'g' | b'G' | 0xe2 | 0xef) && !name.contains(&b'\\') {
        return true;
    }
    let plain: Vec<u8> = match std::str::from_utf8(name) {
        Ok(text) => text.chars().filter(|it| !is_ignored(*it)).collect::<String>().into_bytes(),
        Err(_) => name.to_vec(),
    };
    !plain.split(|byte| *byte == b'\\').any(|part| {
        let part = part.split(|byte| *byte == b':').next().unwrap_or_default();
        let end = part.iter().rposition(|byte| !matches!(byte, b' ' | b'.'));
        let part = part.get(..end.map_or(0, |end| end + 1)).unwrap_or_default();
        part.eq_ignore_ascii_case(b".git") || part.eq_ignore_ascii_case(b"git~1")
    })
}

/// HFS+ does not distinguish names by these.
fn is_ignored(character: char) -> bool {
    matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}
