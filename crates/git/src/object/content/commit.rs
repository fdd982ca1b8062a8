//! Commits.

use super::{Malformed, header, id, identity, optional_header, text};
use crate::object::Id;

/// What a commit refers to.
pub(super) struct Commit {
    /// The project at that version.
    pub(super) tree: Id,
    /// The versions before it.
    pub(super) parents: Vec<Id>,
}

pub(super) fn parse(content: &[u8]) -> Result<Commit, Malformed> {
    let mut rest = text(content)?;
    let tree = id(header(&mut rest, "tree")?, "tree")?;
    let mut parents = Vec::new();
    while let Some(value) = optional_header(&mut rest, "parent") {
        parents.push(id(value, "parent")?);
    }
    // `git fsck` names several authors an error, but a walk over the history takes them.
    identity(header(&mut rest, "author")?, "author")?;
    while let Some(value) = optional_header(&mut rest, "author") {
        identity(value, "author")?;
    }
    identity(header(&mut rest, "committer")?, "committer")?;
    Ok(Commit { tree, parents })
}
