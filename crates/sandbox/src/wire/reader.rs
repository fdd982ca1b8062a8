//! Numbers and texts in a message.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.bytes(1)?[0])
    }

    pub(super) fn number(&mut self) -> Result<u32, Malformed> {
        let bytes = self.bytes(4)?.try_into().map_err(|_| Malformed)?;
        Ok(u32::from_le_bytes(bytes))
    }

    pub(super) fn signed(&mut self) -> Result<i32, Malformed> {
        Ok(self.number()?.cast_signed())
    }

    pub(super) fn long(&mut self) -> Result<u64, Malformed> {
        let bytes = self.bytes(8)?.try_into().map_err(|_| Malformed)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(super) fn text(&mut self) -> Result<&'m [u8], Malformed> {
        let length = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        self.bytes(length)
    }

    pub(super) fn path(&mut self) -> Result<&'m Path, Malformed> {
        Ok(Path::new(OsStr::from_bytes(self.text()?)))
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

/// Writes a message.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(super) fn number(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn signed(&mut self, number: i32) {
        self.number(number.cast_unsigned());
    }

    pub(super) fn long(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Texts are paths and words, none of which exceeds a `u32`.
    pub(super) fn text(&mut self, text: &[u8]) {
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.number(length);
        self.0.extend_from_slice(&text[..length as usize]);
    }

    pub(super) fn path(&mut self, path: &Path) {
        self.text(path.as_os_str().as_bytes());
    }
}
