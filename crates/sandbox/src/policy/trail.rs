//! Where a path leads, and the links on the way.
//!
//! A path that is protected under the name of its target alone can be lost: a command removes the link and puts
//! something else in its place. So every link on the way is a path of its own.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The number of links that the kernel would follow.
const MAX_LINKS: usize = 40;

/// The way that the kernel goes from a name to a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Trail {
    /// The links on the way, each by a path without links above it, in the order in which they are met.
    pub(super) links: Vec<PathBuf>,
    /// The end, without links. Nothing has to be there, and links in a circle end at one of them.
    pub(super) end: PathBuf,
    /// Whether something is at the end.
    pub(super) exists: bool,
}

impl Trail {
    /// Follows an absolute path. No link is looked for in `root`, if the path begins with it.
    pub(super) fn of(path: &Path, root: &Path) -> Self {
        let (mut end, below) = match path.strip_prefix(root) {
            Ok(below) if root.is_absolute() => (root.to_owned(), below),
            _ => (PathBuf::from("/"), path),
        };
        let mut rest: VecDeque<OsString> = names(below).collect();
        let mut links = Vec::new();
        let mut followed = 0;
        let mut exists = true;
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                // There is nothing above what is not there, and the path ends there until something makes it.
                if !exists {
                    break;
                }
                end.pop();
                continue;
            }
            end.push(name);
            // Names below one that is not there are taken as they are written.
            if !exists {
                continue;
            }
            let Ok(found) = end.symlink_metadata() else {
                exists = false;
                continue;
            };
            if !found.is_symlink() {
                continue;
            }
            let Ok(target) = fs::read_link(&end) else { continue };
            if followed == MAX_LINKS {
                break;
            }
            if !links.contains(&end) {
                links.push(end.clone());
            }
            followed += 1;
            if target.is_absolute() {
                end = PathBuf::from("/");
            } else {
                end.pop();
            }
            for name in names(&target).rev() {
                rest.push_front(name);
            }
        }
        Self { links, end, exists }
    }

    /// Every path that has to stay what it is, so that the name leads where it does.
    pub(super) fn paths(self) -> impl Iterator<Item = PathBuf> {
        let Self { links, end, .. } = self;
        links.into_iter().chain([end])
    }
}

/// The names of a path, `..` among them.
fn names(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    fn trail(root: &Path, path: &str) -> (Vec<String>, String, bool) {
        let Trail { links, end, exists } = Trail::of(&root.join(path), root);
        let shown = |path: &Path| match path.strip_prefix(root) {
            Ok(below) => below.display().to_string(),
            Err(_) => path.display().to_string(),
        };
        (links.iter().map(|link| shown(link)).collect(), shown(&end), exists)
    }

    #[test]
    fn links_are_named_and_followed() {
        let fixture = tempfile::tempdir().expect("a directory");
        let root = fixture.path().canonicalize().expect("there");
        fs::create_dir_all(root.join("a/b")).expect("made");
        fs::write(root.join("a/b/file"), "").expect("written");
        for (link, target) in [
            ("short", "a/b"),
            ("up", "a/b/../file"),
            ("circle", "other"),
            ("other", "circle"),
            ("dangling", "none/../x/y"),
            ("itself", "itself"),
        ] {
            symlink(target, root.join(link)).expect("linked");
        }
        symlink(root.join("short"), root.join("a/far")).expect("linked");
        let list = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        let cases: [(&str, &[&str], &str, bool); 7] = [
            ("a/b/file", &[], "a/b/file", true),
            ("short/file", &["short"], "a/b/file", true),
            ("a/far/file", &["a/far", "short"], "a/b/file", true),
            // The kernel goes up from where a link leads.
            ("up", &["up"], "a/file", false),
            ("short/../x", &["short"], "a/x", false),
            ("dangling", &["dangling"], "none", false),
            ("none/deep", &[], "none/deep", false),
        ];
        for (path, links, end, exists) in cases {
            assert_eq!(trail(&root, path), (list(links), end.to_owned(), exists), "{path}");
        }
        for circle in ["circle/x", "itself"] {
            let (links, ..) = trail(&root, circle);
            assert!(links.contains(&circle.split('/').next().expect("one").to_owned()));
        }
    }

    proptest! {
        /// The end is what the system finds, and no path has a link above it.
        #[test]
        fn the_end_is_that_of_the_system(
            links in prop::collection::vec(("[ab]", "(\\.\\./)?[abcd](/[abcd]){0,2}"), 0..4),
            path in "[abcd](/[abcd.]{1,2}){0,3}",
        ) {
            let fixture = tempfile::tempdir().expect("a directory");
            let root = fixture.path().canonicalize().expect("there").join("root");
            fs::create_dir_all(root.join("c/d/c")).expect("made");
            fs::create_dir_all(root.join("d/a")).expect("made");
            for (name, target) in links {
                let _ = symlink(target, root.join(name));
            }
            let trail = Trail::of(&root.join(&path), &root);
            if let Ok(real) = fs::canonicalize(root.join(&path)) {
                prop_assert_eq!(&trail.end, &real);
                prop_assert!(trail.exists);
            }
            for link in &trail.links {
                let above = link.parent().expect("one");
                prop_assert_eq!(above.canonicalize().expect("there"), above);
                prop_assert!(link.is_symlink());
            }
        }
    }
}
