//! The parts of a value that are secret for themselves.

/// The lines of a value, as they are and where a line break is written as `\n`.
pub(crate) fn lines(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b'\n').flat_map(pieces)
}

/// What stands between spaces, quotation marks and signs of lists. Of `name=value` it is the value, and of a text with
/// `\n` written out the lines.
pub(crate) fn pieces(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_border = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`;,&<>(){}[]|".contains(byte);
    value.split(is_border).flat_map(|piece| {
        let mut parts = piece.split(|byte| *byte == b'\\');
        let first = parts.next().unwrap_or_default();
        let after =
            parts.map(|part| part.strip_prefix(b"n").or(part.strip_prefix(b"r")).unwrap_or(part));
        std::iter::once(first).chain(after).map(after_name)
    })
}

/// Without `name=` before it. The sign at the end of base 64 has nothing behind it.
fn after_name(piece: &[u8]) -> &[u8] {
    let at = piece.iter().position(|byte| *byte == b'=');
    match at {
        Some(at) if piece[at + 1..].iter().any(|byte| *byte != b'=') => &piece[at + 1..],
        _ => piece,
    }
}

/// The password of an address, or its user where it has no password: `https://TOKEN@host`.
pub(crate) fn password(value: &[u8]) -> Option<&[u8]> {
    let scheme = value.windows(3).position(|window| window == b"://")?;
    let rest = &value[scheme + 3..];
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    let authority = &rest[..end.unwrap_or(rest.len())];
    let user = &authority[..authority.iter().rposition(|byte| *byte == b'@')?];
    Some(match user.iter().position(|byte| *byte == b':') {
        Some(colon) => &user[colon + 1..],
        None => user,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_what_stands_between_signs() {
        let pieces = |value: &'static str| -> Vec<&str> {
            pieces(value.as_bytes()).map(|piece| std::str::from_utf8(piece).unwrap_or("")).collect()
        };
        assert_eq!(pieces("Bearer abc"), ["Bearer", "abc"]);
        assert_eq!(pieces("Server=x;Password=y"), ["x", "y"]);
        assert_eq!(pieces("abc=="), ["abc=="]);
        assert_eq!(pieces(r#"{"k":"a\nb"}"#), ["", "", "k", ":", "a", "b", "", ""]);
    }

    #[test]
    fn a_password_stands_before_the_host() {
        assert_eq!(password(b"https://u:p@h/x@y"), Some(&b"p"[..]));
        assert_eq!(password(b"https://tok@h"), Some(&b"tok"[..]));
        assert_eq!(password(b"https://h/x@y"), None);
        assert_eq!(password(b"u:p@h"), None);
    }
}
