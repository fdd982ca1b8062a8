//! Names of references.

use std::borrow::Borrow;
use std::fmt;
use std::path::Path;

/// The most bytes of a name.
const LENGTH: usize = 1000;
/// The most parts of a name.
const PARTS: usize = 32;
/// The most bytes of a part: a lock has five more.
const PART: usize = 250;

/// The name of a reference that a command may give: what `git check-ref-format` takes, with further rules
/// that keep every name harmless as an argument, as a path and in a terminal.
///
/// - It is UTF-8 without control characters, and at most 1000 bytes in 32 parts.
/// - It is `refs/stash`, or has at least three parts. No part begins with `-` or `.`, or ends with `.lock`.
/// - It cannot be taken for `HEAD` or for the name of an object.
/// - It is not below `refs/replace/`, which changes what objects are, nor below `refs/toolwright/`, which
///   is the host's.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(Box<str>);

/// A text that is not the name of a reference, or one that a command may not give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a reference that a command may give")]
pub struct BadName;

impl RefName {
    /// Checks a name.
    pub fn parse(name: &[u8]) -> Result<Self, BadName> {
        let name = std::str::from_utf8(name).map_err(|_| BadName)?;
        let is_reserved = ["refs/replace", "refs/toolwright"].iter().any(|reserved| {
            name.strip_prefix(reserved).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if !is_well_formed(name) || is_reserved {
            return Err(BadName);
        }
        Ok(Self(name.into()))
    }

    /// The name below `refs/toolwright/` under which the host keeps what could not be written: for
    /// `refs/heads/main` and `x7` it is `refs/toolwright/x7/heads/main`.
    pub fn kept(id: &str, name: &Self) -> Result<Self, BadName> {
        let below = name.0.strip_prefix("refs/").ok_or(BadName)?;
        let kept = format!("refs/toolwright/{id}/{below}");
        let is_plain =
            !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if is_plain && is_well_formed(&kept) { Ok(Self(kept.into())) } else { Err(BadName) }
    }

    /// The same for a commit that was checked out without a branch: `refs/toolwright/x7/HEAD`.
    pub fn kept_head(id: &str) -> Result<Self, BadName> {
        Self::kept(id, &Self("refs/HEAD".into()))
    }

    /// The text of the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its path in a git directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        Path::new(&*self.0)
    }

    /// Whether it is a branch.
    #[must_use]
    pub fn is_branch(&self) -> bool {
        self.0.starts_with("refs/heads/")
    }

    /// Whether a command may make this name a symbolic reference to `target`: `refs/remotes/X/HEAD` may lead
    /// to branches of X.
    #[must_use]
    pub fn may_lead_to(&self, target: &Self) -> bool {
        let Some(remote) = self.0.strip_suffix("HEAD") else { return false };
        remote.len() > "refs/remotes/".len()
            && remote.starts_with("refs/remotes/")
            && target.0.starts_with(remote)
            && target != self
    }

    /// The names that cannot be there together with this one: `refs/heads/a` for `refs/heads/a/b`.
    pub fn parents(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').skip(1).map(|(at, _)| &self.0[..at])
    }
}

fn is_well_formed(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let is_shadow = name.strip_prefix("refs/heads/").is_some_and(|branch| {
        branch.len() == 40 && branch.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    name.len() <= LENGTH
        && parts.len() <= PARTS
        && parts[0] == "refs"
        && (parts.len() >= 3 || name == "refs/stash")
        && parts.iter().all(|part| is_part(part))
        && !name.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c))
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && !matches!(name, "refs/heads/HEAD" | "refs/tags/HEAD")
        && !is_shadow
}

fn is_part(part: &str) -> bool {
    !part.is_empty()
        && part.len() <= PART
        && !part.starts_with(['-', '.'])
        && !part.as_bytes().ends_with(b".lock")
}

impl Borrow<str> for RefName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for RefName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}
