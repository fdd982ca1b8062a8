//! Git's configuration: read as git reads it, changed as git changes it, and which changes of a command
//! reach a person's file.
//!
//! A command has a configuration of its own. What it has changed there is compared with what it began
//! from, setting by setting. A closed list says which settings do no harm; these are applied to the
//! person's text, and the result is judged as a whole, because a setting is harmless only beside the
//! others. Nothing of the command's text is ever copied: the writer makes each line itself. So a text
//! that this parser reads otherwise than git does can at most lead to a harmless setting.

mod address;
mod change;
mod fresh;
mod identity;
mod list;
mod merge;
mod parse;
mod remotes;
mod value;

pub use change::{Change, changes, with_changes};
pub use fresh::{New, fresh};
pub use list::{Group, groups, is_known, is_listed};
pub use merge::{ConfigError, Merged, Policy, RemoteChange, Scope, merge};
pub use parse::{Config, Setting, Value};

/// A longer file is none of a person, and none that a command changes.
pub const MAX_BYTES: usize = 256 << 10;
