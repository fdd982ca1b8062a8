//! Differences between objects.

use std::io::{self, BufRead};

use super::PackError;

/// The shortest difference that git reads.
const SHORTEST: u64 = 4;
const DAMAGED: PackError = PackError::Damaged("a difference");

/// An instruction of a difference.
enum Instruction {
    /// A part of the base.
    Copy { offset: u64, length: u64 },
    /// Bytes that follow.
    Insert { length: usize },
}

/// A difference, read instruction by instruction.
#[derive(Debug)]
pub(crate) struct Delta<R> {
    input: R,
    base: u64,
    result: u64,
}

impl<R: BufRead> Delta<R> {
    /// Reads the sizes of a difference that has `size` bytes.
    pub(crate) fn open(mut input: R, size: u64) -> Result<Self, PackError> {
        if size < SHORTEST {
            return Err(DAMAGED);
        }
        let base = number(&mut input)?;
        let result = number(&mut input)?;
        Ok(Self { input, base, result })
    }

    /// The size of the object that it makes.
    pub(crate) fn result(&self) -> u64 {
        self.result
    }

    /// Makes the object from a base with `size` bytes: `copy` is given a part of the base, `insert` bytes.
    pub(crate) fn apply<S>(
        mut self,
        size: u64,
        sink: &mut S,
        mut copy: impl FnMut(&mut S, u64, u64) -> Result<(), PackError>,
        mut insert: impl FnMut(&mut S, &[u8]) -> Result<(), PackError>,
    ) -> Result<(), PackError> {
        if self.base != size {
            return Err(DAMAGED);
        }
        let mut left = self.result;
        while let Some(instruction) = self.instruction()? {
            match instruction {
                Instruction::Copy { offset, length } => {
                    if length > left || offset.checked_add(length).is_none_or(|end| end > size) {
                        return Err(DAMAGED);
                    }
                    left -= length;
                    copy(sink, offset, length)?;
                }
                Instruction::Insert { mut length } => {
                    left = left.checked_sub(length as u64).ok_or(DAMAGED)?;
                    while length > 0 {
                        let available = self.input.fill_buf()?;
                        if available.is_empty() {
                            return Err(DAMAGED);
                        }
                        let part = available.len().min(length);
                        insert(sink, &available[..part])?;
                        self.input.consume(part);
                        length -= part;
                    }
                }
            }
        }
        if left == 0 { Ok(()) } else { Err(DAMAGED) }
    }

    fn instruction(&mut self) -> Result<Option<Instruction>, PackError> {
        let Some(code) = next(&mut self.input)? else { return Ok(None) };
        if code == 0 {
            return Err(DAMAGED);
        }
        if code & 128 == 0 {
            return Ok(Some(Instruction::Insert { length: usize::from(code) }));
        }
        let mut argument = |bits: std::ops::Range<u32>| {
            let begin = bits.start;
            bits.filter(|bit| code >> bit & 1 == 1).try_fold(0, |value, bit| {
                let byte = next(&mut self.input)?.ok_or(DAMAGED)?;
                Ok::<_, PackError>(value | u64::from(byte) << (8 * (bit - begin)))
            })
        };
        let offset = argument(0..4)?;
        let length = argument(4..7)?;
        Ok(Some(Instruction::Copy { offset, length: if length == 0 { 0x10000 } else { length } }))
    }
}

fn next(input: &mut impl BufRead) -> io::Result<Option<u8>> {
    let byte = input.fill_buf()?.first().copied();
    if byte.is_some() {
        input.consume(1);
    }
    Ok(byte)
}

fn number(input: &mut impl BufRead) -> Result<u64, PackError> {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let byte = next(input)?.ok_or(DAMAGED)?;
        let bits = u64::from(byte & 127);
        if shift > 63 || bits << shift >> shift != bits {
            return Err(DAMAGED);
        }
        value |= bits << shift;
        shift += 7;
        if byte & 128 == 0 {
            return Ok(value);
        }
    }
}
