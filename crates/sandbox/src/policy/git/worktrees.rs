//! The working trees of a repository that lie where commands cannot write.
//!
//! A command can make ten thousand directories here, and their number must not keep other commands
//! from running. So the number that is read is bounded, and reading happens again only when one was
//! made or removed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{names, path_in};
use crate::policy::absolute;

/// Fewer are looked at each time: git can move the tree of one without a trace in the directory that
/// holds them all.
const MIN_CACHED: usize = 512;

/// More are not looked at.
const MAX_ENTRIES: usize = 1 << 16;

/// Git makes the directory first, and its contents a moment later.
const MAKING: Duration = Duration::from_secs(2);

/// The directories of working trees, each with the tree's `.git`; `None` where there are too many.
type Trees = Option<Vec<(PathBuf, PathBuf)>>;

/// The result for a directory with many entries.
#[derive(Clone)]
struct Known {
    directory: PathBuf,
    stamp: (u64, u64, i64, i64),
    trees: Arc<Trees>,
}

/// The directories in `directory` of working trees that commands cannot write. `None` means that
/// there are too many to know.
pub(super) fn outside(
    directory: &Path,
    is_writable: impl Fn(&Path) -> bool,
) -> Option<Vec<PathBuf>> {
    let trees = trees(directory);
    let trees = trees.as_ref().as_ref()?;
    let outside = trees.iter().filter(|(_, tree)| !is_writable(tree));
    Some(outside.map(|(git_directory, _)| git_directory.clone()).collect())
}

fn trees(directory: &Path) -> Arc<Trees> {
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok(metadata) = fs::metadata(directory) else { return Arc::new(Some(Vec::new())) };
    let stamp = (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec());
    let last = known().clone();
    if let Some(last) = last
        && last.directory == directory
        && last.stamp == stamp
    {
        return last.trees;
    }
    let (trees, count) = look(directory);
    let trees = Arc::new(trees);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed = Duration::from_secs(u64::try_from(metadata.ctime()).unwrap_or_default());
    if count >= MIN_CACHED && changed + MAKING < now {
        *known() =
            Some(Known { directory: directory.to_owned(), stamp, trees: Arc::clone(&trees) });
    }
    trees
}

/// Them, and how many entries there are.
fn look(directory: &Path) -> (Trees, usize) {
    let (mut trees, mut count) = (Vec::new(), 0);
    let Some(entries) = names(directory, MAX_ENTRIES) else { return (None, MAX_ENTRIES) };
    for entry in entries {
        count += 1;
        // Most of very many have none, and that is all there is to know of them.
        let Some(tree) = path_in(&entry.join("gitdir"), b"") else { continue };
        let Ok(git_directory) = fs::canonicalize(&entry) else { continue };
        // The path begins where the file is, behind the links that lead there.
        let tree = path_in(&git_directory.join("gitdir"), b"").unwrap_or(tree);
        let tree =
            fs::canonicalize(&tree).unwrap_or_else(|_| absolute(&tree, Path::new("/"), None));
        trees.push((git_directory, tree));
    }
    (Some(trees), count)
}
