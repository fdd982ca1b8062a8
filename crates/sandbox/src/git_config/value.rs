//! Values that do no harm wherever git uses them.

/// Longer values are no names, messages or patterns.
const MAX_BYTES: usize = 4 << 10;

/// As git reads one. A large number is true as well, and is none here.
pub(super) fn is_boolean(value: &str) -> bool {
    let is = |word: &&str| value.eq_ignore_ascii_case(word);
    ["true", "yes", "on", "1"].iter().any(is) || is_false(value)
}

pub(super) fn is_false(value: &str) -> bool {
    value.is_empty() || ["false", "no", "off", "0"].iter().any(|it| value.eq_ignore_ascii_case(it))
}

pub(super) fn is_one_of(value: &str, values: &[&str]) -> bool {
    values.iter().any(|known| value.eq_ignore_ascii_case(known))
}

pub(super) fn is_small_number(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let digits = digits.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']).unwrap_or(digits);
    (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// What git prints or records, and never interprets. Its lines may be several.
pub(super) fn is_plain_text(value: &str) -> bool {
    value.len() <= MAX_BYTES && !value.chars().any(|it| it.is_control() && it != '\n' && it != '\t')
}

/// The name of a branch or a submodule, which stands between dots.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_BYTES
        && !name.starts_with('-')
        && !name.chars().any(char::is_control)
        && !name.split(['/', '\\']).any(|part| part == "..")
}

pub(super) fn is_branch(name: &str) -> bool {
    is_plain_name(name) && !name.contains([' ', '~', '^', ':', '?', '*', '[', '\\'])
}

/// What to fetch, and where to keep it: not in the place of local branches.
pub(super) fn is_fetch(value: &str) -> bool {
    let plain = value.strip_prefix(['+', '^']).unwrap_or(value);
    let (from, to) = plain.split_once(':').unwrap_or((plain, ""));
    let is_reference = |name: &str| {
        name.len() <= MAX_BYTES
            && !name.starts_with('-')
            && !name.contains("..")
            && !name.chars().any(|it| it.is_control() || it == ' ' || it == ':')
    };
    let is_apart = ["refs/remotes/", "refs/tags/"].iter().any(|above| to.starts_with(above));
    !from.is_empty() && is_reference(from) && is_reference(to) && (to.is_empty() || is_apart)
}
