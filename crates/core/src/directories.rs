//! The directories of sessions, when they are no longer needed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Ends what waits for more commands that would use `directory` (absolute), and removes what can be removed of
/// it within the limit. Gives the reason why something is left.
#[must_use]
pub fn remove(directory: &Path, limit: Duration) -> Option<String> {
    toolwright_exec::release_directory(directory);
    let removed = toolwright_fs::remove_tree(directory, deadline(limit));
    removed.err().map(|error| error.to_string())
}

/// Removes the directories in `base` of processes that are gone. What is left is removed by the next call.
pub fn remove_abandoned(base: &Path, limit: Duration) {
    let _ = toolwright_fs::remove_abandoned(base, deadline(limit));
}

/// Removes what can be removed of directories within the limit. The next process removes the rest.
pub fn remove_all(directories: &[PathBuf], limit: Duration) {
    let deadline = deadline(limit);
    for directory in directories {
        let _ = toolwright_fs::remove_tree(directory, deadline);
    }
}

fn deadline(limit: Duration) -> Option<Instant> {
    Instant::now().checked_add(limit)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn directories_are_removed_with_what_is_in_them() {
        let made = tempfile::tempdir().expect("made");
        let [one, two] = ["one", "two"].map(|name| made.path().join(name));
        for directory in [&one, &two] {
            fs::create_dir_all(directory.join("sub")).expect("made");
            fs::write(directory.join("sub/file"), "").expect("written");
        }
        assert_eq!(remove(&one, Duration::from_secs(60)), None);
        remove_all(&[one.clone(), two.clone()], Duration::from_secs(60));
        assert!(!one.exists() && !two.exists());
    }
}
