//! Where the whole of an output goes that was cut.

use std::io;
use std::path::Path;

use napi_derive::napi;
use toolwright_exec::Overflow;
use toolwright_fs::Sidecar;

use crate::error::NativeError;
use crate::options;

/// A file to be made when there is something to put into it.
#[napi(object)]
#[derive(Debug, Clone)]
pub struct SidecarRequest {
    /// An absolute directory that is this user's alone.
    pub directory: String,
    /// A name that is free in it.
    pub name: String,
    /// What produces more than this is stopped, and the last line says so.
    pub limit_bytes: f64,
}

impl SidecarRequest {
    fn create(&self) -> io::Result<Sidecar> {
        let limit = options::bytes(self.limit_bytes);
        Sidecar::create(Path::new(&self.directory), &self.name, limit)
    }

    /// Makes the file and fills it.
    pub(super) fn fill<'t>(
        &self,
        pieces: impl Iterator<Item = std::borrow::Cow<'t, [u8]>>,
    ) -> Result<SidecarMade, NativeError> {
        let filled = self.create().and_then(|mut sidecar| {
            for piece in pieces {
                if !sidecar.write(&piece)? {
                    break;
                }
            }
            Ok(SidecarMade::of(&sidecar))
        });
        filled.map_err(|error| failed(&error))
    }
}

/// A file that was made.
#[napi(object)]
#[derive(Debug)]
pub struct SidecarMade {
    /// Where it is.
    pub path: String,
    /// How long it is.
    pub bytes: f64,
    /// There was more than the limit.
    pub full: bool,
}

impl SidecarMade {
    #[expect(clippy::cast_precision_loss, reason = "no file is that long")]
    fn of(sidecar: &Sidecar) -> Self {
        Self {
            path: sidecar.path().to_string_lossy().into_owned(),
            bytes: sidecar.bytes() as f64,
            full: sidecar.is_full(),
        }
    }
}

/// A file that is made when the first bytes come.
pub(super) struct Lazy<'r> {
    request: &'r SidecarRequest,
    made: Option<io::Result<Sidecar>>,
}

impl<'r> Lazy<'r> {
    pub(super) fn new(request: &'r SidecarRequest) -> Self {
        Self { request, made: None }
    }

    /// What became of it; nothing where nothing came.
    pub(super) fn made(self) -> Option<Result<SidecarMade, NativeError>> {
        let made = self.made?;
        Some(made.as_ref().map(SidecarMade::of).map_err(failed))
    }
}

impl Overflow for Lazy<'_> {
    fn take(&mut self, bytes: &[u8]) -> bool {
        let made = self.made.get_or_insert_with(|| self.request.create());
        let Ok(sidecar) = made else { return false };
        match sidecar.write(bytes) {
            Ok(more) => more,
            Err(error) => {
                *made = Err(error);
                false
            }
        }
    }
}

fn failed(error: &io::Error) -> NativeError {
    let summary = "The whole output could not be kept".to_owned();
    let place = format!("{summary}: {error}");
    let hint = "Ask for less output at once.";
    NativeError::new("TOOL_IO_FAILED", summary, &place, hint)
}
