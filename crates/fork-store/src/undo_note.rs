//! The note of an apply: what the base had, and what it got.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use toolwright_fs::FileIdentity;

const TITLE: &[u8] = b"toolwright apply note 1\n";

/// What is at a path, but for its content: where a link leads to is that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) is_link: bool,
    /// Its permissions; 0 for a link.
    pub(crate) mode: u32,
    /// The length of its content.
    pub(crate) length: usize,
}

impl Entry {
    pub(crate) fn of(is_link: bool, mode: u32, content: &[u8]) -> Self {
        let mode = if is_link { 0 } else { mode };
        Self { is_link, mode, length: content.len() }
    }

    /// What is the same for the same entry with the same content alone.
    pub(crate) fn digest(&self, content: &[u8]) -> String {
        let kind = if self.is_link { 'l' } else { 'f' };
        let mut text = format!("{kind}{:o} ", self.mode);
        for byte in Sha256::digest(content) {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

/// A path that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) path: PathBuf,
    /// `None` if it was created.
    pub(crate) old: Option<Entry>,
    /// The digest of what it became; `None` if it was deleted.
    pub(crate) new: Option<String>,
}

/// An apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) fork: String,
    pub(crate) base: PathBuf,
    pub(crate) identity: FileIdentity,
    pub(crate) steps: Vec<Step>,
    /// The directories that were made, outer ones first.
    pub(crate) made: Vec<PathBuf>,
    /// Those that were removed, with their permissions.
    pub(crate) removed: Vec<(PathBuf, u32)>,
    /// What was there before, one after the other. It is in memory only where a note was read.
    pub(crate) contents: Vec<u8>,
}

impl Note {
    /// Writes it. `contents` is what was there before, in the order of the steps.
    pub(crate) fn write<'c>(
        &self,
        to: &mut impl Write,
        contents: impl Iterator<Item = &'c [u8]>,
    ) -> io::Result<()> {
        let step = |step: &Step| {
            let old = step
                .old
                .as_ref()
                .map(|old| json!({ "link": old.is_link, "mode": old.mode, "bytes": old.length }));
            json!({ "path": step.path.to_str(), "old": old, "new": step.new })
        };
        let removed = |(path, mode): &(PathBuf, u32)| json!([path.to_str(), mode]);
        let FileIdentity { device, inode, born } = self.identity;
        let facts = json!({
            "fork": self.fork,
            "base": self.base.to_str(),
            "device": device,
            "inode": inode,
            "born": born,
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
            "made": self.made.iter().map(|path| path.to_str()).collect::<Vec<_>>(),
            "removed": self.removed.iter().map(removed).collect::<Vec<_>>(),
        })
        .to_string();
        to.write_all(TITLE)?;
        to.write_all(&(facts.len() as u64).to_le_bytes())?;
        to.write_all(facts.as_bytes())?;
        for content in contents {
            to.write_all(content)?;
        }
        to.flush()
    }

    /// The steps, each with the content that was there before.
    pub(crate) fn with_contents(&self) -> impl Iterator<Item = (&Step, &[u8])> {
        let mut rest = &*self.contents;
        self.steps.iter().map(move |step| {
            let length = step.old.map_or(0, |old| old.length).min(rest.len());
            let (content, after) = rest.split_at(length);
            rest = after;
            (step, content)
        })
    }

    /// `None` if it is damaged.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.strip_prefix(TITLE)?.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (facts, contents) = rest.split_at_checked(length)?;
        let facts: Value = serde_json::from_slice(facts).ok()?;
        let path = |value: &Value| value.as_str().map(PathBuf::from);
        let list = |name: &str| facts.get(name)?.as_array();
        let mut steps = Vec::new();
        let mut total = 0_usize;
        for step in list("steps")? {
            let old = match step.get("old")? {
                Value::Null => None,
                old => {
                    let length = usize::try_from(old.get("bytes")?.as_u64()?).ok()?;
                    total = total.checked_add(length)?;
                    Some(Entry {
                        is_link: old.get("link")?.as_bool()?,
                        mode: u32::try_from(old.get("mode")?.as_u64()?).ok()?,
                        length,
                    })
                }
            };
            let new = step.get("new")?.as_str().map(str::to_owned);
            steps.push(Step { path: path(step.get("path")?)?, old, new });
        }
        let removed = |value: &Value| {
            Some((path(value.get(0)?)?, u32::try_from(value.get(1)?.as_u64()?).ok()?))
        };
        (contents.len() == total).then_some(())?;
        Some(Self {
            fork: facts.get("fork")?.as_str()?.to_owned(),
            base: path(facts.get("base")?).filter(|base: &PathBuf| Path::is_absolute(base))?,
            identity: FileIdentity {
                device: facts.get("device")?.as_u64()?,
                inode: facts.get("inode")?.as_u64()?,
                born: facts.get("born")?.as_u64(),
            },
            steps,
            made: list("made")?.iter().map(path).collect::<Option<_>>()?,
            removed: list("removed")?.iter().map(removed).collect::<Option<_>>()?,
            contents: contents.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_back_and_a_damaged_one_is_not() {
        let entry = |content: &[u8]| Entry::of(false, 0o644, content);
        let note = Note {
            fork: "a-1".to_owned(),
            base: "/base".into(),
            identity: FileIdentity { device: 1, inode: 2, born: Some(3) },
            steps: vec![
                Step { path: "a".into(), old: Some(entry(b"\0\xff")), new: None },
                Step { path: "b/c".into(), old: None, new: Some(entry(b"x").digest(b"x")) },
                Step { path: "d".into(), old: Some(entry(b"")), new: Some(String::new()) },
            ],
            made: vec!["b".into()],
            removed: vec![("e".into(), 0o750)],
            contents: b"\0\xff".to_vec(),
        };
        let mut bytes = Vec::new();
        note.write(&mut bytes, [&b"\0\xff"[..], b""].into_iter()).expect("written");
        assert_eq!(Note::read(&bytes), Some(note));
        for end in 0..bytes.len() {
            assert_eq!(Note::read(&bytes[..end]), None, "{end}");
        }
    }
}
