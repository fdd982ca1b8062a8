//! Paths below a root that no call may change.
//!
//! The check compares names. It takes the path of the file that was opened, which does not come
//! from text that could have been exchanged meanwhile, and compares it with the protected paths and
//! with the paths that they lead to.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::CWD;

use crate::open::identity;
use crate::path::Step;
use crate::walk::MAX_LINKS;
use crate::{FsError, FsErrorKind, Root, WriteOptions, location, path, walk};

pub(crate) mod border;
mod git;
mod links;

use border::{GitBorder, NewName};
use git::Repository;
use links::TopLinks;

/// Apple's file systems usually ignore case in names. Here that applies to ASCII letters only:
/// git's names need no others, and the others would need tables.
const CASE_COUNTS: bool = !cfg!(target_vendor = "apple");

/// The protected paths of one call.
#[derive(Debug)]
pub(crate) struct Protection<'a> {
    root: &'a Root,
    paths: &'a [PathBuf],
    border: GitBorder,
    /// The paths that the protected ones lead to.
    led_to: OnceCell<LedTo<'a>>,
}

/// The paths below the root that protected paths lead to.
#[derive(Debug)]
struct LedTo<'a> {
    /// Through links, each with its protected path.
    targets: Vec<(PathBuf, &'a Path)>,
    /// Because they are hooks or configurations of git.
    repositories: Vec<Repository>,
    /// Which of them are protected in repositories below the root: hooks, configurations.
    nested: (bool, bool),
}

impl<'a> Protection<'a> {
    pub(crate) fn new(root: &'a Root, paths: &'a [PathBuf], border: GitBorder) -> Self {
        Self { root, paths, border, led_to: OnceCell::new() }
    }

    pub(crate) fn of(root: &'a Root, options: &'a WriteOptions) -> Self {
        Self::new(root, &options.protected, options.git)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.closes_git()
    }

    /// Whether git's own directories are closed.
    pub(crate) fn closes_git(&self) -> bool {
        self.border == GitBorder::Closed
    }

    /// See [`GitBorder::check_tree`].
    pub(crate) fn check_tree(
        &self,
        display_path: &str,
        directory: &OwnedFd,
    ) -> Result<(), FsError> {
        self.border.check_tree(display_path, directory)
    }

    /// Fails if something in an open directory below the root would be changed in a directory of git.
    pub(crate) fn check_around(
        &self,
        display_path: &str,
        directory: BorrowedFd<'_>,
    ) -> Result<(), FsError> {
        if !self.closes_git() {
            return Ok(());
        }
        let top = rustix::fs::fstat(self.root)
            .map_err(|errno| FsError::at(display_path, "looking at the root", errno))?;
        self.border.check_up_to(display_path, directory, identity(&top))
    }

    /// As [`Self::check_around`], for a name in the directory that may be new there.
    pub(crate) fn check_entry(
        &self,
        display_path: &str,
        directory: BorrowedFd<'_>,
        name: &OsStr,
    ) -> Result<(), FsError> {
        self.check_around(display_path, directory)?;
        self.border.check_new(display_path, directory, name)
    }

    /// See [`GitBorder::new_name`].
    pub(crate) fn new_name(
        &self,
        display_path: &str,
        directory: BorrowedFd<'_>,
        name: &OsStr,
    ) -> Result<NewName, FsError> {
        self.border.new_name(display_path, directory, name)
    }

    /// Fails if the file at `relative`, a path below the root without links and `..`, is protected, or
    /// is below or above a protected path.
    pub(crate) fn check_file(&self, display_path: &str, relative: &Path) -> Result<(), FsError> {
        self.refuse(display_path, relative, true, |protected| {
            meet(relative, protected, CASE_COUNTS)
        })?;
        self.border.check_path(display_path, relative)
    }

    /// Fails if a new directory would be protected or below a protected path. One above is allowed,
    /// because an unprotected file in `.git` may need it.
    pub(crate) fn check_directory(
        &self,
        display_path: &str,
        relative: &Path,
    ) -> Result<(), FsError> {
        let depth = relative.components().count();
        self.refuse(display_path, relative, false, |protected| {
            depth >= protected.components().count() && meet(relative, protected, CASE_COUNTS)
        })?;
        self.border.check_path(display_path, relative)
    }

    fn refuse(
        &self,
        display_path: &str,
        relative: &Path,
        is_file: bool,
        is_hit: impl Fn(&Path) -> bool,
    ) -> Result<(), FsError> {
        let hit = self
            .paths
            .iter()
            .map(PathBuf::as_path)
            .find(|path| is_clean(path) && is_hit(path))
            .or_else(|| {
                let led_to = self.led_to.get_or_init(|| self.find_led_to());
                let hit = led_to.targets.iter().find(|(target, _)| is_hit(target));
                hit.map(|(_, path)| *path)
                    .or_else(|| {
                        let mut all = led_to.repositories.iter();
                        all.find_map(|one| one.part(relative, CASE_COUNTS))
                    })
                    .or_else(|| {
                        git::part_of_nested(
                            self.root.as_fd(),
                            relative,
                            led_to.nested,
                            is_file,
                            CASE_COUNTS,
                        )
                    })
            });
        match hit {
            None => Ok(()),
            Some(protected) => {
                Err(FsErrorKind::Protected { protected: protected.to_string_lossy().into_owned() }
                    .at(display_path))
            }
        }
    }

    fn find_led_to(&self) -> LedTo<'a> {
        let mut without_links = None;
        let mut targets = Vec::new();
        let top = TopLinks::of(self.root.as_fd());
        for path in self.paths.iter().map(PathBuf::as_path) {
            let is_at_top = is_clean(path) && path.parent() == Some(Path::new(""));
            if is_at_top && !top.may_have(path.as_os_str()) {
                continue;
            }
            if is_clean(path) && !self.holds_link(path, without_links) {
                // The next path is usually beside this one.
                without_links = path.parent();
            } else {
                // A link on the way that is removed would lead elsewhere.
                let target = self.follow_through(path, &mut |link| targets.push((link, path)));
                targets.extend(target.map(|target| (target, path)));
            }
        }
        let repositories = self.find_repositories(&mut targets);
        let own = self.paths.iter().filter(|path| git::is_of_root(path));
        let names = own.filter_map(|path| path.file_name());
        let nested = names.fold((false, false), |(hooks, config), name| {
            (hooks || name == "hooks", config || name == "config")
        });
        LedTo { targets, repositories, nested }
    }

    /// Finds the repositories whose hooks or configurations are protected, and adds their paths.
    fn find_repositories(&self, targets: &mut Vec<(PathBuf, &'a Path)>) -> Vec<Repository> {
        let mut known: Vec<(&Path, Vec<PathBuf>)> = Vec::new();
        let mut all: Vec<Repository> = Vec::new();
        for path in self.paths.iter().map(PathBuf::as_path) {
            let Some(directory) = git::directory_of(path) else { continue };
            let at = known.iter().position(|(other, _)| *other == directory).unwrap_or_else(|| {
                // Where there is no repository yet, this file could make its directory one.
                if is_clean(directory) {
                    targets.push((directory.with_file_name("HEAD"), path));
                }
                known.push((directory, self.repositories_of(directory)));
                known.len() - 1
            });
            let name = path.file_name().unwrap_or_default();
            for repository in &known[at].1 {
                let own = repository.join(name);
                if own != *path && !targets.iter().any(|(known, _)| *known == own) {
                    targets.push((own, path));
                }
                let at = all.iter().position(|other| other.path == *repository);
                let at = at.unwrap_or_else(|| {
                    let path = repository.clone();
                    all.push(Repository { path, has_hooks: false, has_config: false });
                    all.len() - 1
                });
                all[at].has_hooks |= name == "hooks";
                all[at].has_config |= name == "config";
            }
        }
        all
    }

    /// The directories below the root that git reads when it finds `directory`.
    fn repositories_of(&self, directory: &Path) -> Vec<PathBuf> {
        let target = if is_clean(directory) && !self.holds_link(directory, None) {
            Some(directory.to_owned())
        } else {
            self.follow(directory)
        };
        let Some(target) = target.filter(|target| !target.as_os_str().is_empty()) else {
            return Vec::new();
        };
        let shared = git::find(self.root.as_fd(), &target, |path| self.follow(path));
        let mut all = shared.map(Vec::from).unwrap_or_default();
        all.push(target);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether a part of `path` is a link. `without_links` is known to have none.
    fn holds_link(&self, path: &Path, without_links: Option<&Path>) -> bool {
        path.ancestors()
            .take_while(|part| !part.as_os_str().is_empty() && Some(*part) != without_links)
            .any(|part| walk::read_link(self.root.as_fd(), part.as_os_str()).is_ok())
    }

    /// The path below the root that `path` leads to, even if nothing is there yet. Follows links as
    /// the system does for other programs, out of the root and back. `None` if it leads outside or
    /// in a circle; empty if it leads to the root or above it.
    fn follow(&self, path: &Path) -> Option<PathBuf> {
        self.follow_through(path, &mut |_| {})
    }

    /// As [`follow`](Self::follow), and names each link on the way that lies below the root.
    fn follow_through(&self, path: &Path, on_link: &mut dyn FnMut(PathBuf)) -> Option<PathBuf> {
        let root = location::name_of(self.root.as_fd())
            .ok()
            .or_else(|| self.root.canonical().map(Path::to_path_buf))
            .unwrap_or_else(|| self.root.path().to_path_buf());
        let mut current = if path.is_absolute() { PathBuf::from("/") } else { root.clone() };
        let mut steps = path::steps_reversed(path);
        let mut links = 0;
        while let Some(step) = steps.pop() {
            let Step::Down(name) = step else {
                // There is nothing above what does not exist. The path leads there, and would lead on as
                // soon as something makes it.
                if current.symlink_metadata().is_err() {
                    break;
                }
                current.pop();
                continue;
            };
            current.push(&*name);
            if let Ok(target) = walk::read_link(CWD, current.as_os_str()) {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                if let Some(link) =
                    below(&current, &root).filter(|link| !link.as_os_str().is_empty())
                {
                    on_link(link);
                }
                let target = Path::new(&target);
                if target.is_absolute() {
                    current = PathBuf::from("/");
                } else {
                    current.pop();
                }
                steps.extend(path::steps_reversed(target));
            }
        }
        below(&current, &root)
    }
}

/// The part of a path below the root; empty for the root and what lies above it.
fn below(path: &Path, root: &Path) -> Option<PathBuf> {
    let depth = root.components().count();
    meet(path, root, CASE_COUNTS).then(|| path.components().skip(depth).collect())
}

/// Whether `path` is a path below the root, if none of its parts is a link.
fn is_clean(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether one of the two paths is the other, or is below it.
fn meet(a: &Path, b: &Path, case_counts: bool) -> bool {
    a.components().zip(b.components()).all(|(a, b)| same(a.as_os_str(), b.as_os_str(), case_counts))
}

fn same(a: &OsStr, b: &OsStr, case_counts: bool) -> bool {
    a == b || (!case_counts && a.eq_ignore_ascii_case(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_meet_by_whole_names() {
        let cases = [
            (".git/hooks", ".git/hooks", true, true),
            (".git/hooks/x/y", ".git/hooks", true, true),
            (".git", ".git/hooks", true, true),
            ("x", "", true, true),
            (".git/hooksx", ".git/hooks", false, false),
            (".github/hooks", ".git/hooks", false, false),
            ("a/.git/hooks", ".git/hooks", false, false),
            (".GIT/Hooks/x", ".git/hooks", false, true),
            (".Git", ".git/hooks", false, true),
            ("\u{c9}", "\u{e9}", false, false), // letters beyond ASCII
        ];
        for (target, protected, exactly, without_case) in cases {
            let (a, b) = (Path::new(target), Path::new(protected));
            assert_eq!(meet(a, b, true), exactly, "{target} {protected}");
            assert_eq!(meet(a, b, false), without_case, "{target} {protected}");
        }
    }
}
