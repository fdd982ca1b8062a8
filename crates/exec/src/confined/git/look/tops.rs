//! The directories that are known.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use toolwright_sandbox::plan::{Files, Plan};

use super::Top;

/// How many are known at once.
const MAX_TOPS: usize = 16;

/// The directories that a look has to judge: those that commands write, without those that lie in others.
pub(super) fn judged(plan: &Plan) -> Vec<PathBuf> {
    let mut tops = Vec::new();
    // One that has no directory open runs in the root of the system, which it cannot write.
    if plan.writes(&plan.root) {
        tops.push(plan.root.clone());
    }
    if plan.files == Files::Confined {
        let mut others = plan.writable.clone();
        others.sort_unstable();
        for path in others {
            if !tops.iter().any(|top| path.starts_with(top)) {
                tops.push(path);
            }
        }
    }
    // Commands write the fork, and what is new in the directory itself is a person's.
    tops.retain(|top| !plan.is_forked(top));
    tops
}

/// Whether a place is in a directory that all programs have for temporary files, at or below a top. What appears
/// there is rather not a command's.
pub(super) fn is_shared(top: &Path, place: &Path) -> bool {
    let is_in = |shared: &Path| shared.starts_with(top) && place.starts_with(shared);
    ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|shared| is_in(Path::new(shared)))
        || std::env::temp_dir().canonicalize().is_ok_and(|shared| is_in(&shared))
}

static TOPS: Mutex<Vec<Arc<Top>>> = Mutex::new(Vec::new());

/// Forgets a directory that is about to be removed, and those below it.
pub(crate) fn forget_below(directory: &Path) {
    let mut tops = TOPS.lock().unwrap_or_else(PoisonError::into_inner);
    tops.retain(|top| Arc::strong_count(top) > 1 || !top.path.starts_with(directory));
}

/// Forgets all directories in which nothing runs: this process ends.
pub(crate) fn forget_all() {
    forget_below(Path::new("/"));
}

/// The one at a path.
pub(super) fn of(path: &Path) -> Arc<Top> {
    let mut tops = TOPS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = tops.iter().find(|known| known.path == path) {
        return Arc::clone(known);
    }
    if tops.len() >= MAX_TOPS
        && let Some(unused) = tops.iter().position(|known| Arc::strong_count(known) == 1)
    {
        tops.remove(unused);
    }
    let new = Arc::new(Top { path: path.to_owned(), state: Mutex::default() });
    tops.push(Arc::clone(&new));
    new
}

#[cfg(test)]
mod tests {
    use toolwright_sandbox::plan::Forked;

    use super::*;

    fn tops(files: Files, root: &str, writable: &[&str]) -> Vec<PathBuf> {
        let writable = writable.iter().map(PathBuf::from).collect();
        judged(&Plan { root: root.into(), files, writable, ..Plan::default() })
    }

    #[test]
    fn what_commands_write_is_judged_and_nothing_else() {
        let confined = |root, writable: &[&str]| tops(Files::Confined, root, writable);
        assert_eq!(confined("/", &[]), Vec::<PathBuf>::new());
        assert_eq!(confined("/", &["/a/b", "/a", "/c"]), ["/a", "/c"].map(PathBuf::from));
        assert_eq!(confined("/r", &["/r", "/r/x", "/a"]), ["/r", "/a"].map(PathBuf::from));
        assert_eq!(confined("/r", &["/r/x"]), ["/r/x"].map(PathBuf::from));
        assert_eq!(confined("/r", &["/"]), ["/r", "/"].map(PathBuf::from));
        assert_eq!(tops(Files::Full, "/r", &[]), ["/r"].map(PathBuf::from));
    }

    #[test]
    fn what_was_forked_is_not_judged() {
        let seen = Forked { number: 1, base: "/a/b".into() };
        let writable = ["/a/b", "/a/b/c", "/d"].map(PathBuf::from).to_vec();
        for root in ["/a/b", "/a/b/c"] {
            let (root_fork, writable) = (Some(seen.clone()), writable.clone());
            let plan = Plan { root: root.into(), writable, root_fork, ..Plan::default() };
            assert_eq!(judged(&plan), [PathBuf::from("/d")]);
        }
    }

    #[test]
    fn directories_for_temporary_files_are_shared_also_below_a_top() {
        for (top, place, is_in) in [
            ("/tmp", "/tmp/x", true),
            ("/", "/tmp/x", true),
            ("/", "/home/x", false),
            ("/tmp/project", "/tmp/project/x", false),
            ("/var", "/var/tmp", true),
        ] {
            assert_eq!(is_shared(Path::new(top), Path::new(place)), is_in, "{top} {place}");
        }
    }
}
