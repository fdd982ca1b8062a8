//! The text of a glob: which names it has in full, and how its brackets read as parts of names.
//!
//! `app/[slug]/page.tsx` is a class of four letters to a glob, and a file to whoever works with Next.js.

/// So many alternatives of a pattern are looked at.
const MAX_ALTERNATIVES: usize = 64;
/// Deeper braces are left as they are.
const MAX_DEPTH: usize = 8;

/// A group in brackets or braces.
struct Group {
    /// Behind its last character.
    end: usize,
    /// Where its commas are, for braces.
    commas: Vec<usize>,
}

/// The group that begins at `start`.
fn group(text: &[u8], start: usize) -> Option<Group> {
    if text[start] == b'[' {
        let mut at = start + 1;
        at += usize::from(matches!(text.get(at), Some(b'!' | b'^')));
        // A bracket that comes first stands for itself.
        at += usize::from(text.get(at) == Some(&b']'));
        let length = text.get(at..)?.iter().position(|&byte| byte == b']')?;
        return Some(Group { end: at + length + 1, commas: Vec::new() });
    }
    let (mut at, mut depth, mut commas) = (start, 0_usize, Vec::new());
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 1,
            b'[' => at = group(text, at)?.end - 1,
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(Group { end: at + 1, commas }),
            b'}' => depth -= 1,
            b',' if depth == 1 => commas.push(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The same glob, in which each group in brackets or braces also stands for its own text:
/// `[slug]` is `{[slug],\[slug\]}`.
pub(crate) fn with_groups_as_names(pattern: &str) -> String {
    let mut result = String::with_capacity(pattern.len());
    rewrite(pattern, MAX_DEPTH, &mut result);
    result
}

fn rewrite(pattern: &str, depth: usize, result: &mut String) {
    let text = pattern.as_bytes();
    let (mut at, mut copied) = (0, 0);
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'[' | b'{' if depth > 0 => {
                let Some(Group { end, commas }) = group(text, at) else { break };
                let whole = &pattern[at..end];
                result.push_str(&pattern[copied..at]);
                if text[at] == b'[' && whole.contains('/') {
                    result.push_str(whole);
                } else if text[at] == b'[' {
                    result.push('{');
                    result.push_str(whole);
                    result.push(',');
                    escape(whole, result);
                    result.push('}');
                } else {
                    result.push('{');
                    let mut from = at + 1;
                    for to in commas.into_iter().chain([end - 1]) {
                        rewrite(&pattern[from..to], depth - 1, result);
                        result.push(',');
                        from = to + 1;
                    }
                    escape(whole, result);
                    result.push('}');
                }
                (at, copied) = (end, end);
            }
            _ => at += 1,
        }
    }
    result.push_str(&pattern[copied..]);
}

/// Puts a backslash before each character that is not itself in a glob.
fn escape(name: &str, result: &mut String) {
    for character in name.chars() {
        if "*?[]{}\\,!#".contains(character) {
            result.push('\\');
        }
        result.push(character);
    }
}

/// A glob for exactly this name.
#[must_use]
pub fn escaped(name: &str) -> String {
    let mut result = String::with_capacity(name.len());
    escape(name, &mut result);
    result
}

/// The pattern once for each choice among its braces.
pub(crate) fn alternatives(pattern: &str) -> Vec<String> {
    let mut left = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(one) = left.pop() {
        let text = one.as_bytes();
        let mut at = 0;
        let braces = loop {
            match text.get(at) {
                None => break None,
                Some(b'\\') => at += 2,
                Some(b'[') => at = group(text, at).map_or(at + 1, |group| group.end),
                Some(b'{') => break group(text, at).map(|group| (at, group)),
                Some(_) => at += 1,
            }
        };
        match braces {
            Some((start, Group { end, commas })) if left.len() + done.len() < MAX_ALTERNATIVES => {
                let mut from = start + 1;
                for to in commas.into_iter().chain([end - 1]) {
                    left.push([&one[..start], &one[from..to], &one[end..]].concat());
                    from = to + 1;
                }
            }
            _ => done.push(one),
        }
    }
    done
}

/// The name that a part of a pattern stands for. `None` if it stands for several.
pub(crate) fn unescaped(part: &str) -> Option<String> {
    let mut name = String::with_capacity(part.len());
    let mut characters = part.chars();
    while let Some(character) = characters.next() {
        match character {
            '*' | '?' | '[' | '{' => return None,
            '\\' => name.push(characters.next()?),
            _ => name.push(character),
        }
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_names_too() {
        for (pattern, expected) in [
            ("a/[slug]/b", "a/{[slug],\\[slug\\]}/b"),
            ("*.{ts,tsx}", "*.{ts,tsx,\\{ts\\,tsx\\}}"),
            ("{x}", "{x,\\{x\\}}"),
            ("{[a],b}", "{{[a],\\[a\\]},b,\\{\\[a\\]\\,b\\}}"),
            ("[]a]", "{[]a],\\[\\]a\\]}"),
            ("\\[a\\]", "\\[a\\]"),
            ("[a/b]", "[a/b]"),
            ("[a", "[a"),
            ("a{b", "a{b"),
            ("**/*", "**/*"),
            ("é[ü]", "é{[ü],\\[ü\\]}"),
        ] {
            assert_eq!(with_groups_as_names(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn braces_are_choices() {
        let of = |pattern: &str| {
            let mut all = alternatives(pattern);
            all.sort();
            all
        };
        assert_eq!(of("{a,b/{c,d}}/e"), ["a/e", "b/c/e", "b/d/e"]);
        assert_eq!(of("\\{a,b}"), ["\\{a,b}"]);
        assert_eq!(of("a{b"), ["a{b"]);
        assert!(of(&"{a,b}".repeat(30)).len() <= MAX_ALTERNATIVES + 1);
    }

    #[test]
    fn a_part_without_wildcards_is_a_name() {
        assert_eq!(unescaped("a\\[b\\]").as_deref(), Some("a[b]"));
        for part in ["*", "a?", "[a]", "{a}", "a\\"] {
            assert_eq!(unescaped(part), None, "{part}");
        }
    }
}
