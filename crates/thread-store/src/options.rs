//! How a store is opened, and which part of a list is wanted.

use std::time::Duration;

use toolwright_sqlite::{Access, BusyTimeout, Synchronous};

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether it will be written.
    pub access: Access,
    /// What a write has survived once it returns.
    pub synchronous: Synchronous,
    /// How long a call waits for other processes before it fails with
    /// [`Busy`](toolwright_sqlite::SqliteErrorKind::Busy).
    pub busy_timeout: Duration,
    /// The most bytes of an attachment.
    pub attachment_limit: u64,
    /// The most bytes of any other text: a value, arguments, a result, a message.
    pub text_limit: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            access: Access::ReadWrite,
            synchronous: Synchronous::Normal,
            busy_timeout: Duration::from_secs(10),
            attachment_limit: 256 << 20,
            text_limit: 64 << 20,
        }
    }
}

impl Options {
    pub(crate) fn database(&self) -> toolwright_sqlite::Options {
        let busy_timeout = BusyTimeout(self.busy_timeout);
        let Self { access, synchronous, .. } = *self;
        toolwright_sqlite::Options { access, synchronous, busy_timeout }
    }
}

/// Which part of a list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Part {
    /// Only what comes after this number, in the order of the list.
    pub after: Option<i64>,
    /// The most to give.
    pub limit: Option<u32>,
    /// The highest number first.
    pub reverse: bool,
}

impl Part {
    /// What follows `WHERE …`: conditions on `seq`, order and limit. Numbers only.
    pub(crate) fn clause(self) -> String {
        let (order, beyond) = if self.reverse { ("DESC", "<") } else { ("ASC", ">") };
        let after = self.after.map_or(String::new(), |after| format!(" AND seq {beyond} {after}"));
        let limit = self.limit.map_or(String::new(), |limit| format!(" LIMIT {limit}"));
        format!("{after} ORDER BY seq {order}{limit}")
    }
}
