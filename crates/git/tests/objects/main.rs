//! Objects: beside git itself, and made by an enemy.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::many_single_char_names,
    reason = "a failed unwrap is a failed test"
)]

mod histories;
mod hostile;
mod laws;
mod lfs;
mod packs;
mod support;
