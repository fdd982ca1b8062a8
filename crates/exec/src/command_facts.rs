//! What a sandbox has counted of one command.

use std::sync::{Mutex, PoisonError};

use toolwright_sandbox::background::Facts;

/// Keeps the facts of one command, however that ends.
#[derive(Debug, Default)]
pub struct CommandFacts(Mutex<Facts>);

impl CommandFacts {
    /// The facts of the last attempt to run it.
    #[must_use]
    pub fn get(&self) -> Facts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, facts: Facts) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = facts;
    }
}
