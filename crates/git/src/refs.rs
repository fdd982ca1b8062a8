//! References: their names, values and files, and what a command has changed of them.
//!
//! Git stores a reference as a file of its own (*loose*) or as a line of `packed-refs`, and a command may
//! change the form without changing the value. References are therefore compared as maps from names to
//! values.

mod changes;
mod map;
mod name;
pub mod packed;
mod update;
mod value;

pub use changes::{Changes, LeftOut, RefChange, Refusal, changes, head_change};
pub(crate) use map::read_packed;
pub use map::{RefMap, Unreadable, Unsupported, read_head};
pub use name::{BadName, RefName};
pub use packed::Packed;
pub use update::{Outcome, update, update_head};
pub use value::{BadValue, Head, RefValue};
