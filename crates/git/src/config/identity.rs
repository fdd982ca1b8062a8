//! Names and addresses of persons.
//!
//! Git writes them into commits, logs and messages, and other programs show them. A name needs none of
//! the characters that a shell, a terminal or git itself takes for something else.

use super::value::is_unseen;

/// Longer ones are no names.
const MAX_BYTES: usize = 256;

pub(super) fn is_identity(value: &str) -> bool {
    let is_odd = |it: char| {
        is_unseen(it)
            || matches!(it, '$' | '`' | ';' | '|' | '&' | '<' | '>' | '\\' | '"' | '\u{2028}')
    };
    !value.trim().is_empty() && value.len() <= MAX_BYTES && !value.contains(is_odd)
}
