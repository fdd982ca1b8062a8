//! Options that a stopped operation has noted for its end.

use super::text::{is_number, line, lines, quoted_words};
use crate::log::is_printable;

/// The author of the commit that an operation stopped at: three variables in single quotes. A version of git
/// may give this file to a shell.
pub(super) fn author_script(content: &[u8]) -> bool {
    let mut lines = line(content).split(|byte| *byte == b'\n');
    let names: [&[u8]; 3] = [b"GIT_AUTHOR_NAME=", b"GIT_AUTHOR_EMAIL=", b"GIT_AUTHOR_DATE="];
    let all = names
        .iter()
        .all(|name| lines.next().and_then(|line| line.strip_prefix(*name)).is_some_and(is_quoted));
    all && lines.next().is_none()
}

/// A way of merging.
pub(super) fn strategy(content: &[u8]) -> bool {
    is_strategy(line(content))
}

/// Options of a way of merging: ` --ours --patience`, or `"ours" "patience"` since git 2.41.
pub(super) fn strategy_options(content: &[u8]) -> bool {
    line(content).split(|byte| *byte == b' ').filter(|word| !word.is_empty()).all(|word| {
        let unquoted = [b'"', b'\'']
            .iter()
            .find_map(|quote| word.strip_prefix(&[*quote])?.strip_suffix(&[*quote]));
        let word = unquoted.unwrap_or(word);
        is_strategy_option(word.strip_prefix(b"--").unwrap_or(word))
    })
}

/// Options of `git apply`.
pub(super) fn apply_options(content: &[u8]) -> bool {
    quoted_words(line(content)).is_some_and(|words| words.into_iter().all(is_apply_option))
}

/// Options of a cherry-pick or a revert, in the form of a configuration.
pub(super) fn pick_options(content: &[u8]) -> bool {
    lines(content, |line| {
        let Some(entry) = line.strip_prefix(b"\t") else { return line == b"[options]" };
        let mut words = entry.splitn(3, |byte| *byte == b' ');
        let (key, equals, value) = (words.next(), words.next(), words.next().unwrap_or_default());
        let is_value = match key.unwrap_or_default() {
            b"no-commit"
            | b"edit"
            | b"allow-empty"
            | b"allow-empty-message"
            | b"drop-redundant-commits"
            | b"keep-redundant-commits"
            | b"signoff"
            | b"record-origin"
            | b"allow-ff"
            | b"allow-rerere-auto" => matches!(value, b"true" | b"false"),
            b"mainline" => is_number(value),
            b"strategy" => is_strategy(value),
            b"strategy-option" => is_strategy_option(value),
            b"default-msg-cleanup" => {
                matches!(value, b"verbatim" | b"whitespace" | b"strip" | b"scissors" | b"default")
            }
            _ => false,
        };
        equals == Some(b"=") && is_value
    })
}

/// A value in single quotes. `'` is written `'\''`, and `!` may be written `'\!'`.
fn is_quoted(text: &[u8]) -> bool {
    let Some(text) = text.strip_prefix(b"'").and_then(|text| text.strip_suffix(b"'")) else {
        return false;
    };
    let mut rest = text;
    loop {
        let Some(at) = rest.iter().position(|byte| *byte == b'\'') else {
            return is_printable(text);
        };
        let quote = &rest[at..];
        match quote.strip_prefix(br"'\''").or_else(|| quote.strip_prefix(br"'\!'")) {
            Some(after) => rest = after,
            None => return false,
        }
    }
}

fn is_strategy(name: &[u8]) -> bool {
    matches!(name, b"recursive" | b"ort" | b"resolve" | b"octopus" | b"ours" | b"subtree")
}

fn is_strategy_option(word: &[u8]) -> bool {
    let is_plain = |value: &[u8]| {
        value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_./%-".contains(byte))
    };
    if let Some(at) = word.iter().position(|byte| *byte == b'=') {
        let names: [&[u8]; 4] =
            [b"subtree", b"diff-algorithm", b"find-renames", b"rename-threshold"];
        return names.contains(&&word[..at]) && is_plain(&word[at + 1..]);
    }
    let names: [&[u8]; 13] = [
        b"ours",
        b"theirs",
        b"subtree",
        b"patience",
        b"histogram",
        b"ignore-space-change",
        b"ignore-all-space",
        b"ignore-space-at-eol",
        b"ignore-cr-at-eol",
        b"renormalize",
        b"no-renormalize",
        b"no-renames",
        b"find-renames",
    ];
    names.contains(&word)
}

fn is_apply_option(word: &[u8]) -> bool {
    let number = word.strip_prefix(b"-C").or_else(|| word.strip_prefix(b"-p"));
    let whitespace = word.strip_prefix(b"--whitespace=");
    number.is_some_and(is_number)
        || whitespace.is_some_and(|how| {
            matches!(how, b"nowarn" | b"warn" | b"fix" | b"error" | b"error-all" | b"strip")
        })
        || matches!(word, b"--ignore-space-change" | b"--ignore-whitespace" | b"--reject")
}
