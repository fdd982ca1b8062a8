//! The content of objects: what is well formed, and what it refers to.
//!
//! Everything that git reads of an object while it walks a history is checked as `git fsck` checks it. What
//! git only displays (an author without a name, an unknown header after the committer) may be as it is:
//! histories of real projects have all of it.

mod commit;
mod tag;
mod tree;

pub use tree::{FileMode, TreeEntry, tree_entries};

use super::{Id, Kind};

/// Why the content of an object is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A commit or tag has a byte of zero, which would hide the rest of it.
    #[error("a text with a byte of zero")]
    Zero,
    /// A header is missing or out of its order.
    #[error("no `{0}` where it has to be")]
    Header(&'static str),
    /// An author, committer or tagger is not `NAME <ADDRESS> TIME ZONE`.
    #[error("`{0}` is not a person and a time")]
    Identity(&'static str),
    /// An entry of a tree ends too early.
    #[error("an entry of a tree is cut off")]
    Cut,
    /// An entry of a tree has a mode that git does not write.
    #[error("a mode that git does not write")]
    Mode,
    /// An entry of a tree has a name that no file in a work tree may have.
    #[error("a name that no file in a work tree may have")]
    Name,
    /// The entries of a tree are not in git's order, or one is there twice.
    #[error("entries out of order, or twice")]
    Order,
    /// An entry of a tree refers to the object of 40 zeros.
    #[error("a reference to no object")]
    Nothing,
}

/// Checks the content of an object, and lists what it refers to, with the kind that each has to be.
///
/// A commit of another repository (a submodule) is no reference.
pub fn references(kind: Kind, content: &[u8]) -> Result<Vec<(Id, Kind)>, Malformed> {
    match kind {
        Kind::Blob => Ok(Vec::new()),
        Kind::Tree => tree::references(content),
        Kind::Commit => {
            let commit = commit::parse(content)?;
            let parents = commit.parents.into_iter().map(|parent| (parent, Kind::Commit));
            Ok(std::iter::once((commit.tree, Kind::Tree)).chain(parents).collect())
        }
        Kind::Tag => tag::parse(content).map(|target| vec![target]),
    }
}

/// Takes `NAME VALUE\n` from the beginning of a text, and returns the value.
fn header<'a>(text: &mut &'a [u8], name: &'static str) -> Result<&'a [u8], Malformed> {
    optional_header(text, name).ok_or(Malformed::Header(name))
}

fn optional_header<'a>(text: &mut &'a [u8], name: &str) -> Option<&'a [u8]> {
    let rest = text.strip_prefix(name.as_bytes())?.strip_prefix(b" ")?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    *text = &rest[end + 1..];
    Some(&rest[..end])
}

fn id(value: &[u8], name: &'static str) -> Result<Id, Malformed> {
    match Id::from_hex(value) {
        Ok(Id::NONE) => Err(Malformed::Nothing),
        Ok(id) => Ok(id),
        Err(_) => Err(Malformed::Header(name)),
    }
}

/// Checks `NAME <ADDRESS> TIME ZONE`. The name and the address may be empty.
fn identity(value: &[u8], name: &'static str) -> Result<(), Malformed> {
    let well_formed = || {
        let open = value.iter().position(|byte| *byte == b'<')?;
        let close = open + value[open..].iter().rposition(|byte| *byte == b'>')?;
        let mut words = value[close + 1..].strip_prefix(b" ")?.split(|byte| *byte == b' ');
        let (time, zone) = (words.next()?, words.next()?);
        let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let zone = zone.strip_prefix(b"+").or_else(|| zone.strip_prefix(b"-"))?;
        (digits(time) && time.len() <= 19 && digits(zone) && words.next().is_none()).then_some(())
    };
    well_formed().ok_or(Malformed::Identity(name))
}

/// Refuses a text with a byte of zero.
fn text(content: &[u8]) -> Result<&[u8], Malformed> {
    if content.contains(&0) { Err(Malformed::Zero) } else { Ok(content) }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;
