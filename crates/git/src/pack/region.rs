//! Reading a part of a file by position.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::os::unix::fs::FileExt;

use crate::inflate::{InflateError, Inflater};

/// The bytes of a file from an offset to another. Several may read one file at the same time.
#[derive(Debug)]
pub(crate) struct Region<'a> {
    file: &'a File,
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl<'a> Region<'a> {
    /// Reads at most `block` bytes at once.
    pub(crate) fn new(file: &'a File, begin: u64, end: u64, block: usize) -> Self {
        let buffer = Vec::with_capacity(block);
        Self { file, next: begin, end, buffer, at: 0 }
    }

    /// Where the next byte comes from.
    pub(crate) fn position(&self) -> u64 {
        self.next - (self.buffer.len() - self.at) as u64
    }
}

impl BufRead for Region<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.buffer.len() {
            let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
            let length = self.buffer.capacity().min(left);
            self.buffer.resize(length, 0);
            self.at = 0;
            let read = loop {
                match self.file.read_at(&mut self.buffer, self.next) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read,
                }
            };
            self.buffer.truncate(*read.as_ref().unwrap_or(&0));
            self.next += read? as u64;
        }
        Ok(&self.buffer[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at = self.buffer.len().min(self.at + amount);
    }
}

impl Read for Region<'_> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let length = available.len().min(output.len());
        output[..length].copy_from_slice(&available[..length]);
        self.consume(length);
        Ok(length)
    }
}

/// What a compressed part of an input holds, which has to be exactly `left` bytes.
#[derive(Debug)]
pub(crate) struct Inflated<'a, R> {
    input: R,
    inflater: &'a mut Inflater,
    left: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl<'a, R: BufRead> Inflated<'a, R> {
    pub(crate) fn new(input: R, inflater: &'a mut Inflater, size: u64) -> Self {
        inflater.reset();
        Self { input, inflater, left: size, buffer: Vec::new(), at: 0 }
    }

    /// Reads all of it.
    pub(crate) fn read_all(mut self) -> Result<Vec<u8>, InflateError> {
        let size = usize::try_from(self.left).map_err(|_| InflateError::Longer)?;
        let mut content = vec![0; size];
        self.inflater.fill(&mut self.input, &mut content)?;
        self.inflater.end(&mut self.input)?;
        Ok(content)
    }
}

impl<R: BufRead> BufRead for Inflated<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.buffer.len() {
            self.at = 0;
            let length = usize::try_from(self.left).map_or(BLOCK, |left| left.min(BLOCK));
            self.buffer.resize(length, 0);
            if length == 0 {
                self.inflater.end(&mut self.input).map_err(broken)?;
                return Ok(&[]);
            }
            let given = match self.inflater.read(&mut self.input, &mut self.buffer) {
                Ok(0) => Err(broken(InflateError::Shorter)),
                given => given.map_err(broken),
            };
            self.buffer.truncate(*given.as_ref().unwrap_or(&0));
            self.left -= given? as u64;
        }
        Ok(&self.buffer[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at = self.buffer.len().min(self.at + amount);
    }
}

impl<R: BufRead> Read for Inflated<'_, R> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let length = available.len().min(output.len());
        output[..length].copy_from_slice(&available[..length]);
        self.consume(length);
        Ok(length)
    }
}

const BLOCK: usize = 16 << 10;

fn broken(error: InflateError) -> io::Error {
    match error {
        InflateError::Io(error) => error,
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}
