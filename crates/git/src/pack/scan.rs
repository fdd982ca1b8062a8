//! The first pass over a pack: where its entries are, and which objects are whole.
//!
//! The pack is read once. What was parsed is what is written into the staged file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use flate2::Crc;
use sha1::{Digest, Sha1};

use super::entry::{Form, Header};
use super::references::References;
use crate::bounds::{Bound, Budget, Problem};
use crate::incoming::{Fault, Reason, check_size};
use crate::inflate::Inflater;
use crate::object::{Id, Kind, ObjectHash};

/// The shortest entry: a header of one byte, and a stream of zlib that is empty.
const SHORTEST_ENTRY: u64 = 9;
const HEADER: usize = 12;
const TRAILER: usize = 20;

/// An entry of a pack.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) offset: u64,
    /// The length of its object, or of its difference.
    pub(super) size: u64,
    /// [`Id::NONE`] until it is known.
    pub(super) id: Id,
    pub(super) crc: u32,
    /// The length of its header.
    pub(super) header: u8,
    pub(super) is_delta: bool,
    pub(super) kind: Option<Kind>,
}

/// What the first pass has found.
#[derive(Debug)]
pub(super) struct Scan {
    /// In the order of their offsets.
    pub(super) entries: Vec<Entry>,
    /// Differences, with the offset of their base.
    pub(super) offset_deltas: Vec<(u64, u32)>,
    /// Differences, with the name of their base.
    pub(super) id_deltas: Vec<(Id, u32)>,
    /// Where the entries end.
    pub(super) end: u64,
    /// The last bytes of the pack, and its name.
    pub(super) checksum: [u8; 20],
}

/// Reads a pack of `length` bytes, and writes it to `staged`.
pub(super) fn scan(
    source: &File,
    length: u64,
    staged: &File,
    budget: &mut Budget,
    found: &mut References<'_>,
) -> Result<Scan, Fault> {
    let mut input = Input::new(source, staged, budget);
    let scanned = input.scan(length, found);
    match input.failure.take() {
        Some(problem) => Err(Fault::Stop(problem)),
        None => scanned,
    }
}

/// The pack, as it is read. What is consumed is hashed and written.
struct Input<'a> {
    source: BufReader<&'a File>,
    staged: BufWriter<&'a File>,
    hash: Sha1,
    crc: Crc,
    offset: u64,
    budget: &'a mut Budget,
    failure: Option<Problem>,
}

impl<'a> Input<'a> {
    fn new(source: &'a File, staged: &'a File, budget: &'a mut Budget) -> Self {
        Self {
            source: BufReader::with_capacity(128 << 10, source),
            staged: BufWriter::with_capacity(128 << 10, staged),
            hash: Sha1::new(),
            crc: Crc::new(),
            offset: 0,
            budget,
            failure: None,
        }
    }

    fn scan(&mut self, length: u64, found: &mut References<'_>) -> Result<Scan, Fault> {
        let mut head = [0; HEADER];
        self.read_exact(&mut head).map_err(unreadable)?;
        let version = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        if !head.starts_with(b"PACK") || !matches!(version, 2 | 3) {
            return Err(Reason::Damaged("header of a pack").into());
        }
        let count = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
        if u64::from(count) > length.saturating_sub((HEADER + TRAILER) as u64) / SHORTEST_ENTRY {
            return Err(Reason::Damaged("number of objects").into());
        }
        self.budget.take(Bound::PackObjects, u64::from(count))?;
        let mut scan = Scan {
            entries: Vec::with_capacity(count as usize),
            offset_deltas: Vec::new(),
            id_deltas: Vec::new(),
            end: 0,
            checksum: [0; 20],
        };
        let mut inflater = Inflater::new();
        let mut buffer = vec![0; 64 << 10];
        for number in 0..count {
            let entry = self.entry(number, &mut scan, &mut inflater, &mut buffer, found)?;
            scan.entries.push(entry);
        }
        scan.end = self.offset;
        scan.checksum = self.hash.clone().finalize().into();
        let mut trailer = [0; TRAILER];
        self.source.read_exact(&mut trailer).map_err(unreadable)?;
        if trailer != scan.checksum {
            return Err(Reason::Damaged("checksum of a pack").into());
        }
        if !self.source.fill_buf().map_err(unreadable)?.is_empty() {
            return Err(Reason::Damaged("something after the end of a pack").into());
        }
        self.staged.write_all(&trailer).and_then(|()| self.staged.flush()).map_err(stop)?;
        Ok(scan)
    }

    fn entry(
        &mut self,
        number: u32,
        scan: &mut Scan,
        inflater: &mut Inflater,
        buffer: &mut [u8],
        found: &mut References<'_>,
    ) -> Result<Entry, Fault> {
        let offset = self.offset;
        self.crc.reset();
        let Header { form, size } = Header::read(self, offset).map_err(Reason::from)?;
        self.budget.take(Bound::InflatedBytes, size)?;
        let header = u8::try_from(self.offset - offset)
            .map_err(|_| Reason::Damaged("header of an object"))?;
        inflater.reset();
        let (mut id, mut kind) = (Id::NONE, None);
        match form {
            Form::DeltaOfOffset(base) => {
                scan.offset_deltas.push((base, number));
                self.content(size, inflater, buffer, |_| ())?;
            }
            Form::DeltaOfId(base) => {
                scan.id_deltas.push((base, number));
                self.content(size, inflater, buffer, |_| ())?;
            }
            Form::Whole(whole) => {
                check_size(whole, size, self.budget)?;
                if whole == Kind::Blob {
                    let mut hash = ObjectHash::new(whole, size);
                    self.content(size, inflater, buffer, |part| hash.update(part))?;
                    id = hash.finish();
                } else {
                    let mut content = Vec::new();
                    self.content(size, inflater, buffer, |part| content.extend_from_slice(part))?;
                    id = Id::of(whole, &content);
                    found.add(&id, whole, &content, self.budget)?;
                }
                kind = Some(whole);
            }
        }
        let crc = self.crc.sum();
        Ok(Entry { offset, size, id, crc, header, is_delta: kind.is_none(), kind })
    }

    /// Inflates exactly `size` bytes.
    fn content(
        &mut self,
        size: u64,
        inflater: &mut Inflater,
        buffer: &mut [u8],
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Fault> {
        let mut left = size;
        while left > 0 {
            let limit = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            let given = inflater.read(self, &mut buffer[..limit]).map_err(Reason::from)?;
            if given == 0 {
                return Err(Reason::Damaged("size of an object").into());
            }
            take(&buffer[..given]);
            left -= given as u64;
        }
        Ok(inflater.end(self).map_err(Reason::from)?)
    }
}

fn unreadable(error: io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Reason::Damaged("cut off").into(),
        _ => Reason::Unreadable(error).into(),
    }
}

fn stop(error: io::Error) -> Fault {
    Fault::Stop(error.into())
}

impl BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.source.buffer().is_empty() {
            let time = self.budget.check_time();
            self.failure = self.failure.take().or(time.err());
        }
        if self.failure.is_some() {
            return Err(io::ErrorKind::Other.into());
        }
        self.source.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        let amount = amount.min(self.source.buffer().len());
        let part = &self.source.buffer()[..amount];
        self.hash.update(part);
        self.crc.update(part);
        let written = self.staged.write_all(part).map_err(Problem::from);
        let taken = self.budget.take(Bound::PackBytes, amount as u64);
        self.failure = self.failure.take().or(written.and(taken).err());
        self.offset += amount as u64;
        self.source.consume(amount);
    }
}

impl Read for Input<'_> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let length = available.len().min(output.len());
        output[..length].copy_from_slice(&available[..length]);
        self.consume(length);
        Ok(length)
    }
}
