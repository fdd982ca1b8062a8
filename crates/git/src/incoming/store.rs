//! Storing what was accepted.

use std::collections::HashSet;
use std::io;

use super::Incoming;
use super::closure::Source;
use crate::directory::Directory;
use crate::loose::write;
use crate::object::{Id, Kind};

impl Incoming<'_> {
    /// Writes everything into a directory of objects. What is there already stays.
    ///
    /// Objects come after what they refer to, so that the repository is closed if it is left halfway. What a
    /// kill leaves besides are files whose names begin with `tmp_`, which git's garbage collection removes.
    pub fn store(&self, objects: &Directory) -> io::Result<()> {
        for source in self.in_order()? {
            match source {
                Source::Pack(position) => {
                    if let Some(Some(pack)) = self.packs.get(position) {
                        pack.store(objects)?;
                    }
                }
                Source::Loose(id) => {
                    if let Some(loose) = self.loose.get(&id) {
                        let content = self.spool.read(loose.place, loose.size);
                        write(objects, &id, loose.kind, loose.size, content)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Everything that was read, each after what it refers to.
    fn in_order(&self) -> io::Result<Vec<Source>> {
        let mut order = Vec::new();
        let mut seen = HashSet::new();
        let mut stack = Vec::new();
        for (source, _) in self.sources() {
            stack.push((source, false));
            while let Some((source, is_last_visit)) = stack.pop() {
                if is_last_visit {
                    order.push(source);
                } else if seen.insert(source) {
                    stack.push((source, true));
                    for (id, kind) in self.references(source) {
                        let others = self.having(id, *kind)?.into_iter();
                        stack.extend(others.map(|other| (other, false)));
                    }
                }
            }
        }
        Ok(order)
    }

    /// Everything that was read, with what it refers to and the repository does not have.
    pub(super) fn sources(&self) -> impl Iterator<Item = (Source, &[(Id, Kind)])> {
        let packs = self.packs.iter().enumerate().map(|(position, _)| Source::Pack(position));
        let loose = self.loose.keys().map(|id| Source::Loose(*id));
        packs.chain(loose).map(|source| (source, self.references(source)))
    }

    fn references(&self, source: Source) -> &[(Id, Kind)] {
        match source {
            Source::Loose(id) => self.loose.get(&id).map_or(&[], |loose| &loose.references),
            Source::Pack(position) => match self.packs.get(position) {
                Some(Some(pack)) => pack.references(),
                _ => &[],
            },
        }
    }

    /// Which files have an object of that kind.
    pub(super) fn having(&self, id: &Id, kind: Kind) -> io::Result<Vec<Source>> {
        let loose = self.loose.get(id).filter(|loose| loose.kind == kind);
        let mut having: Vec<Source> = loose.map(|_| Source::Loose(*id)).into_iter().collect();
        for (position, pack) in self.packs.iter().enumerate() {
            let Some(pack) = pack else { continue };
            if pack.kind(id)? == Some(kind) {
                having.push(Source::Pack(position));
            }
        }
        Ok(having)
    }
}
