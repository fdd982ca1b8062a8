//! The files of a bisection. Some versions of git give parts of them to a shell.

use super::text::{is_id, is_label, line, lines, quoted_words};
use crate::log::is_printable;

/// The branch or commit that a bisection began at.
pub(super) fn start(content: &[u8]) -> bool {
    is_id(line(content)) || is_label(line(content))
}

/// The words for the two kinds of commits.
pub(super) fn terms(content: &[u8]) -> bool {
    content.split_inclusive(|byte| *byte == b'\n').count() == 2 && lines(content, is_term)
}

/// The paths that the bisection is confined to.
pub(super) fn names(content: &[u8]) -> bool {
    let has_no_escape = |word: &&[u8]| !word.contains(&b'\\') && !word.contains(&b'!');
    quoted_words(line(content)).is_some_and(|words| words.iter().all(has_no_escape))
}

/// What was done, in a form that `git bisect replay` does again.
pub(super) fn log(content: &[u8]) -> bool {
    lines(content, |line| {
        is_printable(line)
            && (line.starts_with(b"#") || line.strip_prefix(b"git bisect ").is_some_and(is_command))
    })
}

fn is_command(command: &[u8]) -> bool {
    let mut words = command.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    words.next().is_some_and(is_term) && words.all(is_argument)
}

/// A word, in single quotes or without.
fn is_argument(word: &[u8]) -> bool {
    let quoted = word.strip_prefix(b"'").and_then(|word| word.strip_suffix(b"'"));
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./=@-".contains(byte);
    match quoted {
        Some(word) => word.iter().all(|byte| plain(byte) || b"^~{}:*?".contains(byte)),
        None => word.iter().all(plain),
    }
}

fn is_term(word: &[u8]) -> bool {
    (1..=64).contains(&word.len())
        && word[0].is_ascii_lowercase()
        && word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
}
