//! Lists of what a rebase, a cherry-pick or a revert still does.
//!
//! A list can run programs. What comes back has only the lines that handle commits.

use super::text::{is_id, is_label, is_short_id, lines};
use crate::log::is_printable;
use crate::refs::RefName;

/// The list of a rebase.
pub(super) fn rebase(content: &[u8]) -> bool {
    lines(content, |line| line.is_empty() || (is_printable(line) && is_line(line)))
}

/// The list of a cherry-pick or a revert.
pub(super) fn pick_or_revert(content: &[u8]) -> bool {
    lines(content, |line| {
        let (command, rest) = word(line);
        is_printable(line)
            && matches!(command, b"pick" | b"p" | b"revert")
            && is_short_id(word(rest).0)
    })
}

/// What is being squashed.
pub(super) fn fixups(content: &[u8]) -> bool {
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    content.split(|byte| *byte == b'\n').all(|line| {
        let (command, rest) = word(line);
        line.is_empty()
            || matches!(command, b"fixup" | b"squash") && is_short_id(without_option(rest))
    })
}

/// Branches, with their values before and after, that a rebase moves when it ends.
pub(super) fn update_refs(content: &[u8]) -> bool {
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    lines.chunks(3).all(|record| {
        let line = |index: usize| record.get(index).and_then(|line| line.strip_suffix(b"\n"));
        line(0).is_some_and(is_branch) && line(1).is_some_and(is_id) && line(2).is_some_and(is_id)
    })
}

/// Labels that a rebase deletes when it ends.
pub(super) fn labels(content: &[u8]) -> bool {
    lines(content, |line| line.strip_prefix(b"refs/rewritten/").is_some_and(is_label))
}

/// Whether it is the full name of a branch.
pub(super) fn is_branch(name: &[u8]) -> bool {
    RefName::parse(name).is_ok_and(|name| name.is_branch())
}

/// A line begins with its command: git itself skips white space before it, and writes none.
fn is_line(line: &[u8]) -> bool {
    let (command, rest) = word(line);
    match command {
        b"pick" | b"p" | b"reword" | b"r" | b"edit" | b"e" | b"squash" | b"s" | b"drop" | b"d" => {
            is_short_id(word(rest).0)
        }
        b"fixup" | b"f" => is_short_id(word(without_option(rest)).0),
        b"label" | b"l" => is_label(rest),
        b"reset" | b"t" => {
            let target = rest.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
            target == b"[new root]" || is_label(target) || is_label(word(target).0)
        }
        b"merge" | b"m" => {
            let (option, after) = word(rest);
            let parents = if matches!(option, b"-C" | b"-c") {
                let (id, parents) = word(after);
                if !is_short_id(id) {
                    return false;
                }
                parents
            } else {
                rest
            };
            let mut parents =
                parents.split(|byte| *byte == b' ').take_while(|word| *word != b"#").peekable();
            parents.peek().is_some() && parents.all(is_label)
        }
        b"update-ref" | b"u" => is_branch(rest),
        b"noop" | b"break" | b"b" => rest.is_empty(),
        _ => line.starts_with(b"#"),
    }
}

fn without_option(rest: &[u8]) -> &[u8] {
    match word(rest) {
        (b"-C" | b"-c", rest) => rest,
        _ => rest,
    }
}

/// The first word of a line, and what is after the space.
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}
