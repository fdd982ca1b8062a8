//! What the package keeps for a user beyond the life of one process.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use super::trail::Trail;

/// The name of the directory of marks.
const MARKS: &str = "marks";

/// Where the package keeps state of this user: below `$XDG_STATE_HOME`, or else `~/.local/state`. `None`: there is
/// no home directory.
#[must_use]
pub fn state_directory() -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::home_dir().filter(|home| home.is_absolute());
    let state = state.or_else(|| home().map(|home| home.join(".local/state")));
    state.map(|state| state.join("toolwright"))
}

/// The name of the directory of forks.
const FORKS: &str = "forks";

/// Where forks of directories lie unless a host says otherwise. `None`: no place is known.
#[must_use]
pub fn forks_directory() -> Option<PathBuf> {
    state_directory().map(|state| state.join(FORKS))
}

/// The same without links, below a directory of state, if it is there.
pub(super) fn forks(state: &Path) -> Option<PathBuf> {
    fs::canonicalize(state.join(FORKS)).ok()
}

/// Where hosts keep their [marks](crate::plan::Plan::marks), without links, whether there are any or not.
#[must_use]
pub fn marks_directory() -> Option<PathBuf> {
    state_directory().map(|state| marks_in(&state))
}

fn marks_in(state: &Path) -> PathBuf {
    Trail::of(&state.join(MARKS), Path::new("")).end
}

/// The same, below a directory of state. Commands that could write there find it closed, so it is made
/// before they begin. Returns whether it has to be closed, too.
pub(super) fn marks(state: &Path, is_writable: impl Fn(&Path) -> bool) -> (PathBuf, bool) {
    let marks = marks_in(state);
    let is_open = is_writable(&marks);
    let is_there = || fs::symlink_metadata(&marks).is_ok_and(|found| found.is_dir());
    if is_open && !is_there() {
        // Where that fails the host keeps no marks, and says why.
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(&marks);
    }
    let is_closed = is_open && is_there();
    (marks, is_closed)
}
