//! Logs of references: what `git reflog` shows, and where stashes are.
//!
//! A line is `OLD NEW NAME <MAIL> TIME ZONE`, and a message after a tab. A terminal shows these texts, so no
//! field has a control character.

mod changes;
mod line;

pub use changes::{Appended, Change, Changes, LogChange, LogName, appended, changes};
pub(crate) use line::is_printable;
pub use line::{BadLine, Line, parse};
