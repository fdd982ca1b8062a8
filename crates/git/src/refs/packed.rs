//! The file `packed-refs`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::object::Id;

const HEADER: &str = "# pack-refs with:";

/// The entries of `packed-refs`, sorted by name, each name once.
///
/// Names are kept as they are: an entry that no command may give can be the person's, and stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    entries: Vec<Entry>,
    /// An entry without a peeled value is no tag. Git trusts the header that says so.
    is_fully_peeled: bool,
}

impl Default for Packed {
    fn default() -> Self {
        Self { entries: Vec::new(), is_fully_peeled: true }
    }
}

/// A line of `packed-refs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name of the reference.
    pub name: Box<[u8]>,
    /// Its value.
    pub id: Id,
    /// What an annotated tag leads to, if git has noted it.
    pub peeled: Option<Id>,
}

/// A content that is not a `packed-refs` of a repository with SHA-1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a packed-refs file")]
pub struct BadPacked;

/// Parses the content of `packed-refs`.
pub fn parse(content: &[u8]) -> Result<Packed, BadPacked> {
    let Some(content) = content.strip_suffix(b"\n") else {
        return if content.is_empty() { Ok(Packed::default()) } else { Err(BadPacked) };
    };
    let mut entries: Vec<Entry> = Vec::with_capacity(content.len() / 64);
    let mut is_fully_peeled = false;
    for (number, line) in content.split(|byte| *byte == b'\n').enumerate() {
        if line.starts_with(b"#") {
            let traits = line.strip_prefix(HEADER.as_bytes()).filter(|_| number == 0);
            let mut traits = traits.ok_or(BadPacked)?.split(|byte| *byte == b' ');
            is_fully_peeled = traits.any(|word| word == b"fully-peeled");
        } else if let Some(peeled) = line.strip_prefix(b"^") {
            let entry =
                entries.last_mut().filter(|entry| entry.peeled.is_none()).ok_or(BadPacked)?;
            entry.peeled = Some(Id::from_hex(peeled).map_err(|_| BadPacked)?);
        } else {
            let (id, name) = line.split_at_checked(41).ok_or(BadPacked)?;
            let id = id.strip_suffix(b" ").and_then(|id| Id::from_hex(id).ok()).ok_or(BadPacked)?;
            if name.is_empty() || name.contains(&0) {
                return Err(BadPacked);
            }
            entries.push(Entry { name: name.into(), id, peeled: None });
        }
    }
    // Git before 2.17 did not always sort.
    if !entries.is_sorted_by(|one, other| one.name < other.name) {
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        if entries.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err(BadPacked);
        }
    }
    Ok(Packed { entries, is_fully_peeled })
}

/// The content of `packed-refs` with these entries.
#[must_use]
pub fn write(packed: &Packed) -> Vec<u8> {
    let traits = if packed.is_fully_peeled { " peeled fully-peeled sorted" } else { " sorted" };
    let mut content = format!("{HEADER}{traits} \n").into_bytes();
    for entry in &packed.entries {
        content.extend_from_slice(entry.id.to_string().as_bytes());
        content.push(b' ');
        content.extend_from_slice(&entry.name);
        content.push(b'\n');
        if let Some(peeled) = entry.peeled {
            content.extend_from_slice(format!("^{peeled}\n").as_bytes());
        }
    }
    content
}

impl Packed {
    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &[u8]) -> Option<Id> {
        self.position(name).ok().map(|at| self.entries[at].id)
    }

    /// The entries, by name.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Gives names other values, or takes them out.
    pub fn update(&mut self, mut changes: BTreeMap<Box<[u8]>, Option<Entry>>) {
        // What is below `refs/heads/` is a commit.
        self.is_fully_peeled &= changes
            .values()
            .flatten()
            .all(|entry| entry.peeled.is_some() || entry.name.starts_with(b"refs/heads/"));
        self.entries.retain_mut(|entry| match changes.remove(&entry.name) {
            Some(Some(new)) => {
                *entry = new;
                true
            }
            Some(None) => false,
            None => true,
        });
        self.entries.extend(changes.into_values().flatten());
        self.entries.sort_by(|one, other| one.name.cmp(&other.name));
    }

    /// The entries whose names begin with `prefix`.
    pub fn below(&self, prefix: &[u8]) -> impl Iterator<Item = &Entry> {
        let at = self.entries.partition_point(|entry| &*entry.name < prefix);
        self.entries[at..].iter().take_while(move |entry| entry.name.starts_with(prefix))
    }

    /// The names whose values differ in `other`.
    #[must_use]
    pub fn differences<'a>(&'a self, other: &'a Self) -> Vec<&'a [u8]> {
        let (mut left, mut right) =
            (self.entries.iter().peekable(), other.entries.iter().peekable());
        let mut names = Vec::new();
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(one), Some(another)) => one.name.cmp(&another.name),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return names,
            };
            let one = left.next_if(|_| order.is_le());
            let another = right.next_if(|_| order.is_ge());
            if one.map(|entry| entry.id) != another.map(|entry| entry.id) {
                names.extend(one.or(another).map(|entry| &*entry.name));
            }
        }
    }

    fn position(&self, name: &[u8]) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| (*entry.name).cmp(name))
    }
}
