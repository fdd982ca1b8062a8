//! What the requests of a connection have in common.

use std::sync::Arc;

use hyper::client::conn::http1::SendRequest;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::answer::Answer;
use crate::approval::{Approvals, UseAnswer, Wanted};
use crate::body::Passed;
use crate::broker::{Broker, MAX_ASKING};
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
    /// None: what the credentials allow, the command may use.
    pub(crate) approvals: Option<Arc<dyn Approvals>>,
    pub(crate) sender: Mutex<Result<SendRequest<Passed>, Problem>>,
}

impl Connection {
    /// Why somebody refuses this use. `None`: nobody does.
    pub(crate) async fn refusal(&self, wanted: Wanted) -> Option<String> {
        let approvals = self.approvals.as_ref()?;
        let (answer, given) = UseAnswer::new();
        approvals.ask(wanted, answer);
        let nobody = || Some("nobody has answered whether it may be used".to_owned());
        timeout(MAX_ASKING, given).await.ok().and_then(Result::ok).unwrap_or_else(nobody)
    }
}
