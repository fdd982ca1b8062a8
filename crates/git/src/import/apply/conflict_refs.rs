//! Keeping what collides: `refs/toolwright/COMMIT/…`.
//!
//! Whatever has been kept stays. A directory that somebody has put something into before is left alone, and
//! the next one of the commit has a number.

use std::path::Path;

use super::{Apply, MODE, NotWritten};
use crate::import::Note;
use crate::import::read::Failure;
use crate::object::Id;
use crate::refs::{self, BadName, Packed, RefChange, RefMap, RefName, RefValue};
use crate::transaction::TransactionError;

/// How many digits of a commit name what is kept of it.
const DIGITS: usize = 10;
/// So many directories of a commit are looked at.
const MAX_PLACES: usize = 100;

impl Apply<'_> {
    /// Keeps the value of a command under another name.
    pub(super) fn keep(&mut self, prefix: &Path, change: &RefChange) -> Result<(), NotWritten> {
        let kept = match &change.after {
            Some(RefValue::Id(id)) => {
                self.keep_value(*id, |place| RefName::kept(place, &change.name))?
            }
            _ => None,
        };
        let name = prefix.join(change.name.path()).display().to_string();
        self.notes.push(Note::ReferenceKept { name, kept });
        Ok(())
    }

    /// Keeps a value, and returns where. `None`: there is no room for it.
    pub(super) fn keep_value(
        &mut self,
        id: Id,
        name: impl Fn(&str) -> Result<RefName, BadName>,
    ) -> Result<Option<String>, NotWritten> {
        let unreadable = |error: refs::Unreadable| Failure::Unreadable(error.to_string());
        let packed = refs::read_packed(self.git).map_err(unreadable)?;
        let digits: String = id.to_string().chars().take(DIGITS).collect();
        for number in 1..=MAX_PLACES {
            let place = match number {
                1 => digits.clone(),
                number => format!("{digits}-{number}"),
            };
            let Ok(name) = name(&place) else { return Ok(None) };
            let now = RefMap::read_one(self.git, &name, &packed);
            if matches!(now, Ok(Some(RefValue::Id(now))) if now == id) {
                return Ok(Some(name.to_string()));
            }
            let is_free = match self.kept.get(&place) {
                Some(kept) => *kept == id,
                None => self.is_free(&place, &packed),
            };
            if !is_free {
                continue;
            }
            let staged = self
                .transaction
                .lock(name.path(), MODE)
                .and_then(|()| self.transaction.write(name.path(), &RefValue::Id(id).content()));
            match staged {
                Ok(()) => {
                    self.kept.insert(place, id);
                    self.is_empty = false;
                    return Ok(Some(name.to_string()));
                }
                Err(TransactionError::InTheWay(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Whether nothing is kept in a directory yet.
    fn is_free(&self, place: &str, packed: &Packed) -> bool {
        let path = format!("refs/toolwright/{place}");
        let is_packed = packed.below(format!("{path}/").as_bytes()).next().is_some();
        !is_packed && matches!(self.git.below(path), Ok(None))
    }
}
