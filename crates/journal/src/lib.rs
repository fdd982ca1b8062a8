//! Recorded tool calls: what an agent did, and what it may have done when its process died.
//!
//! A [`Journal`] is an `SQLite` file that any number of processes share. A call with a side effect is
//! recorded twice: by [`Journal::begin`] before anything is done, and by [`Journal::finish`] after. Each row
//! is on disk when the method returns. So after a crash at any moment there is a row for every effect, and
//! no row claims a success that did not happen. [`Journal::recover`] marks what a dead process left without
//! an outcome as unknown, and [`Journal::prior_effects`] lists what the next attempt of a task must not
//! repeat blindly.
//!
//! ```
//! use toolwright_journal::{
//!     Finish, Intent, Journal, JournalError, Location, Options, Outcome, TaskId,
//! };
//!
//! let journal = Journal::open(&Location::Memory, Options::default())?;
//! journal.recover(r#"{"message":"The process ended before it recorded the outcome."}"#)?;
//! let task = TaskId { run_id: "run".into(), node_id: "mail".into(), iteration: 0 };
//! let _lock = journal.lock_task(&task, 1)?;
//! assert!(journal.prior_effects(&task, 1)?.is_empty());
//! let call = journal.begin(Intent {
//!     task: task.clone(),
//!     attempt: 1,
//!     seq: 1,
//!     tool_name: "send".into(),
//!     input_json: Some(r#"{"to":"a@b.c"}"#.into()),
//!     started_at_ms: 1_790_000_000_000,
//!     side_effect: true,
//!     idempotent: false,
//!     accepts_idempotency_key: false,
//!     has_revert: false,
//!     idempotency_key: None,
//!     call_token: None,
//!     args_hash: None,
//!     ordinal: None,
//! })?;
//! // Here the mail is sent.
//! let outcome = Outcome::Success(Some(r#""sent""#.into()));
//! let ended = 1_790_000_000_100;
//! journal.finish(call, Finish { outcome, finished_at_ms: ended, whole: false, seen: None, key_read: false })?;
//! assert_eq!(journal.prior_effects(&task, 2)?.len(), 1);
//! # Ok::<(), JournalError>(())
//! ```
//!
//! # What it promises
//!
//! | call | when it returns, the row has survived |
//! | --- | --- |
//! | `begin`, `finish`, `record` of a call with a side effect | the end of every process; with [`Synchronous::Full`] also a loss of power |
//! | `record` of a call without | nothing yet; the same within [`Options::flush_within`], and after `flush`, `close` or any listing |
//!
//! # How it is built
//!
//! - [`toolwright_sqlite::Database`] opens, checkpoints, watches and closes the file.
//! - `writer` writes the rows of concurrent callers in one transaction (group commit).
//! - `write_behind` queues the rows of calls without side effects for a thread of the journal.
//! - `nowait` writes for a caller that must not wait, where that is possible.
//! - `owner` holds a lock while the journal is open, by which other processes see that it is.
//!
//! # Limits
//!
//! The table is `_smithers_tool_calls` of smithers-orchestrator 0.32.0 with some nullable columns more, so
//! either program reads what the other wrote; older tables are completed. A row whose owner runs on another
//! machine, or in a container whose locks are not visible, is never recovered from here. A process that is
//! killed loses the rows in its write-behind queue.

mod call;
mod claims;
mod columns;
mod error;
mod fitted;
mod journal;
pub mod keys;
mod nowait;
mod options;
mod ordinals;
mod owner;
mod queries;
mod recovery;
mod redaction;
mod retries;
mod reverts;
mod schema;
mod statements;
mod write_behind;
mod writer;

pub use call::{Call, CallRef, Finish, Intent, Outcome, Status, TaskId};
pub use claims::{CallClaim, ClaimHow};
pub use error::JournalError;
pub use fitted::{Fitted, fit_json};
pub use journal::Journal;
pub use options::Options;
pub use ordinals::Ordinals;
pub use queries::{Listed, MAX_ANSWER_BYTES, Order, RunSummary};
pub use recovery::Recovered;
pub use redaction::redact_secrets;
pub use reverts::Claim;
pub use toolwright_sqlite::{
    Access, Location, NamedLock, SqliteError, SqliteErrorKind, Synchronous,
};
