//! What a model has been shown of files, and what others have changed since.
//!
//! A ledger belongs to one conversation. It knows for each file, by its real path, the content that the model was shown
//! or wrote itself. Before the model replaces the file, the ledger compares that with what is there: lines that nobody has shown
//! to the model would be lost.
//!
//! Contents decide, never times: a file that was touched, or checked out with the same content, has not changed. Neither
//! has one with other line endings or a byte order mark.
//!
//! This crate opens no file. Its caller has the bytes of every file that it reads or writes.

mod difference;
mod edit;
mod entry;
mod judge;
mod known;
mod ledger;
mod lines;
mod parts;
mod record;

pub use difference::Difference;
pub use edit::Edited;
pub use entry::Shown;
pub use judge::{Change, Replaced};
pub use ledger::{Ledger, Moment};
