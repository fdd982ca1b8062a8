//! Who decides about each use of a credential by one command.

use std::fmt;

use tokio::sync::oneshot;

/// A request that is to have a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The variable of the credential.
    pub credential: String,
    /// The host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The method.
    pub method: String,
    /// The path as it is sent, without its query.
    pub path: String,
    /// Whether no server takes the path for another one, and it can be written in no other way.
    pub is_plain: bool,
}

/// Decides about uses.
pub trait Approvals: fmt::Debug + Send + Sync {
    /// Asks whether a request may have a credential. It does not wait. An answer that is dropped refuses it.
    fn ask(&self, wanted: Wanted, answer: UseAnswer);
}

/// Takes one answer.
pub struct UseAnswer(oneshot::Sender<Option<String>>);

impl UseAnswer {
    pub(crate) fn new() -> (Self, oneshot::Receiver<Option<String>>) {
        let (sender, receiver) = oneshot::channel();
        (Self(sender), receiver)
    }

    /// Why the request is refused. `None`: it may have the credential.
    pub fn give(self, refusal: Option<String>) {
        // Nobody waits for it any more otherwise.
        let _ = self.0.send(refusal);
    }
}

impl fmt::Debug for UseAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("UseAnswer")
    }
}
