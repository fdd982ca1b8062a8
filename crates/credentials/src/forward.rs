//! One connection of a command to the host of a credential.

use std::fmt::Display;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::http1::{self as to_host, SendRequest};
use hyper::server::conn::http1 as from_command;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::server::{Acceptor, ClientHello};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::{LazyConfigAcceptor, TlsConnector, client, server};

use crate::approval::Approvals;
use crate::body::Passed;
use crate::broker::Broker;
use crate::connection::{Connection, Problem};
use crate::error::CredentialError;
use crate::streams::{Content, Socket, socket};
use crate::uses::{Meter, Noted, Uses, Why};
use crate::{exchange, runtime};

/// How long a command may take to begin TLS, and a host.
const MAX_OPENING: Duration = Duration::from_secs(30);
/// How long the head of a message may be.
const MAX_HEAD: usize = 64 << 10;
/// How much of a host's answer is one piece, and how long its head may be.
const MAX_PIECE: usize = 128 << 10;

/// A connection of a command to the host of a credential.
#[derive(Debug)]
pub struct Ends {
    /// The name that the command connected to, in small letters.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The end of the command.
    pub client: std::net::TcpStream,
    /// That of the host, which is connected and has said nothing.
    pub target: std::net::TcpStream,
    /// Where its requests are noted.
    pub uses: Arc<Uses>,
    /// Who decides about its uses of credentials besides their rules.
    pub approvals: Option<Arc<dyn Approvals>>,
}

impl Broker {
    /// Takes a connection over. It is carried by other threads until an end has ended.
    pub fn carry(self: &Arc<Self>, ends: Ends) -> Result<(), CredentialError> {
        // What is dropped is closed.
        let Some(slot) = self.slot() else { return Ok(()) };
        let broker = Arc::clone(self);
        runtime::spawn(async move {
            carry(broker, ends).await;
            drop(slot);
        })
    }
}

/// Carries a connection until one of its ends has ended.
async fn carry(broker: Arc<Broker>, ends: Ends) {
    let Ends { host, port, client, target, uses, approvals } = ends;
    let accepted = async {
        let config = broker.server(&host)?;
        let opening = LazyConfigAcceptor::new(Acceptor::default(), socket(client)?);
        let accept = async {
            let hello = opening.await.ok()?;
            if speaks_http2_alone(&hello.client_hello()) {
                // TLS ends then, since no protocol is left.
                let noted = Noted::new(&host, port, "*", "*");
                uses.note(&noted, Err(Why::OnlyHttp2), &Meter::default());
            }
            let accepted = hello.into_stream_with(config, |session| {
                session.set_buffer_limit(Some(MAX_PIECE));
            });
            accepted.await.ok()
        };
        timeout(MAX_OPENING, accept).await.ok()?
    };
    let (accepted, connected) = tokio::join!(accepted, reach(&broker, &host, target));
    let Some(client) = accepted else { return };
    let (sender, host_ended) = match connected {
        Ok((sender, ended)) => (Ok(sender), Some(ended)),
        Err(problem) => (Err(problem), None),
    };
    let sender = Mutex::new(sender);
    let connection = Arc::new(Connection { broker, host, port, uses, approvals, sender });
    serve(client, connection, host_ended).await;
}

/// What carries the end of a host, until that has ended.
type HostEnd = JoinHandle<Result<(), hyper::Error>>;

/// Begins the end of a host, on the thread of hosts.
async fn reach(
    broker: &Arc<Broker>,
    host: &str,
    target: std::net::TcpStream,
) -> Result<(SendRequest<Passed>, HostEnd), Problem> {
    let unreachable = |error: &dyn Display| Problem::Unreachable(error.to_string());
    let hosts = runtime::of_hosts().map_err(|error| unreachable(&error))?;
    let (broker, host) = (Arc::clone(broker), host.to_owned());
    let connected = hosts.spawn(async move { connect(&broker, &host, target).await });
    let stream = connected.await.map_err(|error| unreachable(&error))??;
    let mut builder = to_host::Builder::new();
    builder.preserve_header_case(true).max_buf_size(MAX_PIECE);
    let begun = builder.handshake::<_, Passed>(TokioIo::new(Content::new(stream))).await;
    let (sender, connection) = begun.map_err(|error| unreachable(&error))?;
    Ok((sender, hosts.spawn(connection.with_upgrades())))
}

async fn serve(
    client: server::TlsStream<Socket>,
    connection: Arc<Connection>,
    host_ended: Option<HostEnd>,
) {
    let service = service_fn(move |request| exchange::answer(Arc::clone(&connection), request));
    let mut builder = from_command::Builder::new();
    builder.preserve_header_case(true).auto_date_header(false).half_close(true);
    builder.max_buf_size(MAX_HEAD);
    let served =
        builder.serve_connection(TokioIo::new(Content::new(client)), service).with_upgrades();
    let mut served = pin!(served);
    let Some(host_ended) = host_ended else {
        let _ = served.await;
        return;
    };
    tokio::select! {
        _ = &mut served => {}
        _ = host_ended => {
            // The host takes no more requests: neither does this end, once the last one is answered.
            served.as_mut().graceful_shutdown();
            let _ = served.await;
        }
    }
}

/// Whether a client offers protocols, and HTTP/1.1 is none of them.
fn speaks_http2_alone(hello: &ClientHello<'_>) -> bool {
    let mut offered = hello.alpn().into_iter().flatten().peekable();
    offered.peek().is_some() && offered.all(|protocol| protocol != b"http/1.1")
}

async fn connect(
    broker: &Broker,
    host: &str,
    target: std::net::TcpStream,
) -> Result<client::TlsStream<Socket>, Problem> {
    let unreachable = |error: std::io::Error| Problem::Unreachable(error.to_string());
    let config = broker.client().await.map_err(|error| Problem::NotVerified(error.to_string()))?;
    let name = ServerName::try_from(host.to_owned())
        .map_err(|error| Problem::NotVerified(error.to_string()))?;
    let target = socket(target).ok_or_else(|| Problem::Unreachable("the socket is gone".into()))?;
    let connect = TlsConnector::from(config).connect(name, target);
    let late = |_| Problem::Unreachable("it did not begin TLS in time".to_owned());
    timeout(MAX_OPENING, connect).await.map_err(late)?.map_err(|error| {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match tls {
            Some(rustls::Error::InvalidCertificate(problem)) => {
                Problem::NotVerified(problem.to_string())
            }
            _ => unreachable(error),
        }
    })
}
