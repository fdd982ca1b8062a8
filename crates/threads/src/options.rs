//! How a store is opened, and which part of a list is wanted.

use std::time::Duration;

use toolwright_sqlite::Synchronous;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether it will be written.
    pub access: Access,
    /// What a write has survived once it returns.
    pub synchronous: Synchronous,
    /// How long a call waits for other processes before it fails with
    /// [`Busy`](toolwright_sqlite::SqliteError::Busy).
    pub patience: Duration,
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
            patience: Duration::from_secs(10),
            attachment_limit: 256 << 20,
            text_limit: 64 << 20,
        }
    }
}

/// Whether a store will be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The file is created where it is missing. A file that cannot be written is an error at once.
    ReadWrite,
    /// The file must exist, and is not changed.
    ReadOnly,
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
    /// What to put behind `WHERE …`: conditions on `seq`, order and limit. Numbers only.
    pub(crate) fn clause(self) -> String {
        let (order, beyond) = if self.reverse { ("DESC", "<") } else { ("ASC", ">") };
        let after = self.after.map_or(String::new(), |after| format!(" AND seq {beyond} {after}"));
        let limit = self.limit.map_or(String::new(), |limit| format!(" LIMIT {limit}"));
        format!("{after} ORDER BY seq {order}{limit}")
    }
}
