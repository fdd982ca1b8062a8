//! Access decisions: what a session may do, what a call needs, and what a search may show.
//!
//! - [`policy`]: the capabilities of a session, its own directories and what is closed to it.
//! - [`directories`]: the directories that the host grants by name, identified once.
//! - [`permission`]: how rules decide about what the capabilities let through.
//! - [`rules`]: lists of rules as they are written, compiled.
//! - [`target`]: a file or directory that is opened first and decided about then.
//! - [`visibility`]: what a search may show of what it meets.

pub mod directories;
pub mod permission;
pub mod policy;
pub mod rules;
pub mod target;
pub mod visibility;

use std::path::{Path, PathBuf};

use toolwright_fs::GitBorder;
use toolwright_sandbox::policy::{self as plans, follows, presets};

/// The paths below a root that neither file tools nor commands write; the usual ones without a list.
#[must_use]
pub fn protected_paths(option: Option<&[PathBuf]>) -> Vec<PathBuf> {
    presets::expand(&protected_list(option))
}

/// The same, and what git is led to by the repository of a root, a path without links.
#[must_use]
pub fn protected_below(option: Option<&[PathBuf]>, root: &Path) -> Vec<PathBuf> {
    let mut paths = protected_paths(option);
    let led_to = led_to(&paths, root).into_iter();
    // A path below the root is compared as it is; another one would have to be followed each time.
    paths.extend(led_to.filter_map(|path| path.strip_prefix(root).ok().map(Path::to_owned)));
    paths
}

/// Whether file tools leave git's own directories alone, for paths that are protected: wherever `@git` stands for
/// some of them.
#[must_use]
pub fn git_border(protected: &[PathBuf]) -> GitBorder {
    let holds = |path: PathBuf| protected.contains(&path);
    let mut hooks = protected.iter().filter(|path| path.ends_with(".git/hooks"));
    if hooks.any(|hooks| holds(hooks.with_file_name("config"))) {
        GitBorder::Closed
    } else {
        GitBorder::Open
    }
}

/// Hooks in another directory where those of git are protected, and included configurations and the files that
/// settings name where that is. Also where hosts keep their marks: by a forged one, the next host would rename what is
/// the user's.
pub(crate) fn led_to(protected: &[PathBuf], root: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        plans::marks_directory().into_iter().filter(|marks| marks.starts_with(root)).collect();
    let holds = |path: &str| protected.iter().any(|one| one == Path::new(path));
    let guards = (holds(".git/hooks"), holds(".git/config"));
    if guards == (false, false) {
        return all;
    }
    let follows = follows(root);
    let hooks = follows.hooks.iter().filter(|_| guards.0);
    let files = follows.files.iter().filter(|_| guards.1);
    all.extend(hooks.chain(files).cloned());
    all.extend(
        plans::led_to(root, guards, &follows).into_iter().filter(|path| path.starts_with(root)),
    );
    all
}

/// The list of these paths, in which a name may stand for several.
#[must_use]
pub fn protected_list(option: Option<&[PathBuf]>) -> Vec<PathBuf> {
    option.map_or_else(|| presets::DEFAULT.iter().map(PathBuf::from).collect(), <[PathBuf]>::to_vec)
}
