//! Recorded tool calls: what an agent did, and what it may have done when its process died.
//!
//! A [`Journal`] is an `SQLite` file that any number of processes share. Around a call with a side
//! effect it is told twice: [`Journal::begin`] before anything is done, [`Journal::finish`] after.
//! Each has its row on disk when it returns, so that after a crash at any moment there is a row for
//! every effect there is, and no row claims a success that was not. What a dead process left without
//! an outcome [`Journal::recover`] marks as unknown, and [`Journal::prior_effects`] tells the next
//! attempt of the task what it must not repeat blindly.
//!
//! What is guaranteed when a call of this crate returns:
//!
//! | call | the row has survived |
//! | --- | --- |
//! | `begin`, `finish`, `record` of a call with a side effect | the end of every process; with [`Synchronous::Full`] also a loss of power |
//! | `record` of a call without | nothing yet; the same within [`Options::flush_within`], and after `flush`, `close` or any listing |
//!
//! The table is `_smithers_tool_calls` of smithers-orchestrator 0.32.0 with some nullable columns
//! more, so that either program reads what the other wrote; older tables are completed.
//!
//! ```ignore
//! let journal = Journal::open(&"file:runs.db".parse()?, Options::default())?;
//! journal.recover()?;
//! let lock = journal.lock_task(&task, 2)?;
//! let warnings = journal.prior_effects(&task, 2)?;
//! let call = journal.begin(intent)?;
//! let outcome = send_the_mail();
//! journal.finish(call, Finish { outcome, finished_at_ms, whole: false })?;
//! ```

mod call;
mod columns;
mod error;
mod fitted;
mod journal;
pub mod keys;
mod nowait;
mod options;
mod ordinals;
mod outlines;
mod owner;
mod prior_effects;
mod queries;
mod recovery;
mod redaction;
mod replay;
mod reverts;
mod schema;
mod statements;
mod task_lock;
mod write_behind;
mod writer;

pub use call::{Call, CallRef, Finish, Intent, Outcome, Status, TaskId};
pub use error::JournalError;
pub use fitted::{Fitted, fit_json};
pub use journal::Journal;
pub use nowait::TryResult;
pub use options::Options;
pub use ordinals::Ordinals;
pub use outlines::MAX_ANSWER_BYTES;
pub use queries::{Order, RunSummary};
pub use recovery::Recovered;
pub use redaction::redact_secrets;
pub use replay::Recorded;
pub use reverts::Claim;
pub use task_lock::TaskLock;
pub use toolwright_sqlite::{Access, Location, SqliteError, Synchronous};
