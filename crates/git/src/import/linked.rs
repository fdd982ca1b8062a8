//! What only a linked work tree has: where it lies, whether it is locked, and its own references and states.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::modules::{MODULES, clean, leads_to, relative};
use super::{Terms, area, settings};
use crate::directory::{Directory, Entry, ReadError};
use crate::log::is_printable;
use crate::refs::{RefChange, RefMap, RefName};
use crate::repository::DOT_GIT;
use crate::state::{self, Marks};
use crate::upper::{Bounds, Node, Upper};

/// The directory of linked work trees.
pub(super) const ALL: &str = "worktrees";
/// The file that says where the work tree lies.
pub(super) const LEAD: &str = "gitdir";
/// The file that keeps git from removing the work tree, with the reason.
pub(super) const LOCK: &str = "locked";
/// No file that holds a path, or a reason, is longer.
const MAX_TEXT: u64 = 8 << 10;
/// A directory with more entries is not removed.
const MAX_ENTRIES: usize = 1000;
/// What git has in the directory of a linked work tree, besides states.
const KNOWN: [&str; 16] = [
    "ADD_EDIT.patch",
    "HEAD",
    "NOTES_MERGE_PARTIAL",
    "NOTES_MERGE_REF",
    "addp-hunk-edit.diff",
    "commondir",
    "config.worktree",
    "gc.pid",
    "index",
    "info",
    "logs",
    "refs",
    "rr-cache",
    "NOTES_MERGE_WORKTREE",
    LEAD,
    LOCK,
];
/// The references that each work tree has for itself.
const OWN: [&str; 3] = ["refs/bisect/", "refs/rewritten/", "refs/worktree/"];

/// A linked work tree as commands saw it.
#[derive(Debug, Default)]
pub(super) struct Before {
    lead: Option<Vec<u8>>,
    lock: Option<Vec<u8>>,
    pub(super) refs: RefMap,
    pub(super) marks: Marks,
    /// Its own settings.
    pub(super) config: Vec<u8>,
}

/// What a command has changed of it.
#[derive(Debug, Default)]
pub(super) struct After {
    /// It is removed, and that is all that has become of it.
    pub(super) is_removed: bool,
    pub(super) lead: Option<Changed>,
    pub(super) lock: Option<Changed>,
    pub(super) refs: Vec<RefChange>,
}

/// A file with another text, or none.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
}

impl Before {
    pub(super) fn read(directory: &Directory) -> Result<Self, ReadError> {
        let text = |name: &str| directory.read(name, MAX_TEXT).ok().flatten();
        Ok(Self {
            lead: text(LEAD),
            lock: text(LOCK),
            config: directory
                .read(settings::OF_WORK_TREE, settings::MAX_CONFIG)
                .ok()
                .flatten()
                .unwrap_or_default(),
            // Where they cannot be read, none of them is compared.
            refs: RefMap::read(directory, Bounds::default()).unwrap_or_default(),
            marks: Marks::read(directory)?,
        })
    }

    /// Where it lies, or has come to.
    pub(super) fn top(&self, terms: &Terms<'_>, prefix: &Path, after: &After) -> Option<PathBuf> {
        let changed = after.lead.as_ref().and_then(|lead| lead.after.as_ref());
        let place = place(terms, prefix, changed.or(self.lead.as_ref())?)?;
        place.parent().map(Path::to_owned)
    }

    pub(super) fn has_lead(&self) -> bool {
        self.lead.is_some()
    }

    /// The directories and files whose times tell whether anything of it has changed.
    pub(super) fn watched(prefix: &Path) -> impl Iterator<Item = PathBuf> {
        ["", "refs/bisect", "refs/worktree"].into_iter().map(|below| prefix.join(below))
    }

    /// What a command has made of the files that say where the work tree lies and whether it is locked. What
    /// is not accepted is named.
    pub(super) fn changed(
        &self,
        upper: &Upper,
        (terms, prefix): (&Terms<'_>, &Path),
        after: &mut After,
    ) -> Vec<String> {
        let mut left_out = Vec::new();
        let mut leave_out = |name: &str| left_out.push(prefix.join(name).display().to_string());
        match read(upper, LEAD) {
            Ok(Some(text)) if Some(&text) != self.lead.as_ref() => {
                match accepted(terms, prefix, &text) {
                    Some(text) if Some(&text) == self.lead.as_ref() => {}
                    Some(text) => {
                        after.lead = Some(Changed { before: self.lead.clone(), after: Some(text) });
                    }
                    None => leave_out(LEAD),
                }
            }
            Ok(_) => {}
            Err(()) => leave_out(LEAD),
        }
        match read(upper, LOCK) {
            Ok(now) => {
                let is_gone = matches!(upper.entry(LOCK), Ok(Node::Whiteout));
                let before = self.lock.clone();
                match now {
                    Some(text) if !is_reason(&text) => leave_out(LOCK),
                    Some(text) if before.as_ref() != Some(&text) => {
                        after.lock = Some(Changed { before, after: Some(text) });
                    }
                    None if is_gone && before.is_some() => {
                        after.lock = Some(Changed { before, after: None });
                    }
                    _ => {}
                }
            }
            Err(()) => leave_out(LOCK),
        }
        left_out
    }
}

/// Whether a command has removed a linked work tree.
pub(super) fn is_removed(upper: &Upper, prefix: &Path) -> bool {
    !prefix.as_os_str().is_empty() && matches!(upper.entry(prefix.join(LEAD)), Ok(Node::Whiteout))
}

/// Checks that `git worktree prune` would remove a linked work tree for the person, too. `Ok(false)`: it is
/// not there any more.
pub(super) fn may_go(
    git: &Directory,
    terms: &Terms<'_>,
    before: &area::Before,
) -> Result<bool, &'static str> {
    let unreadable = |_| "it cannot be read";
    let directory = git.below(&before.prefix).map_err(unreadable)?;
    let Some(directory) = directory else { return Ok(false) };
    let lead = directory.read(LEAD, MAX_TEXT).map_err(unreadable)?;
    if lead != before.linked.lead {
        return Err("another program has changed it");
    }
    if directory.entry(LOCK).map_err(unreadable)?.is_some() {
        return Err("it is locked");
    }
    if let Some(lead) = lead {
        let place = place(terms, &before.prefix, &lead).ok_or("it leads nowhere")?;
        match place.symlink_metadata() {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) => {}
            _ => return Err("its work tree is there"),
        }
    }
    let entries = directory.entries(".", MAX_ENTRIES).map_err(unreadable)?.unwrap_or_default();
    if !entries.iter().all(|entry| is_known(&entry.name)) {
        return Err("it has more than git puts there");
    }
    Ok(true)
}

/// Whether a reference belongs to one work tree.
pub(super) fn is_own(name: &RefName) -> bool {
    OWN.iter().any(|own| name.as_str().starts_with(own))
}

/// What a command has put there that does not come back: what git has no part in. Submodules come back by themselves.
pub(super) fn unknown(upper: &Upper, prefix: &Path) -> Vec<String> {
    let entries = upper.directory().entries(".", MAX_ENTRIES).ok().flatten().unwrap_or_default();
    let is_unknown = |entry: &&Entry| {
        let holds_modules = entry.name == MODULES && entry.kind == FileType::Directory;
        entry.kind != FileType::CharacterDevice && !holds_modules && !is_known(&entry.name)
    };
    entries
        .iter()
        .filter(is_unknown)
        .map(|entry| prefix.join(&entry.name).display().to_string())
        .collect()
}

/// Where a linked work tree lies: its `.git` file. `None`: no such file can be there.
pub(super) fn place(terms: &Terms<'_>, prefix: &Path, text: &[u8]) -> Option<PathBuf> {
    let text = text.trim_ascii_end();
    let place = clean(&terms.git.join(prefix).join(OsStr::from_bytes(text)));
    let is_place = !text.iter().any(u8::is_ascii_control) && place.ends_with(DOT_GIT);
    is_place.then_some(place)
}

/// The text that leads to the same place, in the form that a command has chosen: from the root, or from the
/// directory of the work tree in the repository.
pub(super) fn text(terms: &Terms<'_>, prefix: &Path, place: &Path, form: &[u8]) -> Vec<u8> {
    let way = if form.starts_with(b"/") {
        place.as_os_str().as_bytes().to_vec()
    } else {
        relative(&terms.git.join(prefix), place)
    };
    [&way[..], b"\n"].concat()
}

/// Whether a text is one that git shows as the reason of a lock.
pub(super) fn is_reason(text: &[u8]) -> bool {
    text.len() as u64 <= MAX_TEXT && text.split(|byte| *byte == b'\n').all(is_printable)
}

/// The new place of a work tree that a command has moved, or whose place it has repaired.
fn accepted(terms: &Terms<'_>, prefix: &Path, form: &[u8]) -> Option<Vec<u8>> {
    let place = place(terms, prefix, form)?;
    let top = place.parent()?;
    let directory = Directory::open(top).ok().filter(|_| (terms.is_writable)(top))?;
    leads_to(&directory, top, &terms.git.join(prefix)).then(|| text(terms, prefix, &place, form))
}

/// A file of a command. `Err`: something else is in its place, or it is too large.
fn read(upper: &Upper, name: &str) -> Result<Option<Vec<u8>>, ()> {
    match upper.entry(name) {
        Ok(Node::File(_)) => upper.read(name, MAX_TEXT).map_err(drop),
        Ok(Node::Absent | Node::Whiteout) => Ok(None),
        _ => Err(()),
    }
}

fn is_known(name: &OsStr) -> bool {
    let path = Path::new(name);
    let bytes = name.as_bytes();
    KNOWN.iter().any(|known| name == *known)
        || state::kind(path).is_some()
        || state::kind(&path.join("x")).is_some()
        || bytes.starts_with(b"sharedindex.")
        || bytes.ends_with(b".lock")
}
