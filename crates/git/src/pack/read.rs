//! Reading objects of a pack whose index is trusted.

use std::fs::File;
use std::io;

use super::delta::Delta;
use super::entry::{Form, Header};
use super::region::{Inflated, Region};
use super::{Index, PackError};
use crate::inflate::Inflater;
use crate::object::{Id, Kind};

/// Git itself makes no longer chain of differences.
pub(crate) const MAX_DEPTH: usize = 4095;
/// No base that is read into memory is larger.
const MAX_BASE: u64 = 1 << 30;

/// A pack, open for reading.
#[derive(Debug)]
pub(crate) struct Pack {
    index: Index,
    data: File,
    length: u64,
}

impl Pack {
    pub(crate) fn new(index: Index, data: File) -> Result<Self, PackError> {
        let length = data.metadata()?.len();
        Ok(Self { index, data, length })
    }

    /// Waits until the pack and its index are on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.data.sync_data()?;
        self.index.sync()
    }

    /// Where the pack has this object.
    pub(crate) fn find(&self, id: &Id) -> Result<Option<u64>, PackError> {
        self.index.find(id)
    }

    /// The kind of the object at an offset.
    pub(crate) fn kind(&self, offset: u64) -> Result<Kind, PackError> {
        let mut offset = offset;
        for _ in 0..=MAX_DEPTH {
            let (header, _) = self.header(offset)?;
            match self.base(header)? {
                Ok(kind) => return Ok(kind),
                Err(base) => offset = base,
            }
        }
        Err(PackError::Damaged("a chain of differences"))
    }

    /// The object at an offset. `None`: it has more than `limit` bytes.
    pub(crate) fn read(
        &self,
        offset: u64,
        limit: u64,
    ) -> Result<Option<(Kind, Vec<u8>)>, PackError> {
        let mut offset = offset;
        let mut differences = Vec::new();
        let mut inflater = Inflater::new();
        let (kind, mut content) = loop {
            let (header, begin) = self.header(offset)?;
            match self.base(header)? {
                Ok(_) if header.size > if differences.is_empty() { limit } else { MAX_BASE } => {
                    return Ok(None);
                }
                Ok(kind) => {
                    let region = self.region(begin);
                    break (kind, Inflated::new(region, &mut inflater, header.size).read_all()?);
                }
                Err(base) => {
                    differences.push((begin, header.size));
                    offset = base;
                }
            }
            if differences.len() > MAX_DEPTH {
                return Err(PackError::Damaged("a chain of differences"));
            }
        };
        while let Some((begin, size)) = differences.pop() {
            let input = Inflated::new(self.region(begin), &mut inflater, size);
            let delta = Delta::open(input, size)?;
            if delta.result() > if differences.is_empty() { limit } else { MAX_BASE } {
                return Ok(None);
            }
            content = in_memory(delta, &content)?;
        }
        Ok(Some((kind, content)))
    }

    fn region(&self, begin: u64) -> Region<'_> {
        Region::new(&self.data, begin, self.length, 4 << 10)
    }

    /// The header of an entry, and where its data begins.
    fn header(&self, offset: u64) -> Result<(Header, u64), PackError> {
        let end = self.length.min(offset.saturating_add(64));
        if offset >= end {
            return Err(PackError::Damaged("an offset"));
        }
        let mut input = Region::new(&self.data, offset, end, 64);
        let header = Header::read(&mut input, offset)?;
        Ok((header, input.position()))
    }

    /// The kind of a whole object, or where the base of a difference is.
    fn base(&self, header: Header) -> Result<Result<Kind, u64>, PackError> {
        Ok(match header.form {
            Form::Whole(kind) => Ok(kind),
            Form::DeltaOfOffset(base) => Err(base),
            Form::DeltaOfId(id) => {
                Err(self.find(&id)?.ok_or(PackError::Damaged("a difference to nothing"))?)
            }
        })
    }
}

/// Makes an object from its base.
pub(crate) fn in_memory<R: std::io::BufRead>(
    delta: Delta<R>,
    base: &[u8],
) -> Result<Vec<u8>, PackError> {
    let damaged = || PackError::Damaged("a difference");
    let mut content = Vec::new();
    delta.apply(
        base.len() as u64,
        &mut content,
        |content, offset, length| {
            let begin = usize::try_from(offset).map_err(|_| damaged())?;
            let length = usize::try_from(length).map_err(|_| damaged())?;
            content.extend_from_slice(base.get(begin..begin + length).ok_or_else(damaged)?);
            Ok(())
        },
        |content, bytes| {
            content.extend_from_slice(bytes);
            Ok(())
        },
    )?;
    Ok(content)
}
