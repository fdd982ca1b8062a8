//! Access decisions: what a session may do, what a call needs, and what a search may show.
//!
//! - [`policy`]: the capabilities of a session, its own directories and what is closed to it.
//! - [`directories`]: the directories that the host grants by name, identified once.
//! - [`permission`]: how rules decide about what the capabilities let through.
//! - [`rules`]: lists of rules as they are written, compiled.
//! - [`target`]: a file or directory that is opened first and decided about then.
//! - [`visibility`]: what a search may show of what it meets.

pub mod directories;
pub mod permission;
pub mod policy;
pub mod rules;
pub mod target;
pub mod visibility;

use std::path::PathBuf;

use toolwright_sandbox::policy::presets;

/// The paths below a root that neither file tools nor commands write; the usual ones without a list.
#[must_use]
pub fn protected_paths(option: Option<&[PathBuf]>) -> Vec<PathBuf> {
    presets::expand(&protected_list(option))
}

/// The list of these paths, in which a name may stand for several.
#[must_use]
pub fn protected_list(option: Option<&[PathBuf]>) -> Vec<PathBuf> {
    option.map_or_else(|| presets::DEFAULT.iter().map(PathBuf::from).collect(), <[PathBuf]>::to_vec)
}
