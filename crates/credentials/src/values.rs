//! Where values come from that the host program gives when they are needed.

use std::fmt;

use tokio::sync::oneshot;
use zeroize::Zeroizing;

/// Gives values.
pub trait Values: fmt::Debug + Send + Sync {
    /// Asks for the value of the credential at this place of the list, behind which the SSH keys have theirs. It does not
    /// wait. An answer that is dropped says that there is none.
    fn ask(&self, credential: usize, answer: ValueAnswer);
}

/// Takes one value.
pub struct ValueAnswer(oneshot::Sender<Zeroizing<String>>);

impl ValueAnswer {
    pub(crate) fn new() -> (Self, oneshot::Receiver<Zeroizing<String>>) {
        let (sender, receiver) = oneshot::channel();
        (Self(sender), receiver)
    }

    /// The value.
    pub fn give(self, value: String) {
        // Nobody waits for it any more otherwise.
        let _ = self.0.send(Zeroizing::new(value));
    }
}

impl fmt::Debug for ValueAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ValueAnswer")
    }
}
