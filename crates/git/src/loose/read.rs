//! Reading a loose object.

use std::io::BufRead;

use crate::inflate::{InflateError, Inflater};
use crate::object::Kind;

/// The longest header: the longest kind, and a size of 64 bits.
const MAX_HEADER: usize = "commit 18446744073709551615\0".len();

/// Why a file is no loose object.
#[derive(Debug, thiserror::Error)]
pub enum LooseError {
    /// Its data is no whole stream of zlib.
    #[error("damaged or cut off")]
    Damaged,
    /// It does not begin with a kind and a size.
    #[error("no header of an object")]
    Header,
    /// It has more or less content than its header says, or something after its end.
    #[error("another size than its header says")]
    Size,
    /// It could not be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<InflateError> for LooseError {
    fn from(error: InflateError) -> Self {
        match error {
            InflateError::Damaged | InflateError::Cut => Self::Damaged,
            InflateError::Longer | InflateError::Shorter => Self::Size,
            InflateError::Io(error) => Self::Io(error),
        }
    }
}

/// The content of a loose object, inflated as it is asked for, and never beyond its declared size.
#[derive(Debug)]
pub(crate) struct Content<'a, R> {
    input: R,
    inflater: &'a mut Inflater,
    kind: Kind,
    size: u64,
    left: u64,
}

impl<'a, R: BufRead> Content<'a, R> {
    /// Reads the header.
    pub(crate) fn open(mut input: R, inflater: &'a mut Inflater) -> Result<Self, LooseError> {
        inflater.reset();
        let mut header = [0; MAX_HEADER];
        let mut length = 0;
        loop {
            let byte = header.get_mut(length..=length).ok_or(LooseError::Header)?;
            inflater.fill(&mut input, byte)?;
            if byte[0] == 0 {
                break;
            }
            length += 1;
        }
        let (kind, size) = parse(&header[..length]).ok_or(LooseError::Header)?;
        Ok(Self { input, inflater, kind, size, left: size })
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Fills a part of the buffer. 0: the object and its file have ended, as they should.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, LooseError> {
        if self.left == 0 {
            self.inflater.end(&mut self.input)?;
            return if self.input.fill_buf()?.is_empty() { Ok(0) } else { Err(LooseError::Size) };
        }
        let limit = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        match self.inflater.read(&mut self.input, &mut buffer[..limit])? {
            0 => Err(LooseError::Size),
            given => {
                self.left -= given as u64;
                Ok(given)
            }
        }
    }

    /// Reads all of it, if it has at most `limit` bytes.
    pub(crate) fn read_all(&mut self, limit: u64) -> Result<Option<Vec<u8>>, LooseError> {
        if self.size > limit {
            return Ok(None);
        }
        let mut content = Vec::new();
        let mut part = vec![0; 64 << 10];
        loop {
            match self.read(&mut part)? {
                0 => return Ok(Some(content)),
                given => content.extend_from_slice(&part[..given]),
            }
        }
    }
}

fn parse(header: &[u8]) -> Option<(Kind, u64)> {
    let space = header.iter().position(|byte| *byte == b' ')?;
    let kind = Kind::named(&header[..space])?;
    let digits = &header[space + 1..];
    let is_number = digits.iter().all(u8::is_ascii_digit)
        && (digits[..] == *b"0" || digits.first() != Some(&b'0'));
    let size = is_number.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()?;
    Some((kind, size))
}
