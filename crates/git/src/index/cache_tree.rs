//! The extension `TREE`: for directories, how many entries they have and which tree these make.
//!
//! Git commits these trees without a look at the entries. So only those of a person's own index are used,
//! and each directory of a changed path loses its own.

use std::collections::HashSet;

use crate::object::Id;

/// The extension without the trees of these directories, which have the directories above them among
/// them. `None`: it is malformed, and git does without it.
pub(super) fn invalidated(content: &[u8], changed: &HashSet<&[u8]>) -> Option<Vec<u8>> {
    let mut result = Vec::with_capacity(content.len());
    let mut rest = content;
    let mut path: Vec<u8> = Vec::new();
    // Directories that are being read: the length of their path, and how many directories in them are to
    // come.
    let mut open: Vec<(usize, usize)> = Vec::new();
    loop {
        let (name, after) = split_at(rest, 0)?;
        let (count, after) = split_at(after, b' ')?;
        let (below, after) = split_at(after, b'\n')?;
        let is_valid = number(count)? >= 0;
        let below_number = usize::try_from(number(below)?).ok()?;
        if open.is_empty() != name.is_empty() {
            return None;
        }
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        let (id, after) = after.split_at_checked(if is_valid { Id::LENGTH } else { 0 })?;
        rest = after;
        result.extend_from_slice(name);
        result.push(0);
        if changed.contains(&*path) {
            result.extend_from_slice(b"-1 ");
            result.extend_from_slice(below);
            result.push(b'\n');
        } else {
            result.extend_from_slice(count);
            result.push(b' ');
            result.extend_from_slice(below);
            result.push(b'\n');
            result.extend_from_slice(id);
        }
        open.push((path.len(), below_number));
        // The next directory lies in the last one that lacks some.
        while let Some((_, 0)) = open.last() {
            open.pop();
        }
        let Some((above, left)) = open.last_mut() else { break };
        *left -= 1;
        path.truncate(*above);
    }
    rest.is_empty().then_some(result)
}

/// Adds the directories above a path, the top included.
pub(super) fn add_above<'p>(path: &'p [u8], all: &mut HashSet<&'p [u8]>) {
    let mut rest = path;
    while let Some(slash) = rest.iter().rposition(|byte| *byte == b'/') {
        rest = rest.get(..slash).unwrap_or_default();
        if !all.insert(rest) {
            return;
        }
    }
    all.insert(b"");
}

fn split_at(bytes: &[u8], end: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == end)?;
    Some((bytes.get(..at)?, bytes.get(at + 1..)?))
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
