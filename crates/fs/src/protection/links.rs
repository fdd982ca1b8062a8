//! The links at the top of a root, by one listing in place of a question for each protected name.

use std::ffi::{OsStr, OsString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{Dir, FileType};

use crate::entry::open_directory;

/// The most entries that are listed. More of them cost as much as the questions.
const MAX_ENTRIES: usize = 256;

/// The names at the top of a root that are links, or may be some.
#[derive(Debug)]
pub(super) struct TopLinks(Option<Vec<OsString>>);

impl TopLinks {
    /// Lists a root.
    pub(super) fn of(root: BorrowedFd<'_>) -> Self {
        Self(list(root))
    }

    /// Whether a name at the top may be a link. Some file systems take other letters for the same name.
    pub(super) fn may_have(&self, name: &OsStr) -> bool {
        self.0.as_ref().is_none_or(|links| {
            links.iter().any(|link| link.eq_ignore_ascii_case(name) || !link.as_bytes().is_ascii())
        })
    }
}

/// `None` where the listing is too long, or cannot be had.
fn list(root: BorrowedFd<'_>) -> Option<Vec<OsString>> {
    let mut links = Vec::new();
    // A root is held without the right to list it.
    let listing = Dir::new(open_directory(root, ".").ok()?).ok()?;
    for (count, entry) in listing.enumerate() {
        let entry = entry.ok().filter(|_| count < MAX_ENTRIES)?;
        if matches!(entry.file_type(), FileType::Symlink | FileType::Unknown) {
            links.push(OsString::from_vec(entry.file_name().to_bytes().to_vec()));
        }
    }
    Some(links)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::Root;

    fn may_have(directory: &std::path::Path, name: &str) -> bool {
        TopLinks::of(Root::open(directory).expect("opened").as_fd()).may_have(OsStr::new(name))
    }

    #[test]
    fn links_are_found_among_other_entries() {
        let fixture = tempfile::tempdir().expect("a directory");
        let root = fixture.path();
        fs::create_dir(root.join(".idea")).expect("made");
        fs::write(root.join(".roomodes"), "").expect("written");
        symlink("elsewhere", root.join(".vscode")).expect("linked");
        assert!(may_have(root, ".vscode") && may_have(root, ".VSCode"));
        assert!(!may_have(root, ".idea") && !may_have(root, ".roomodes") && !may_have(root, "a"));
        // To some file systems this is the letter k.
        symlink("elsewhere", root.join(".\u{212a}iro")).expect("linked");
        assert!(may_have(root, ".kiro"));
    }

    #[test]
    fn too_many_entries_tell_nothing() {
        let fixture = tempfile::tempdir().expect("a directory");
        for name in 0..MAX_ENTRIES {
            fs::write(fixture.path().join(name.to_string()), "").expect("written");
        }
        assert!(may_have(fixture.path(), ".vscode"));
    }
}
