//! Writing the index of a pack, version 2.

use std::io::{self, BufWriter, Write};

use sha1::{Digest, Sha1};

use super::scan::Entry;
use crate::object::Id;

/// Larger offsets are in a table of their own.
const LARGE: u64 = 1 << 31;

/// Writes the index of entries that are given in the order of their names.
pub(super) fn write_index<'a>(
    entries: impl Iterator<Item = &'a Entry> + Clone,
    checksum: &[u8; 20],
    output: impl Write,
) -> io::Result<()> {
    let mut output = Hashed { output: BufWriter::new(output), hash: Sha1::new() };
    output.write_all(b"\xfftOc\0\0\0\x02")?;
    let mut fanout = [0_u32; 256];
    for entry in entries.clone() {
        fanout[usize::from(entry.id.as_bytes()[0])] += 1;
    }
    let mut total = 0;
    for count in fanout {
        total += count;
        output.write_all(&total.to_be_bytes())?;
    }
    for entry in entries.clone() {
        output.write_all(Id::as_bytes(&entry.id))?;
    }
    for entry in entries.clone() {
        output.write_all(&entry.crc.to_be_bytes())?;
    }
    let mut large = 0_u32;
    for entry in entries.clone() {
        let number = match u32::try_from(entry.offset) {
            Ok(offset) if entry.offset < LARGE => offset,
            _ => {
                large += 1;
                (large - 1) | 1 << 31
            }
        };
        output.write_all(&number.to_be_bytes())?;
    }
    for entry in entries.filter(|entry| entry.offset >= LARGE) {
        output.write_all(&entry.offset.to_be_bytes())?;
    }
    output.write_all(checksum)?;
    let hash = output.hash.clone().finalize();
    output.write_all(&hash)?;
    output.output.flush()
}

struct Hashed<W: Write> {
    output: BufWriter<W>,
    hash: Sha1,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.output.write_all(part)?;
        self.hash.update(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
