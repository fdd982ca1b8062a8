//! Inflating, with an account of every byte of the input.
//!
//! The decoders of the library take a stream that is cut off for one that has ended, and read more of the
//! input than belongs to the stream. An entry of a pack needs both to be exact.

use std::io::{self, BufRead};

use flate2::{Decompress, FlushDecompress, Status};

/// Why a stream was not inflated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InflateError {
    /// It is no such stream, or its checksum is wrong.
    #[error("compressed data is damaged")]
    Damaged,
    /// The input ends before the stream does.
    #[error("compressed data is cut off")]
    Cut,
    /// It is longer than it may be.
    #[error("more data than its header says")]
    Longer,
    /// It is shorter than it has to be.
    #[error("less data than its header says")]
    Shorter,
    /// The input could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The state of an inflater, which is large: one serves many streams.
#[derive(Debug)]
pub(crate) struct Inflater {
    state: Decompress,
    ended: bool,
}

impl Inflater {
    pub(crate) fn new() -> Self {
        Self { state: Decompress::new(true), ended: false }
    }

    /// Begins with another stream.
    pub(crate) fn reset(&mut self) {
        self.state.reset(true);
        self.ended = false;
    }

    /// Inflates some bytes of a stream. 0: the stream has ended, and its checksum is right.
    pub(crate) fn read(
        &mut self,
        input: &mut impl BufRead,
        output: &mut [u8],
    ) -> Result<usize, InflateError> {
        while !self.ended {
            let available = input.fill_buf()?;
            let is_last = available.is_empty();
            let (taken, given) = (self.state.total_in(), self.state.total_out());
            let status = self
                .state
                .decompress(available, output, FlushDecompress::None)
                .map_err(|_| InflateError::Damaged)?;
            let taken = self.state.total_in() - taken;
            let given = self.state.total_out() - given;
            input.consume(usize::try_from(taken).unwrap_or(usize::MAX));
            self.ended = status == Status::StreamEnd;
            if given > 0 {
                return Ok(usize::try_from(given).unwrap_or(usize::MAX));
            }
            if !self.ended && is_last {
                return Err(InflateError::Cut);
            }
            if !self.ended && taken == 0 {
                return Err(InflateError::Damaged);
            }
        }
        Ok(0)
    }

    /// Fills a buffer completely.
    pub(crate) fn fill(
        &mut self,
        input: &mut impl BufRead,
        mut output: &mut [u8],
    ) -> Result<(), InflateError> {
        while !output.is_empty() {
            match self.read(input, output)? {
                0 => return Err(InflateError::Shorter),
                given => output = &mut output[given..],
            }
        }
        Ok(())
    }

    /// Expects the stream to end here.
    pub(crate) fn end(&mut self, input: &mut impl BufRead) -> Result<(), InflateError> {
        match self.read(input, &mut [0])? {
            0 => Ok(()),
            _ => Err(InflateError::Longer),
        }
    }
}
