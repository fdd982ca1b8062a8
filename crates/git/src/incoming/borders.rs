//! Where a history may end.

use std::collections::HashSet;

use crate::object::content::{Malformed, references};
use crate::object::{Id, Kind};

/// References that may be missing: in shallow and in partial clones.
#[derive(Debug, Clone, Default)]
pub struct Borders {
    /// Commits whose parents may be missing: those at the border of a shallow repository.
    pub shallow: HashSet<Id>,
    /// Whether any object may be missing, since a promisor has it: a partial clone.
    pub is_partial: bool,
}

impl Borders {
    /// Checks an object, and lists what it refers to, without the parents that may be missing.
    pub(crate) fn references(
        &self,
        id: &Id,
        kind: Kind,
        content: &[u8],
    ) -> Result<Vec<(Id, Kind)>, Malformed> {
        let mut references = references(kind, content)?;
        if kind == Kind::Commit && self.shallow.contains(id) {
            references.retain(|(_, kind)| *kind != Kind::Commit);
        }
        Ok(references)
    }
}
