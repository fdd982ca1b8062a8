//! Git's configuration: read as git reads it, changed as git changes it, and which changes of a
//! command may reach the host.
//!
//! A command has a view of its own of a repository's configuration. What it has changed there is
//! compared with what the view began from, setting by setting. A closed list says which settings are
//! harmless; these are written into the real file. Nothing of the view's text is ever copied: the
//! writer makes each line itself. So a text that this parser reads otherwise than git does can at most
//! lead to a harmless setting.

mod carried;
mod change;
mod local;
mod parse;
mod value;

pub use carried::{Terms, is_carried};
pub use change::{Change, changes, with_changes};
pub use parse::{Config, Setting, Value};
