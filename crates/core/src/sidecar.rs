//! The whole of an output that was cut, in a file beside it.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use toolwright_exec::Overflow;
use toolwright_fs::Sidecar;

use crate::failure::{Failure, files};

/// A file to be made when there is something to put into it.
#[derive(Debug, Clone)]
pub struct SidecarRequest {
    /// An absolute directory that is this user's alone.
    pub directory: PathBuf,
    /// A name that is free in it.
    pub name: String,
    /// More than this is left out, and the last line says so.
    pub limit_bytes: u64,
}

impl SidecarRequest {
    fn create(&self) -> io::Result<Sidecar> {
        Sidecar::create(&self.directory, &self.name, self.limit_bytes)
    }

    /// Makes the file and fills it.
    pub fn fill<'p>(
        &self,
        pieces: impl Iterator<Item = Cow<'p, [u8]>>,
    ) -> Result<PathBuf, Failure> {
        let filled = self.create().and_then(|mut sidecar| {
            for piece in pieces {
                if !sidecar.write(&piece)? {
                    break;
                }
            }
            Ok(sidecar.path().to_owned())
        });
        filled.map_err(|error| files::output_not_kept(&error))
    }
}

/// How much of the end of an output is kept that is longer than its file.
const END_BYTES: usize = 256 << 10;

/// A file that is made when the first bytes come. It never stops a command: what does not fit is left out, and the
/// end of the output follows where the gap is.
#[derive(Debug)]
pub struct LazySidecar<'r> {
    request: &'r SidecarRequest,
    sidecar: Option<io::Result<Sidecar>>,
    /// The last of the bytes that did not fit.
    end: Vec<u8>,
    /// How many did not fit.
    beyond: u64,
}

/// The file of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOutput {
    /// Where it is.
    pub path: PathBuf,
    /// How many bytes are missing in it, before its end.
    pub left_out: u64,
}

impl<'r> LazySidecar<'r> {
    /// Makes nothing yet.
    #[must_use]
    pub fn new(request: &'r SidecarRequest) -> Self {
        Self { request, sidecar: None, end: Vec::new(), beyond: 0 }
    }

    /// The file, or why there is none; nothing where no bytes came.
    #[must_use]
    pub fn finish(self) -> Option<Result<KeptOutput, Failure>> {
        let Self { sidecar, end, beyond, .. } = self;
        let close = |mut sidecar: Sidecar| {
            let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
            let mut from = end.len().saturating_sub(END_BYTES);
            if from > 0 {
                from += end[from..].iter().take(3).take_while(is_inside).count();
            }
            let left_out = beyond - (end.len() - from) as u64;
            sidecar.write_end(left_out, &end[from..])?;
            Ok(KeptOutput { path: sidecar.path().to_owned(), left_out })
        };
        Some(sidecar?.and_then(close).map_err(|error| files::output_not_kept(&error)))
    }

    fn fill(&mut self, bytes: &[u8]) {
        let sidecar = self.sidecar.get_or_insert_with(|| self.request.create());
        let Ok(file) = sidecar else { return };
        let written = if self.beyond > 0 { Ok(0) } else { file.write_within(bytes) };
        match written {
            Ok(written) => {
                let rest = &bytes[written..];
                self.beyond += rest.len() as u64;
                self.end.extend_from_slice(rest);
                if self.end.len() > 2 * END_BYTES {
                    self.end.drain(..self.end.len() - END_BYTES);
                }
            }
            Err(error) => *sidecar = Err(error),
        }
    }
}

impl Overflow for LazySidecar<'_> {
    /// Always takes them.
    fn take(&mut self, bytes: &[u8]) -> bool {
        self.fill(bytes);
        true
    }
}
