//! The header of an entry of a pack.

use std::io::BufRead;

use super::PackError;
use crate::object::{Id, Kind};

/// How an entry holds its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Whole.
    Whole(Kind),
    /// As a difference to the entry at this offset, which is before it.
    DeltaOfOffset(u64),
    /// As a difference to the object with this name.
    DeltaOfId(Id),
}

/// The header of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// How it holds its object.
    pub(crate) form: Form,
    /// The length of the object or of the difference, in bytes.
    pub(crate) size: u64,
}

impl Header {
    /// Reads the header of the entry at `offset`.
    pub(crate) fn read(input: &mut impl BufRead, offset: u64) -> Result<Self, PackError> {
        let first = byte(input)?;
        let mut size = u64::from(first & 15);
        let mut shift = 4;
        let mut last = first;
        while last & 128 != 0 {
            last = byte(input)?;
            let bits = u64::from(last & 127);
            if shift > 63 || bits << shift >> shift != bits {
                return Err(PackError::Damaged("size of an object"));
            }
            size |= bits << shift;
            shift += 7;
        }
        let form = match first >> 4 & 7 {
            1 => Form::Whole(Kind::Commit),
            2 => Form::Whole(Kind::Tree),
            3 => Form::Whole(Kind::Blob),
            4 => Form::Whole(Kind::Tag),
            6 => Form::DeltaOfOffset(base(input, offset)?),
            7 => {
                let mut id = [0; Id::LENGTH];
                for place in &mut id {
                    *place = byte(input)?;
                }
                Form::DeltaOfId(Id::new(id))
            }
            _ => return Err(PackError::Damaged("kind of an object")),
        };
        Ok(Self { form, size })
    }
}

fn base(input: &mut impl BufRead, offset: u64) -> Result<u64, PackError> {
    let mut last = byte(input)?;
    let mut distance = u64::from(last & 127);
    while last & 128 != 0 {
        last = byte(input)?;
        distance = distance
            .checked_add(1)
            .filter(|distance| distance >> 57 == 0)
            .map(|distance| distance << 7 | u64::from(last & 127))
            .ok_or(PackError::Damaged("offset of a base"))?;
    }
    match offset.checked_sub(distance) {
        Some(base) if distance > 0 => Ok(base),
        _ => Err(PackError::Damaged("offset of a base")),
    }
}

fn byte(input: &mut impl BufRead) -> Result<u8, PackError> {
    let byte = *input.fill_buf()?.first().ok_or(PackError::Damaged("cut off"))?;
    input.consume(1);
    Ok(byte)
}
