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

/// A file that is made when the first bytes come.
#[derive(Debug)]
pub struct LazySidecar<'r> {
    request: &'r SidecarRequest,
    sidecar: Option<io::Result<Sidecar>>,
}

impl<'r> LazySidecar<'r> {
    /// Makes nothing yet.
    #[must_use]
    pub fn new(request: &'r SidecarRequest) -> Self {
        Self { request, sidecar: None }
    }

    /// The file, or why there is none; nothing where no bytes came.
    #[must_use]
    pub fn finish(self) -> Option<Result<PathBuf, Failure>> {
        let path = |sidecar: Sidecar| sidecar.path().to_owned();
        Some(self.sidecar?.map(path).map_err(|error| files::output_not_kept(&error)))
    }
}

impl Overflow for LazySidecar<'_> {
    fn take(&mut self, bytes: &[u8]) -> bool {
        let sidecar = self.sidecar.get_or_insert_with(|| self.request.create());
        let Ok(file) = sidecar else { return false };
        file.write(bytes).unwrap_or_else(|error| {
            *sidecar = Err(error);
            false
        })
    }
}
