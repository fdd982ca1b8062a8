//! The index of a pack: which objects it has, and where.
//!
//! It is read by position, not mapped: a mapped file that is cut off beneath a reader ends the process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::PackError;
use crate::object::Id;

const FANOUT: usize = 256;
const DAMAGED: PackError = PackError::Damaged("an index");
/// Binary search stops at this many entries and reads them at once.
const BLOCK: usize = 128;

/// An index of version 1 or 2.
#[derive(Debug)]
pub(crate) struct Index {
    file: File,
    fanout: Box<[u32; FANOUT]>,
    version: Version,
    length: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Index {
    /// Reads the beginning of an index.
    pub(crate) fn open(file: File) -> Result<Self, PackError> {
        let length = file.metadata()?.len();
        let mut head = [0; 8];
        file.read_exact_at(&mut head, 0)?;
        let version = match head {
            [0xff, b't', b'O', b'c', 0, 0, 0, 2] => Version::Two,
            [0xff, b't', b'O', b'c', ..] => return Err(DAMAGED),
            _ => Version::One,
        };
        let mut bytes = [0; 4 * FANOUT];
        file.read_exact_at(&mut bytes, version.fanout())?;
        let mut fanout = Box::new([0; FANOUT]);
        for (number, bytes) in fanout.iter_mut().zip(bytes.as_chunks().0) {
            *number = u32::from_be_bytes(*bytes);
        }
        let index = Self { file, fanout, version, length };
        if !index.fanout.is_sorted() || index.end() > length {
            return Err(DAMAGED);
        }
        Ok(index)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// How many objects the pack has.
    pub(crate) fn count(&self) -> u32 {
        self.fanout[FANOUT - 1]
    }

    /// Where the pack has this object.
    pub(crate) fn find(&self, id: &Id) -> Result<Option<u64>, PackError> {
        let first = usize::from(id.as_bytes()[0]);
        let mut low = if first == 0 { 0 } else { u64::from(self.fanout[first - 1]) };
        let mut high = u64::from(self.fanout[first]);
        let width = self.version.width();
        while high - low > BLOCK as u64 {
            let middle = low + (high - low) / 2;
            let mut bytes = [0; Id::LENGTH];
            self.file.read_exact_at(&mut bytes, self.name_at(middle))?;
            if bytes <= *id.as_bytes() {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mut block = [0; 24 * BLOCK];
        let count = usize::try_from(high - low).map_err(|_| DAMAGED)?;
        let block = &mut block[..count * width];
        self.file.read_exact_at(block, self.name_at(low) - self.version.skip())?;
        let skip = usize::from(self.version == Version::One) * 4;
        let found = block.chunks_exact(width).position(|entry| entry[skip..] == id.as_bytes()[..]);
        match found {
            Some(place) => self.offset(low + place as u64).map(Some),
            None => Ok(None),
        }
    }

    /// Where the pack has the object at this position of the index.
    fn offset(&self, position: u64) -> Result<u64, PackError> {
        let count = u64::from(self.count());
        if self.version == Version::One {
            return self.number(self.version.table() + 24 * position).map(u64::from);
        }
        // After the names come the checksums, the offsets, and the large offsets.
        let offsets = self.version.table() + count * 24;
        let offset = self.number(offsets + 4 * position)?;
        if offset >> 31 == 0 {
            return Ok(u64::from(offset));
        }
        let place = offsets + 4 * count + 8 * u64::from(offset & 0x7fff_ffff);
        if place + 8 > self.length {
            return Err(DAMAGED);
        }
        Ok(u64::from(self.number(place)?) << 32 | u64::from(self.number(place + 4)?))
    }

    fn number(&self, place: u64) -> Result<u32, PackError> {
        let mut bytes = [0; 4];
        self.file.read_exact_at(&mut bytes, place)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn name_at(&self, position: u64) -> u64 {
        self.version.table() + self.version.skip() + position * self.version.width() as u64
    }

    /// Where the tables and the two checksums end, at least.
    fn end(&self) -> u64 {
        let entry = if self.version == Version::One { 24 } else { 28 };
        self.version.table() + u64::from(self.count()) * entry + 40
    }
}

impl Version {
    fn fanout(self) -> u64 {
        if self == Self::One { 0 } else { 8 }
    }

    fn table(self) -> u64 {
        self.fanout() + 4 * FANOUT as u64
    }

    /// The bytes of an entry before its name.
    fn skip(self) -> u64 {
        if self == Self::One { 4 } else { 0 }
    }

    fn width(self) -> usize {
        if self == Self::One { 24 } else { Id::LENGTH }
    }
}
