//! What the sandbox has noted of a command, for programs.

use napi_derive::napi;
use toolwright_core::denials::Denial;
use toolwright_exec::{Connection, RequestRefusal};

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
    /// The requests in them that had a credential; without any, nothing.
    pub requests: Option<Vec<CredentialRequests>>,
}

/// Requests to the host of a credential that are alike.
#[napi(object, object_from_js = false)]
pub struct CredentialRequests {
    /// The variables of the credentials. Empty: the request was not understood.
    pub credential: String,
    /// The method.
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// What the host answered, if it did.
    pub status: Option<u16>,
    /// Why they were refused.
    #[napi(ts_type = "'rule' | 'rejected' | 'no value' | 'not understood' | 'HTTP/2 only'")]
    pub refused: Option<&'static str>,
    /// How often.
    pub count: u32,
    /// The bytes of their bodies to the host.
    pub sent_bytes: f64,
    /// Those from the host.
    pub received_bytes: f64,
}

impl Cross<CredentialRequests> for toolwright_exec::CredentialRequests {
    fn cross(self) -> CredentialRequests {
        let Self { credential, method, path, status, refused, count, sent, received, .. } = self;
        let (sent_bytes, received_bytes) = (float(sent), float(received));
        let refused = refused.map(RequestRefusal::word);
        CredentialRequests {
            credential,
            method,
            path,
            status,
            refused,
            count,
            sent_bytes,
            received_bytes,
        }
    }
}

impl Cross<HostConnection> for Connection {
    fn cross(self) -> HostConnection {
        let Self { host, port, verdict, count, bytes, requests } = self;
        HostConnection {
            host,
            port,
            verdict: verdict.word(),
            count,
            sent_bytes: bytes.map(|bytes| float(bytes.sent)),
            received_bytes: bytes.map(|bytes| float(bytes.received)),
            requests: (!requests.is_empty()).then(|| requests.cross()),
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
