//! The extension `UNTR`: which files are not tracked, by directory.
//!
//! Git believes its lists while a directory's times stay the same. A file that is no longer staged would
//! be missing in them, so they do not survive a change of the staged paths. The extension itself stays,
//! without lists: that it is there is how a person has it switched on.

use super::parse::varint;
use super::write;

/// Stat data and names of two files with patterns, and some bits.
const HEADER: usize = 2 * 36 + 4 + 2 * 20;

/// The extension without lists. `None`: it is malformed, and git does without it.
pub(super) fn emptied(content: &[u8]) -> Option<Vec<u8>> {
    // Of which system and which work tree it is.
    let (length, digits) = varint(content)?;
    let header = digits.checked_add(length)?.checked_add(HEADER)?;
    let rest = content.get(header..)?;
    let name = rest.iter().position(|byte| *byte == 0)?;
    let mut result = content.get(..header + name + 1)?.to_vec();
    write::varint(&mut result, 0);
    Some(result)
}
