//! Where values come from that the host program gives when they are needed.

use std::fmt;

use tokio::sync::oneshot;

use crate::secret::Secret;

/// Gives values.
pub trait Values: fmt::Debug + Send + Sync {
    /// Asks for the value of the credential at this place of the list. It does not wait. An answer that is
    /// dropped says that there is none.
    fn ask(&self, credential: usize, answer: ValueAnswer);
}

/// Takes one value.
pub struct ValueAnswer(oneshot::Sender<Secret>);

impl ValueAnswer {
    pub(crate) fn new() -> (Self, oneshot::Receiver<Secret>) {
        let (sender, receiver) = oneshot::channel();
        (Self(sender), receiver)
    }

    /// The value. What is no value is as none.
    pub fn give(self, value: String) {
        if let Some(secret) = Secret::new(value) {
            // Nobody waits for it any more otherwise.
            let _ = self.0.send(secret);
        }
    }
}

impl fmt::Debug for ValueAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ValueAnswer")
    }
}
