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
    /// Rules of the session or its user have refused it.
    Rejected,
    /// The host program gave no value.
    NoValue,
    /// It is not understood.
    Unclear,
    /// The client speaks HTTP/2 alone.
    OnlyHttp2,
}

impl RequestRefusal {
    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Rejected => "rejected",
            Self::NoValue => "no value",
            Self::Unclear => "not understood",
            Self::OnlyHttp2 => "HTTP/2 only",
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
    /// The method; `*` for further ones, and `SIGN` for a signature of the SSH agent.
    pub method: String,
    /// The path, without its query; `*` for further ones. For a signature the user that it logs in.
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

impl CredentialRequests {
    /// Whether they are signatures of the SSH agent.
    #[must_use]
    pub fn are_signatures(&self) -> bool {
        self.method == "SIGN" && !self.path.starts_with('/')
    }

    /// Them, for a reader.
    #[must_use]
    pub fn subject(&self) -> String {
        let Self { host, port, method, path, refused, .. } = self;
        if *refused == Some(RequestRefusal::OnlyHttp2) {
            return format!("HTTP/2 to {host}:{port}");
        }
        match (self.are_signatures(), &**host) {
            (true, "") => "a signature with an SSH key".to_owned(),
            (true, _) => format!("a signature for ssh://{path}@{host}:{port}"),
            (false, _) => format!("{method} https://{host}{path}"),
        }
    }
}
