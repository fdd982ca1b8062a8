//! Texts in other encodings than UTF-8, as far as a file says which it has.
//!
//! Nothing is guessed here. Every file of bytes is valid in some forty encodings with one byte for a letter, so a look
//! at its letters proves nothing, and a wrong guess writes letters that nobody meant. Two signs say what a file is in:
//!
//! - A byte order mark of UTF-16. [`utf16`] makes such a text one of UTF-8, and back, without losing a bit.
//! - The name of an encoding in the file itself, as in `<?xml encoding="…"?>` or `# -*- coding: … -*-`.
//!   [`Declared`] writes letters in it, if all of the file can be read in it and written back the same.

mod declared;
mod label;
pub mod utf16;

pub use declared::Declared;
