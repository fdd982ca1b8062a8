//! Values as bytes: numbers are little-endian, lists and texts are preceded by their length.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A message that cannot be read: the other end is not of this build, or is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of the sandbox program makes no sense")]
pub struct Malformed;

/// Reads a message from front to end.
pub(super) struct Reader<'m>(pub(super) &'m [u8]);

impl<'m> Reader<'m> {
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'m [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn size(&mut self) -> Result<usize, Malformed> {
        usize::try_from(u32::read(self)?).map_err(|_| Malformed)
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

/// Reads a value that is the whole rest of a message.
pub(super) fn read_whole<T: Wire>(message: &[u8]) -> Result<T, Malformed> {
    let mut from = Reader(message);
    let value = T::read(&mut from)?;
    from.end()?;
    Ok(value)
}

/// A part of a message.
pub(super) trait Wire: Sized {
    fn write(&self, to: &mut Vec<u8>);
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed>;
}

macro_rules! wire_numbers {
    ($($number:ty),*) => {$(
        impl Wire for $number {
            fn write(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                let bytes = from.bytes(size_of::<Self>())?.try_into().map_err(|_| Malformed)?;
                Ok(Self::from_le_bytes(bytes))
            }
        }
    )*};
}

wire_numbers!(u8, u16, u32, i32, u64);

impl Wire for bool {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(u8::read(from)? != 0)
    }
}

/// A structure is its fields.
macro_rules! wire_struct {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl Wire for $type {
            fn write(&self, to: &mut Vec<u8>) {
                $(self.$field.write(to);)*
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                Ok(Self { $($field: Wire::read(from)?),* })
            }
        }
    };
}
pub(super) use wire_struct;

/// An enumeration is the number of its variant, and what that holds.
macro_rules! wire_enum {
    ($type:ty { $($number:literal = $variant:ident $(($($field:ident),*))?),* $(,)? }) => {
        impl Wire for $type {
            fn write(&self, to: &mut Vec<u8>) {
                match self {$(
                    Self::$variant $(($($field),*))? => {
                        to.push($number);
                        $($($field.write(to);)*)?
                    }
                )*}
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                match u8::read(from)? {
                    $($number => {
                        $($(let $field = Wire::read(from)?;)*)?
                        Ok(Self::$variant $(($($field),*))?)
                    })*
                    _ => Err(Malformed),
                }
            }
        }
    };
}
pub(super) use wire_enum;

impl<T: Wire> Wire for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        match u8::read(from)? {
            0 => Ok(None),
            _ => T::read(from).map(Some),
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        write_length(self.len(), to);
        for value in self {
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        (0..from.size()?).map(|_| T::read(from)).collect()
    }
}

impl Wire for PathBuf {
    fn write(&self, to: &mut Vec<u8>) {
        write_length(self.as_os_str().len(), to);
        to.extend_from_slice(self.as_os_str().as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let length = from.size()?;
        Ok(OsString::from_vec(from.bytes(length)?.to_vec()).into())
    }
}

impl Wire for String {
    fn write(&self, to: &mut Vec<u8>) {
        write_length(self.len(), to);
        to.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let length = from.size()?;
        Ok(Self::from_utf8_lossy(from.bytes(length)?).into_owned())
    }
}

/// The other end refuses a message whose length says more than there is.
fn write_length(length: usize, to: &mut Vec<u8>) {
    u32::try_from(length).unwrap_or(u32::MAX).write(to);
}
