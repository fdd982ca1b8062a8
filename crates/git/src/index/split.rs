//! A split index: the entries that differ from those of a shared file.

use super::entry::Record;
use super::parse::{File, file};
use super::{Extensions, Index, IndexError, Reading, check, ewah};
use crate::object::Id;

/// The whole index. `link` is the extension that names the shared file, and tells which of its entries
/// are gone, and which have another version here, without their paths.
pub(super) fn joined(
    split: Index,
    link: &[u8],
    reading: &Reading<'_>,
) -> Result<Index, IndexError> {
    let broken = IndexError::Broken(0);
    let (id, link) = link.split_first_chunk::<{ Id::LENGTH }>().ok_or_else(|| broken.clone())?;
    let id = Id::new(*id);
    if id == Id::NONE {
        return Ok(split);
    }
    let shared = (reading.shared)(&id).ok_or(IndexError::Shared(id))?;
    let File { index: shared, link: None, is_sparse: false, checksum } = file(&shared, reading)?
    else {
        return Err(IndexError::Shared(id));
    };
    if checksum != id {
        return Err(IndexError::Shared(id));
    }
    check::order(&shared)?;
    let (gone, replaced) = if link.is_empty() {
        Default::default()
    } else {
        let bound = shared.records.len();
        let (gone, rest) = ewah::numbers(link, bound).ok_or_else(|| broken.clone())?;
        let (replaced, rest) = ewah::numbers(rest, bound).ok_or_else(|| broken.clone())?;
        if !rest.is_empty() {
            return Err(broken);
        }
        (gone, replaced)
    };
    let (new_versions, added) = split.records.split_at_checked(replaced.len()).ok_or(broken)?;
    // An entry without a path is one that replaces another, and all of these come first.
    let nameless = |record: &Record| record.length == 0;
    if !new_versions.iter().all(nameless) || added.iter().any(nameless) {
        return Err(IndexError::Order(Vec::new()));
    }
    // Paths of the shared file, versions of one of the two.
    let mut kept: Vec<Option<Record>> = shared.records.iter().copied().map(Some).collect();
    for (number, version) in replaced.into_iter().zip(new_versions) {
        if let Some(Some(record)) = kept.get_mut(number) {
            let Record { start, length, .. } = *record;
            *record = Record { start, length, ..*version };
        }
    }
    for number in gone {
        if let Some(record) = kept.get_mut(number) {
            *record = None;
        }
    }
    let mut whole = Index { layout: split.layout, ..Index::default() };
    let mut kept = kept.into_iter().flatten().peekable();
    let mut added = added.iter().peekable();
    loop {
        let order = match (kept.peek(), added.peek()) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(one), Some(other)) => {
                (shared.path(one), one.flags.stage).cmp(&(split.path(other), other.flags.stage))
            }
        };
        let pushed = if order.is_lt() {
            kept.next().and_then(|record| whole.push(shared.path(&record), &record))
        } else {
            if order.is_eq() {
                kept.next();
            }
            added.next().and_then(|record| whole.push(split.path(record), record))
        };
        pushed.ok_or(IndexError::TooLarge)?;
        if whole.records.len() > reading.limits.entries {
            return Err(IndexError::TooLarge);
        }
    }
    // The cache tree is that of all entries. What counts entries by their numbers is not kept.
    let Extensions { cache_tree, resolve_undo, untracked, .. } = split.extensions;
    whole.extensions = Extensions { cache_tree, resolve_undo, untracked, monitor: None };
    Ok(whole)
}
