//! The closure rule: everything that an accepted object refers to is there.
//!
//! It is local. A repository whose objects have all that they refer to still has it afterwards. What refers
//! to something missing is dropped, and then what refers to that, until nothing more is to be dropped. Loose
//! objects are dropped one by one, a pack as a whole.

use std::collections::HashMap;

use super::{Reader, Reason};
use crate::bounds::Problem;
use crate::object::{Id, Kind};

/// A loose object, or a pack by its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Loose(Id),
    Pack(usize),
}

/// An object that is referred to and that the repository does not have.
#[derive(Debug, Default)]
struct Wanted {
    by: Vec<Source>,
    /// Which files have it.
    sources: Vec<Source>,
}

impl Reader<'_, '_> {
    /// Drops what is not closed.
    pub(super) fn close(&mut self) -> Result<(), Problem> {
        let mut wanted: HashMap<(Id, Kind), Wanted> = HashMap::new();
        for (source, references) in self.incoming.sources() {
            for reference in references {
                wanted.entry(*reference).or_default().by.push(source);
            }
        }
        // What each file has of that.
        let mut had: HashMap<Source, Vec<(Id, Kind)>> = HashMap::new();
        let mut dropped = Vec::new();
        for (reference, want) in &mut wanted {
            self.budget.check_time()?;
            want.sources = self.incoming.having(&reference.0, reference.1)?;
            for source in &want.sources {
                had.entry(*source).or_default().push(*reference);
            }
            if want.sources.is_empty() && !self.may_be_missing(&reference.0)? {
                dropped.append(&mut want.by);
            }
        }
        while let Some(source) = dropped.pop() {
            if !self.drop_source(source) {
                continue;
            }
            for reference in had.remove(&source).unwrap_or_default() {
                let Some(want) = wanted.get_mut(&reference) else { continue };
                want.sources.retain(|other| *other != source);
                if want.sources.is_empty() && !self.may_be_missing(&reference.0)? {
                    dropped.append(&mut want.by);
                }
            }
        }
        Ok(())
    }

    fn may_be_missing(&mut self, id: &Id) -> Result<bool, Problem> {
        Ok(self.borders.is_partial && self.lookup.kind(id)?.is_none())
    }

    /// `false`: it was dropped before.
    fn drop_source(&mut self, source: Source) -> bool {
        let name = match source {
            Source::Loose(id) => self.incoming.loose.remove(&id).map(|_| crate::loose::path(&id)),
            Source::Pack(position) => self
                .incoming
                .packs
                .get_mut(position)
                .and_then(Option::take)
                .map(|pack| format!("pack/{}.pack", pack.name())),
        };
        if let Some(name) = &name {
            self.leave_out(name.as_ref(), Reason::Missing);
        }
        name.is_some()
    }
}
