//! The references of the objects of a pack, each once.

use crate::bounds::{Bound, Budget, Problem};
use crate::incoming::{Borders, Fault};
use crate::object::{Id, Kind};

/// Small enough to be sorted often.
const FIRST: usize = 64 << 10;

/// A set of references that takes 21 bytes for each.
#[derive(Debug)]
pub(super) struct References<'a> {
    borders: &'a Borders,
    list: Vec<(Id, Kind)>,
    /// So many were distinct when they were last sorted.
    distinct: usize,
}

impl<'a> References<'a> {
    pub(super) fn new(borders: &'a Borders) -> Self {
        Self { borders, list: Vec::new(), distinct: 0 }
    }

    /// Checks an object, and adds what it refers to.
    pub(super) fn add(
        &mut self,
        id: &Id,
        kind: Kind,
        content: &[u8],
        budget: &Budget,
    ) -> Result<(), Fault> {
        self.list.extend(self.borders.references(id, kind, content)?);
        if self.list.len() >= FIRST.max(2 * self.distinct) {
            self.settle();
            if self.distinct > budget.left().references {
                return Err(Problem::Bound(Bound::References).into());
            }
        }
        Ok(())
    }

    fn settle(&mut self) {
        self.list.sort_unstable();
        self.list.dedup();
        self.distinct = self.list.len();
    }

    /// All of them, in order.
    pub(super) fn finish(mut self) -> Vec<(Id, Kind)> {
        self.settle();
        self.list
    }
}
