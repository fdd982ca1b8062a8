//! Threads of agents on `SQLite`: values by key, messages, calls that wait in a queue, attachments.
//!
//! A [`Store`] is one file that any number of threads and processes share, or a database in memory.
//! What belongs together is written in one transaction: the end of a call with its messages, its
//! attachments and the calls that it queued is one [`Store::commit`]. A process that is killed at any
//! moment leaves all of that or nothing.
//!
//! | what | how |
//! | --- | --- |
//! | one worker for a thread | [`Store::lock_thread`]: a lock file beside the database, which the kernel gives back when its process ends |
//! | a call that ran when its worker died | has the status `running`, and nobody the lock: [`Store::interrupted`] |
//! | large attachments | in chunks of [`CHUNK`] bytes, written and read one at a time |
//! | attachments before their commit | staged: rows that nobody reads, removed when their store is closed, or is opened after its process has died |
//!
//! ```ignore
//! let store = Store::open(&"file:thread.db".parse()?, Options::default())?;
//! store.open_thread("thread", "flow")?;
//! let worker = store.lock_thread("thread")?;
//! while let Some(call) = worker.claim("root")? {
//!     let (result_json, messages) = run(&call);
//!     let finish = Some(CallEnd { call_id: call.id, status: EndStatus::Success, result_json });
//!     store.commit("thread", &Changes { finish, messages, ..Changes::default() })?;
//! }
//! ```

mod attachment;
mod calls;
mod commit;
mod dimensions;
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
pub use toolwright_sqlite::{Access, Location, SqliteError, Synchronous};
pub use upload::Upload;
pub use values::Range;
pub use worker::Worker;
