//! Repositories that a command has made, and submodules: compared with what git makes outside.

#![allow(clippy::unwrap_used, reason = "tests")]

mod hostile;
mod kept;
mod large_files;
mod law;
mod locks;
mod partial;
mod submodules;
mod support;
mod work_trees;
mod work_trees_left;
