//! Links on the way from the names of grants to what they name.
//!
//! A grant is what its name led to when it was made. Where commands see nothing of the host but grants, as in a private
//! `/tmp`, the name would lead nowhere. So the links on the way are made there anew. They contain what those of the
//! host contain, and lead only to what commands see.

use std::fs;
use std::path::{Path, PathBuf};

use super::trail::Trail;
use super::{Options, scope};
use crate::plan::Link;

/// The links, without those of paths that name what is granted directly.
pub(super) fn of(options: &Options<'_>) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let programs = scope::temporary_directories(options.path);
    for name in options.resolved.linked_names.iter().cloned().chain(programs) {
        // A root is looked for from the top.
        for path in Trail::of(&name, Path::new("")).links {
            let target = fs::read_link(&path).unwrap_or_else(|_| PathBuf::new());
            let is_known = links.iter().any(|link| link.path == path);
            if !is_known && !target.as_os_str().is_empty() {
                links.push(Link { path, target });
            }
        }
    }
    links.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    links
}
