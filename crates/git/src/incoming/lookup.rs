//! Looking up what the repository has, with a memory of what was found.

use std::collections::HashMap;
use std::io;

use crate::bounds::Problem;
use crate::database::Database;
use crate::object::{Id, Kind};

/// So many answers are remembered.
const MAX_REMEMBERED: usize = 200_000;

/// The kinds of the objects that the repository has.
pub(super) struct Lookup<'a> {
    base: &'a Database,
    remembered: HashMap<Id, Option<Kind>>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(base: &'a Database) -> Self {
        Self { base, remembered: HashMap::new() }
    }

    pub(super) fn kind(&mut self, id: &Id) -> Result<Option<Kind>, Problem> {
        if let Some(kind) = self.remembered.get(id) {
            return Ok(*kind);
        }
        let kind = match self.base.kind(id) {
            Ok(kind) => kind,
            // A damaged object of the repository is as good as none.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
            Err(error) => return Err(error.into()),
        };
        if self.remembered.len() == MAX_REMEMBERED {
            self.remembered.clear();
        }
        self.remembered.insert(*id, kind);
        Ok(kind)
    }
}
