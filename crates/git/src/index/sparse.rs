//! A sparse index: one entry stands for all files of a directory that is not checked out.

use super::entry::{Flags, Record, Stat};
use super::parse::is_directory;
use super::{Extensions, Index, IndexError, Mode, Reading, check};
use crate::object::Id;

/// The index with an entry for each file. All of them skip the work tree.
pub(super) fn expanded(index: Index, reading: &Reading<'_>) -> Result<Index, IndexError> {
    let mut whole = Index { layout: index.layout, ..Index::default() };
    let mut left = reading.limits.entries;
    for record in &index.records {
        let path = index.path(record);
        if !is_directory(record) {
            left = left.checked_sub(1).ok_or(IndexError::TooLarge)?;
            whole.push(path, record).ok_or(IndexError::TooLarge)?;
            continue;
        }
        if record.flags.stage != 0 || !path.ends_with(b"/") || path.starts_with(b"/") {
            return Err(IndexError::Path(path.to_vec()));
        }
        let walk = Walk { whole: &mut whole, left: &mut left, reading };
        walk.directory(path, record.id)?;
    }
    // The cache tree counts a directory as one entry, and so do the others count by numbers.
    let Extensions { resolve_undo, .. } = index.extensions;
    whole.extensions = Extensions { resolve_undo, ..Extensions::default() };
    Ok(whole)
}

struct Walk<'w> {
    whole: &'w mut Index,
    /// How many entries and trees there may still be.
    left: &'w mut usize,
    reading: &'w Reading<'w>,
}

impl Walk<'_> {
    fn directory(self, path: &[u8], id: Id) -> Result<(), IndexError> {
        let mut path = path.to_vec();
        let read = |id: Id| (self.reading.tree)(&id).ok_or(IndexError::Sparse(id));
        // Trees that are being read: their names, their content, how far, and the length of their path.
        let mut open = vec![(id, read(id)?, 0, path.len())];
        while let Some((id, content, at, above)) = open.last_mut() {
            path.truncate(*above);
            let rest = content.get(*at..).unwrap_or_default();
            if rest.is_empty() {
                open.pop();
                continue;
            }
            let (mode, name, entry) = entry(rest).ok_or(IndexError::Sparse(*id))?;
            *at += 6 + usize::from(mode != Mode::DIRECTORY) + name.len() + 1 + Id::LENGTH;
            path.extend_from_slice(name);
            *self.left = self.left.checked_sub(1).ok_or(IndexError::TooLarge)?;
            if path.len() > check::MAX_PATH || self.whole.paths.len() > self.reading.limits.bytes {
                return Err(IndexError::Path(path));
            }
            if mode == Mode::DIRECTORY {
                path.push(b'/');
                let length = path.len();
                open.push((entry, read(entry)?, 0, length));
                continue;
            }
            let flags = Flags { skips_worktree: true, ..Flags::default() };
            let record = Record { start: 0, length: 0, flags, mode, id: entry, stat: Stat::NONE };
            self.whole.push(&path, &record).ok_or(IndexError::TooLarge)?;
        }
        Ok(())
    }
}

/// The first entry of a tree's content: its mode, its name and its object.
fn entry(content: &[u8]) -> Option<(u32, &[u8], Id)> {
    let space = content.iter().take(7).position(|byte| *byte == b' ')?;
    let (mode, rest) = content.split_at_checked(space)?;
    let mode = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
    let is_usual =
        mode == Mode::DIRECTORY && space == 5 || Mode::with_number(mode).is_some() && space == 6;
    let rest = rest.get(1..).filter(|_| is_usual)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (name, rest) = rest.split_at_checked(end)?;
    let id = rest.get(1..)?.first_chunk::<{ Id::LENGTH }>()?;
    Some((mode, name, Id::new(*id)))
}
