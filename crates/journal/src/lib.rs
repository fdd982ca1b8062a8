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

mod at_once;
mod behind;
mod call;
mod columns;
mod error;
mod journal;
pub mod keys;
mod options;
mod ordinals;
mod outline;
mod owner;
mod prior_effects;
mod queries;
mod recover;
mod redaction;
mod replay;
mod revert;
mod schema;
mod statements;
mod task_lock;
mod truncate;
mod writer;

pub use at_once::AtOnce;
pub use call::{Call, CallRef, Finish, Intent, Outcome, Status, TaskId};
pub use error::JournalError;
pub use journal::Journal;
pub use options::{Access, Options};
pub use ordinals::Ordinals;
pub use outline::AT_ONCE_BYTES;
pub use prior_effects::{Certainty, PriorEffect};
pub use queries::{Order, RunSummary};
pub use recover::Recovered;
pub use redaction::redact_secrets;
pub use replay::Recorded;
pub use revert::Claim;
pub use task_lock::TaskLock;
pub use toolwright_sqlite::{Location, Synchronous};
pub use truncate::{Fitted, fit_json};
