//! What the requests of a connection have in common.

use std::sync::Arc;

use hyper::client::conn::http1::SendRequest;
use tokio::sync::Mutex;

use crate::answer::Answer;
use crate::body::Passed;
use crate::broker::Broker;
use crate::uses::Uses;

/// Why there is no connection to the host.
#[derive(Debug, Clone)]
pub(crate) enum Problem {
    NotVerified(String),
    Unreachable(String),
}

impl Problem {
    pub(crate) fn answer(&self, host: &str) -> Answer {
        match self {
            Self::NotVerified(problem) => Answer::not_verified(host, problem),
            Self::Unreachable(problem) => Answer::unreachable(host, problem),
        }
    }
}

/// What the requests of a connection have in common.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) broker: Arc<Broker>,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) uses: Arc<Uses>,
    pub(crate) sender: Mutex<Result<SendRequest<Passed>, Problem>>,
}
