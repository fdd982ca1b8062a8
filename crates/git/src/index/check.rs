//! What entries have to be.

use super::entry::{Mode, Record};
use super::{Index, IndexError};
use crate::name::is_allowed_tree_entry;
use crate::object::Id;

/// The longest path that a system call takes.
pub(super) const MAX_PATH: usize = 4096;

/// Paths ascend byte by byte, stages within one path, and no path has more entries beside one of stage 0.
pub(super) fn order(index: &Index) -> Result<(), IndexError> {
    for pair in index.records.windows(2) {
        let [before, after] = pair else { continue };
        let (first, second) = (index.path(before), index.path(after));
        let is_in_order = match first.cmp(second) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => {
                before.flags.stage != 0 && before.flags.stage < after.flags.stage
            }
            std::cmp::Ordering::Greater => false,
        };
        if !is_in_order {
            return Err(IndexError::Order(second.to_vec()));
        }
    }
    match index.records.first() {
        Some(first) if first.length == 0 => Err(IndexError::Order(Vec::new())),
        _ => Ok(()),
    }
}

/// Each entry is of one of the four kinds of files.
pub(super) fn modes(index: &Index) -> Result<(), IndexError> {
    match index.records.iter().find(|record| Mode::with_number(record.mode).is_none()) {
        Some(record) => Err(IndexError::Mode(index.path(record).to_vec())),
        None => Ok(()),
    }
}

/// What a command may have staged: an object at a path where git would check it out.
pub(super) fn entries(index: &Index) -> Result<(), IndexError> {
    let mut before: &[u8] = b"";
    for record in &index.records {
        let path = index.path(record);
        if record.id == Id::NONE {
            return Err(IndexError::NoObject(path.to_vec()));
        }
        if !is_path_after(path, before)
            || record.mode == Mode::Link.number() && is_read_by_git(path)
        {
            return Err(IndexError::Path(path.to_vec()));
        }
        before = path;
    }
    match clashes(index, 1).first() {
        Some((_, second)) => {
            let path = index.records.get(*second).map_or(&[][..], |record| index.path(record));
            Err(IndexError::FileAndDirectory(path.to_vec()))
        }
        None => Ok(()),
    }
}

/// Whether git would check out a path. The directories of the accepted path before it are not looked at
/// again.
fn is_path_after(path: &[u8], before: &[u8]) -> bool {
    let slash = before.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let own = before.get(..slash).and_then(|above| path.strip_prefix(above)).unwrap_or(path);
    path.len() <= MAX_PATH && own.split(|byte| *byte == b'/').all(is_allowed_tree_entry)
}

/// Git reads this file in a work tree. It refuses links with that name, and so do we.
fn is_read_by_git(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    name.starts_with(b".gitmodules") || name.starts_with(b"gitmod~")
}

/// At most `max` pairs of entries of the same stage of which the first is a directory of the second:
/// their numbers.
///
/// In the order of an index `a-b` and `a.c` stand between `a` and `a/b`. So all entries are kept with
/// which the path at hand begins; they begin with each other, too.
pub(super) fn clashes(index: &Index, max: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut open: Vec<(usize, &Record)> = Vec::new();
    for (number, record) in index.records.iter().enumerate() {
        let path = index.path(record);
        while open.last().is_some_and(|(_, last)| !path.starts_with(index.path(last))) {
            open.pop();
        }
        for (above, one) in &open {
            if one.flags.stage == record.flags.stage
                && path.get(usize::from(one.length)) == Some(&b'/')
            {
                found.push((*above, number));
                if found.len() == max {
                    return found;
                }
            }
        }
        open.push((number, record));
    }
    found
}
