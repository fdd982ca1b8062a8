//! What a model reads after a change of files: the lines of a patch that was applied, and the next
//! moves after one that was not.
//!
//! Two readers of patches use these words: the tools of `toolwright-core`, and the program `apply_patch`
//! of the sandbox, which cannot use that crate.

pub mod applied;
pub mod binary;
pub mod files;
pub mod patches;
