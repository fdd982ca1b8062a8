//! Values that do no harm wherever git uses them.

/// Longer values are no names, messages or patterns.
const MAX_BYTES: usize = 4 << 10;

const TRUE: [&str; 4] = ["true", "yes", "on", "1"];
const FALSE: [&str; 5] = ["", "false", "no", "off", "0"];

/// As git reads one. A large number is true as well, and is none here.
pub(super) fn is_boolean(value: &str) -> bool {
    is_true(value) || is_false(value)
}

pub(super) fn is_true(value: &str) -> bool {
    is_one_of(value, &TRUE)
}

pub(super) fn is_false(value: &str) -> bool {
    is_one_of(value, &FALSE)
}

pub(super) fn is_one_of(value: &str, values: &[&str]) -> bool {
    values.iter().any(|known| value.eq_ignore_ascii_case(known))
}

/// A count. Git reads no sign, suffix or other digits in it.
pub(super) fn is_count(value: &str) -> bool {
    (1..=6).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// What git prints or records, and never interprets. Its lines may be several.
pub(super) fn is_plain_text(value: &str) -> bool {
    let is_line = |it: char| it == '\n' || it == '\t' || !is_unseen(it);
    value.len() <= MAX_BYTES && value.chars().all(is_line)
}

/// Words, numbers and what stands between them.
pub(super) fn is_words(value: &str) -> bool {
    let is_usual = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '=' | ',' | '.');
    !value.is_empty() && value.len() <= MAX_BYTES && value.chars().all(is_usual)
}

/// Characters that move a cursor, or change what the others look like.
pub(super) fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The name of a branch or a submodule, which stands between dots.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_BYTES
        && !name.starts_with('-')
        && !name.chars().any(is_unseen)
        && !name.split(['/', '\\']).any(|part| part == "..")
}

/// Where submodules lie, without the words that stand before a pattern.
pub(super) fn is_pathspec(value: &str) -> bool {
    is_plain_name(value) && !value.starts_with(':')
}

/// A reference that git accepts, in full or from its branch on.
pub(super) fn is_branch(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_lock = part.as_bytes().ends_with(b".lock");
        !part.is_empty() && !part.starts_with(['.', '-']) && !is_lock
    };
    is_plain_name(name)
        && name != "@"
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains([' ', '~', '^', ':', '?', '*', '[', '\\'])
        && name.split('/').all(is_part)
}

/// What to fetch, and where to keep it: among the branches of this very remote, or nowhere.
pub(super) fn is_fetch(value: &str, remote: &str) -> bool {
    let plain = value.strip_prefix(['+', '^']).unwrap_or(value);
    let (from, to) = plain.split_once(':').unwrap_or((plain, ""));
    let is_reference = |name: &str| {
        name.len() <= MAX_BYTES
            && !name.starts_with('-')
            && !name.contains("..")
            && !name.chars().any(|it| is_unseen(it) || it == ' ' || it == ':')
    };
    let below = to.strip_prefix("refs/remotes/").and_then(|to| to.strip_prefix(remote));
    let is_own = below.is_some_and(|below| below.len() > 1 && below.starts_with('/'));
    !from.is_empty() && is_reference(from) && is_reference(to) && (to.is_empty() || is_own)
}
