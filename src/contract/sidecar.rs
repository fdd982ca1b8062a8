//! Where the whole of an output goes that was cut.

use napi_derive::napi;
use toolwright_core::sidecar;

use crate::options;

/// A file to be made when there is something to put into it.
#[napi(object)]
#[derive(Clone)]
pub struct SidecarRequest {
    /// An absolute directory that is this user's alone.
    pub directory: String,
    /// A name that is free in it.
    pub name: String,
    /// What produces more than this is stopped, and the last line says so.
    pub limit_bytes: f64,
}

impl From<SidecarRequest> for sidecar::SidecarRequest {
    fn from(request: SidecarRequest) -> Self {
        Self {
            directory: request.directory.into(),
            name: request.name,
            limit_bytes: options::bytes(request.limit_bytes),
        }
    }
}
