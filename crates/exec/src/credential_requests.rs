//! Connections that the host process reads and writes for a command, and what became of the requests in them.

use std::net::TcpStream;

/// Takes connections over that the host process reads and writes for a command.
pub trait TlsEnd {
    /// Takes the command's end of a connection to a name, and the target, which is connected. It does not wait.
    fn take(&self, name: &str, port: u16, client: TcpStream, target: TcpStream);
}

/// Why a request did not reach the host of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestRefusal {
    /// No rule of the credential allows it.
    Rule,
    /// The host program gave no value.
    NoValue,
    /// It is not understood.
    Unclear,
}

impl RequestRefusal {
    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::NoValue => "no value",
            Self::Unclear => "not understood",
        }
    }
}

/// Requests of a command to the host of a credential that are alike. There is no value in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialRequests {
    /// The host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The variables of the credentials. Empty: the request was not understood.
    pub credential: String,
    /// The method; `*` for further ones.
    pub method: String,
    /// The path, without its query; `*` for further ones.
    pub path: String,
    /// What the host answered, if it did.
    pub status: Option<u16>,
    /// Why they were refused.
    pub refused: Option<RequestRefusal>,
    /// How often.
    pub count: u32,
    /// The bytes of their bodies to the host.
    pub sent: u64,
    /// Those from the host.
    pub received: u64,
}
