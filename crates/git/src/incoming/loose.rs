//! Reading loose objects.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::Instant;

use rustix::fs::FileType;

use super::{Fault, Reader, Reason, below, check_size};
use crate::bounds::{Bound, Problem};
use crate::inflate::Inflater;
use crate::loose::{self, Content, LooseError};
use crate::object::{Id, Kind, ObjectHash};

/// A loose object that was read.
#[derive(Debug)]
pub(super) struct Loose {
    pub(super) kind: Kind,
    pub(super) size: u64,
    /// Where its content is in the spool.
    pub(super) place: u64,
    /// What it refers to and the repository does not have.
    pub(super) references: Vec<(Id, Kind)>,
}

impl Reader<'_, '_> {
    pub(super) fn read_loose(&mut self, first: &str) -> Result<(), Problem> {
        let mut inflater = Inflater::new();
        let mut entries = self.list(first)?;
        while let Some((name, kind)) = self.next(&mut entries, first)? {
            let path = below(first, &name);
            let id = loose::id(first, &name);
            match (id, kind) {
                (_, FileType::CharacterDevice) => {}
                (None, _) if name.as_encoded_bytes().starts_with(b"tmp_") => {}
                (None, _) => self.leave_out(&path, Reason::Unknown),
                // What the repository has is never replaced.
                (Some(id), _) if self.incoming.base.contains(&id)? => {}
                (Some(id), FileType::RegularFile | FileType::Unknown) => {
                    self.budget.take(Bound::LooseObjects, 1)?;
                    let place = self.incoming.spool.end();
                    match self.read_one(&path, &id, &mut inflater) {
                        Ok(loose) => {
                            self.incoming.loose.insert(id, loose);
                        }
                        Err(fault) => {
                            self.incoming.spool.truncate(place);
                            self.refuse(&path, fault)?;
                        }
                    }
                }
                (Some(_), _) => self.leave_out(&path, Reason::WrongKind),
            }
        }
        Ok(())
    }

    fn read_one(&mut self, path: &Path, id: &Id, inflater: &mut Inflater) -> Result<Loose, Fault> {
        let opened = self.added.file(path).map_err(Reason::from)?;
        let (file, stat) = opened.ok_or(Reason::Unreadable(io::ErrorKind::NotFound.into()))?;
        let length = u64::try_from(stat.st_size).unwrap_or(0);
        self.budget.take(Bound::LooseBytes, length)?;
        let block = usize::try_from(length.clamp(512, 64 << 10)).unwrap_or(512);
        let source = BufReader::with_capacity(block, file.take(length));
        let input = Timed { source, deadline: self.budget.deadline() };

        let mut content = Content::open(input, inflater).map_err(refused)?;
        let (kind, size) = (content.kind(), content.size());
        check_size(kind, size, &self.budget)?;
        self.budget.take(Bound::LooseBytes, size)?;
        let place = self.incoming.spool.end();
        let mut hash = ObjectHash::new(kind, size);
        let mut text = Vec::new();
        let mut part = [0; 16 << 10];
        loop {
            let length = content.read(&mut part).map_err(refused)?;
            if length == 0 {
                break;
            }
            let part = &part[..length];
            hash.update(part);
            self.incoming.spool.append(part).map_err(|error| Fault::Stop(error.into()))?;
            if kind != Kind::Blob {
                text.extend_from_slice(part);
            }
        }
        if hash.finish() != *id {
            return Err(Reason::Forged.into());
        }
        let mut references = self.borders.references(id, kind, &text)?;
        references.sort_unstable();
        references.dedup();
        let references = self.unsatisfied(references)?;
        Ok(Loose { kind, size, place, references })
    }

    /// What the repository does not have.
    pub(super) fn unsatisfied(
        &mut self,
        references: Vec<(Id, Kind)>,
    ) -> Result<Vec<(Id, Kind)>, Problem> {
        let mut unsatisfied = Vec::new();
        for (id, kind) in references {
            if self.lookup.kind(&id)? != Some(kind) {
                self.budget.take(Bound::References, 1)?;
                unsatisfied.push((id, kind));
            }
        }
        Ok(unsatisfied)
    }
}

/// Input that ends with an error when its time has gone.
struct Timed<R> {
    source: R,
    deadline: Instant,
}

impl<R: BufRead> BufRead for Timed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if Instant::now() >= self.deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.source.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.source.consume(amount);
    }
}

impl<R: BufRead> io::Read for Timed<R> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        self.fill_buf()?;
        self.source.read(output)
    }
}

fn refused(error: LooseError) -> Fault {
    match error {
        LooseError::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
            Problem::Bound(Bound::Time).into()
        }
        error => Reason::from(error).into(),
    }
}
