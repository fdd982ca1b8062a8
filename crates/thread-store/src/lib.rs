//! Threads of agents on `SQLite`: values by key, messages, a queue of calls, attachments.
//!
//! A [`Store`] is one file that any number of threads and processes share, or a database in memory.
//! What belongs together is written in one transaction: the end of a call with its messages, its
//! attachments and the calls that it queued is one [`Store::commit`]. A process that is killed at any
//! moment leaves all of that or nothing.
//!
//! ```
//! use std::sync::Arc;
//! use toolwright_thread_store::{
//!     CallEnd, Changes, EndStatus, Location, NewCall, Options, Store, ThreadError,
//! };
//!
//! let store = Arc::new(Store::open(&Location::Memory, Options::default())?);
//! store.open_thread("thread", "flow")?;
//! let call = NewCall {
//!     id: "call-1".into(),
//!     name: "search".into(),
//!     arguments_json: "{}".into(),
//!     queue: "root".into(),
//!     force_allow: false,
//!     parent_call_id: None,
//!     info_json: None,
//! };
//! store.commit("thread", &Changes { enqueue: vec![call], ..Changes::default() })?;
//! let worker = store.lock_thread("thread")?;
//! while let Some(call) = worker.claim("root")? {
//!     let (status, result_json) = (EndStatus::Success, r#""done""#.into());
//!     let finish = Some(CallEnd { call_id: call.new.id, status, result_json });
//!     store.commit("thread", &Changes { finish, ..Changes::default() })?;
//! }
//! # Ok::<(), ThreadError>(())
//! ```
//!
//! # How it is built
//!
//! | what | how |
//! | --- | --- |
//! | the file | [`toolwright_sqlite::Database`] opens, checkpoints, watches and closes it |
//! | one worker for a thread | [`Store::lock_thread`]: a lock file beside the database, which the kernel releases when its process ends |
//! | a call whose worker died | has the status `running` while no worker has the lock: [`Store::interrupted`] |
//! | large attachments | in chunks of [`CHUNK`] bytes, written and read one at a time |
//! | attachments before their commit | staged: rows that no reader sees, removed when their store is closed, or is opened after its process has died |
//!
//! # Limits
//!
//! Texts and attachments have the limits of [`Options`], and a row is at most 100 MB. Ids are at most 512
//! bytes on one line. The order of a queue is that in which calls were committed.

mod attachment;
mod calls;
mod commit;
mod error;
mod export;
mod files;
mod messages;
mod names;
mod options;
mod read_bytes;
mod schema;
mod staging;
mod store;
mod threads;
mod upload;
mod values;
mod worker;

pub use attachment::{AttachmentRef, CHUNK, NewAttachment};
pub use calls::{Call, CallEnd, CallFilter, EndStatus, NewCall, Status};
pub use commit::{Changes, Committed};
pub use error::ThreadError;
pub use messages::{Message, NewMessage};
pub use options::{Options, Part};
pub use store::Store;
pub use threads::Thread;
pub use toolwright_sqlite::{Access, Location, SqliteErrorKind, Synchronous};
pub use upload::Upload;
pub use values::Range;
pub use worker::Worker;
