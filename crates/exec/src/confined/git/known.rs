//! What is known of a place at which git discovers a repository.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::{Path, PathBuf};

use rustix::fs::readlinkat;
use toolwright_git::directory::Directory;
use toolwright_git::discovery::{Discovery, Sign};
use toolwright_git::repository::DOT_GIT;

use super::set_aside::{Identity, identity_at};

/// No file or link that leads elsewhere is longer.
const MAX_LEAD: u64 = 8 << 10;

/// A place below a directory that commands write, and by what git discovers a repository there.
pub(super) type Place = (PathBuf, Sign);

/// What is at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) identity: Identity,
    /// What it says, if it leads elsewhere.
    pub(super) lead: Option<Vec<u8>>,
}

impl Known {
    pub(super) fn at(top: &Directory, place: &Path, sign: Sign) -> Option<Self> {
        let entry = if sign == Sign::Bare { place.to_owned() } else { place.join(DOT_GIT) };
        let identity = identity_at(top, &entry)?;
        let lead = match sign {
            Sign::File => Some(top.read(&entry, MAX_LEAD).ok().flatten().unwrap_or_default()),
            Sign::Other => {
                let link = readlinkat(top, &entry, Vec::new());
                Some(link.map(CString::into_bytes).unwrap_or_default())
            }
            Sign::Directory | Sign::Bare => None,
        };
        Some(Self { identity, lead })
    }
}

/// Whether a place lies in a git directory for which `has` holds, which may have another name than `.git`.
pub(super) fn lies_in(top: &Directory, place: &Path, has: impl Fn(&Place, &Known) -> bool) -> bool {
    let above = place.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    above
        .map(|above| (above.to_owned(), Sign::Bare))
        .any(|git| Known::at(top, &git.0, git.1).is_some_and(|known| has(&git, &known)))
}

/// Each place at which git would discover a repository, with each of the reasons.
pub(super) fn all(discovery: &Discovery) -> BTreeSet<Place> {
    let found = discovery.found().iter();
    found.flat_map(|(place, signs)| signs.iter().map(|sign| (place.clone(), *sign))).collect()
}

/// Those places in the order in which they are judged: a file leads to one of the others.
pub(super) fn in_order(all: &BTreeSet<Place>) -> impl Iterator<Item = &Place> {
    let is_file = |place: &&Place| place.1 == Sign::File;
    all.iter().filter(move |place| !is_file(place)).chain(all.iter().filter(is_file))
}
