//! The texts that the base had when the fork was made, of files that the fork has changed.
//!
//! The manifest has numbers alone. So the text of a file is kept as soon as its change is seen, while the base still has
//! it: that is what a merge needs when the base has changed it, too. What was not seen in time is a conflict.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{collections::HashSet, fs};

use rustix::fs::fstat;
use sha2::{Digest, Sha256};
use toolwright_changes::{ChangeKind, EntryKind};

use crate::changes::{Change, PERMISSIONS};
use crate::manifest::{Manifest, Print};
use crate::store::{ANCESTORS, NEW, new_file};
use crate::tree;

/// A larger file is no text that anybody wants merged.
pub(crate) const MAX_TEXT: u64 = 1 << 20;
/// The most bytes that are kept for a fork.
const MAX_KEPT: u64 = 64 << 20;

/// What the base had at a path when the fork was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ancestor {
    pub(crate) mode: u32,
    pub(crate) bytes: Vec<u8>,
}

/// The texts that are kept for a fork, in a directory of its own.
#[derive(Debug)]
pub(crate) struct Ancestors {
    directory: PathBuf,
    /// The paths whose texts are kept, or are not to be.
    seen: HashSet<PathBuf>,
    bytes: u64,
}

impl Ancestors {
    /// Those of the fork in this directory.
    pub(crate) fn of(fork: &Path) -> Self {
        Self { directory: fork.join(ANCESTORS), seen: HashSet::new(), bytes: 0 }
    }

    /// Keeps the texts of what has changed in the fork and is in the base what it was. Nothing depends on it that could
    /// not be told as a conflict, so nothing comes of a failure.
    pub(crate) fn keep(&mut self, changes: &[Change], base: BorrowedFd<'_>, manifest: &Manifest) {
        let is_text = |change: &&Change| {
            let is_short = |side: crate::Side| side.bytes <= MAX_TEXT;
            change.entry == EntryKind::File
                && change.kind == ChangeKind::Modified
                && change.conflict.is_none()
                && change.base.is_some_and(is_short)
                && change.fork.is_some_and(is_short)
        };
        for change in changes.iter().filter(is_text) {
            if self.bytes <= MAX_KEPT && self.seen.insert(change.path.clone()) {
                // What is half written is not there for a reader.
                let _ = self.keep_one(&change.path, base, manifest);
            }
        }
    }

    fn keep_one(
        &mut self,
        path: &Path,
        base: BorrowedFd<'_>,
        manifest: &Manifest,
    ) -> io::Result<()> {
        let kept = self.directory.join(name_of(path));
        let (parent, name) = tree::parent(base, path)?;
        let file = tree::file(parent, name)?;
        let mut bytes = Vec::new();
        (&file).take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
        // Looked at when all has been read: a write meanwhile has given it another time.
        let stat = fstat(&file)?;
        if !manifest.is_as_it_was(path, Some(&stat)) || !is_text(&bytes) {
            return Ok(());
        }
        let mut content = Print::of(&stat).bytes().to_vec();
        content.extend((stat.st_mode & PERMISSIONS).to_le_bytes());
        content.extend(&bytes);
        self.bytes += content.len() as u64;
        fs::create_dir_all(&self.directory)?;
        let mut new = kept.clone().into_os_string();
        new.push(NEW);
        let _ = fs::remove_file(&new);
        new_file(Path::new(&new))?.write_all(&content)?;
        fs::rename(&new, &kept)
    }

    /// Looks at these paths again: what the base has there now is taken for what it was.
    pub(crate) fn forget<'p>(&mut self, paths: impl Iterator<Item = &'p PathBuf>) {
        for path in paths {
            self.seen.remove(path);
        }
    }

    /// What the base had at a path when the fork was made, if that is known.
    pub(crate) fn get(&self, path: &Path, manifest: &Manifest) -> Option<Ancestor> {
        let directory = tree::open(&self.directory).ok()?;
        let content = tree::read(directory, &name_of(path), MAX_TEXT + 4096).ok()?;
        let (print, rest) = content.split_first_chunk::<{ Print::BYTES }>()?;
        let (mode, bytes) = rest.split_first_chunk::<4>()?;
        let is_current = manifest.get(path).is_some_and(|known| known.bytes() == *print);
        is_current.then(|| Ancestor { mode: u32::from_le_bytes(*mode), bytes: bytes.to_vec() })
    }
}

/// Whether a merge by lines makes sense of it.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    bytes.len() as u64 <= MAX_TEXT && !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

/// The name of what is kept for a path, which may be longer than a name.
fn name_of(path: &Path) -> OsString {
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    let mut name = String::with_capacity(64);
    for byte in digest {
        let _ = write!(name, "{byte:02x}");
    }
    name.into()
}
