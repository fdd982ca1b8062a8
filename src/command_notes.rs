//! What the sandbox has noted of a command, for programs.

use napi_derive::napi;
use toolwright_core::denials::Denial;
use toolwright_exec::Connection;

use crate::cross::{Cross, float};

/// A host that a command asked for.
#[napi(object, object_from_js = false)]
pub struct HostConnection {
    /// Its name, or its address.
    pub host: String,
    /// The port. None: it was only looked up.
    pub port: Option<u16>,
    /// What became of it.
    #[napi(ts_type = "'opened' | 'refused' | 'failed'")]
    pub verdict: &'static str,
    /// How often.
    pub count: u32,
    /// What all of them have sent, if they were opened and the system tells.
    pub sent_bytes: Option<f64>,
    /// What they have received.
    pub received_bytes: Option<f64>,
}

impl Cross<HostConnection> for Connection {
    fn cross(self) -> HostConnection {
        let Self { host, port, verdict, count, bytes } = self;
        HostConnection {
            host,
            port,
            verdict: verdict.word(),
            count,
            sent_bytes: bytes.map(|bytes| float(bytes.sent)),
            received_bytes: bytes.map(|bytes| float(bytes.received)),
        }
    }
}

/// Something that a command was refused.
#[napi(object, object_from_js = false)]
pub struct SandboxDenial {
    /// What refused it.
    #[napi(ts_type = "'network' | 'files' | 'limits'")]
    pub layer: &'static str,
    /// A host with its port, a path, or the limit.
    pub subject: String,
    /// The option, capability or argument that opens it, if there is one.
    pub option: Option<String>,
}

impl Cross<SandboxDenial> for Denial {
    fn cross(self) -> SandboxDenial {
        let Self { layer, subject, option } = self;
        SandboxDenial { layer: layer.word(), subject, option: option.map(str::to_owned) }
    }
}
