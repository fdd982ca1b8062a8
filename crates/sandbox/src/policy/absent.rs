//! Names that a directory does not have.
//!
//! Every command asks for some hundred names in the directories that it writes, and hardly any is there. So those that
//! are not there are kept with the directory. As long as it gains and loses no entry, none of them is there.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::stamp::Stamp;

/// How many directories are remembered.
const MAX_KEPT: usize = 16;

/// What is not at the top of some directories, while one plan is made.
#[derive(Debug, Default)]
pub(super) struct Absent(Vec<Top>);

#[derive(Debug, Clone)]
struct Top {
    directory: PathBuf,
    stamp: Option<Stamp>,
    names: Arc<Mutex<HashSet<OsString>>>,
}

impl Absent {
    /// Whether nothing is at a clean path below a directory, because its first name there is not. Otherwise it is unknown.
    pub(super) fn has(&mut self, path: &Path, directory: &Path) -> bool {
        let path = path.as_os_str().as_bytes();
        let below = path.strip_prefix(directory.as_os_str().as_bytes());
        let Some(below) = below.and_then(|below| below.strip_prefix(b"/")) else { return false };
        let mut names = below.split(|byte| *byte == b'/');
        let first = names.clone().next().unwrap_or_default();
        names.all(|name| !matches!(name, b"" | b"." | b".."))
            && self.top(directory).lacks(OsStr::from_bytes(first))
    }

    fn top(&mut self, directory: &Path) -> &Top {
        let known = self.0.iter().position(|top| top.directory == directory);
        let index = known.unwrap_or_else(|| {
            self.0.push(Top::at(directory));
            self.0.len() - 1
        });
        &self.0[index]
    }
}

impl Top {
    fn at(directory: &Path) -> Self {
        static KEPT: Mutex<Vec<Top>> = Mutex::new(Vec::new());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let stamp = Stamp::of(directory);
        let mut kept = unpoisoned(&KEPT);
        if let Some(known) = kept.iter().find(|known| known.directory == directory)
            && known.stamp == stamp
        {
            return known.clone();
        }
        let new = Self { directory: directory.to_owned(), stamp, names: Arc::default() };
        kept.retain(|known| known.directory != directory);
        // Elsewhere the times of a directory may not tell.
        if stamp.is_some_and(|stamp| stamp.is_old(now)) && toolwright_fs::is_on_local(directory) {
            if kept.len() == MAX_KEPT {
                kept.remove(0);
            }
            kept.push(new.clone());
        }
        new
    }

    /// A name that is noted was looked for when the directory had this stamp or a later one. A later one does not come
    /// back, so what is noted holds as long as this one does.
    fn lacks(&self, name: &OsStr) -> bool {
        let mut names = unpoisoned(&self.names);
        if names.contains(name) {
            return true;
        }
        let found = fs::symlink_metadata(self.directory.join(name));
        let is_absent = found.is_err_and(|error| error.kind() == ErrorKind::NotFound);
        if is_absent {
            names.insert(name.to_owned());
        }
        is_absent
    }
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_appears_is_not_taken_for_absent() {
        let fixture = tempfile::tempdir().expect("a directory");
        let root = fixture.path();
        let lacks = |path: &str| Absent::default().has(&root.join(path), root);
        // Old enough that the time of the next change differs.
        sleep(Duration::from_millis(120));
        for _ in 0..2 {
            assert!(lacks("a") && lacks("a/b/c") && lacks("link/x"));
        }
        fs::create_dir(root.join("a")).expect("made");
        std::os::unix::fs::symlink("nowhere", root.join("link")).expect("linked");
        assert!(!lacks("a") && !lacks("a/b/c") && !lacks("link/x"));
        assert!(lacks("c") && !lacks("c/../a"));
        assert!(!Absent::default().has(Path::new("/elsewhere"), root));
        fs::remove_dir(root.join("a")).expect("removed");
        assert!(lacks("a/b/c"));
    }

    /// However soon a change comes after the look before.
    #[test]
    fn changes_in_a_row_are_all_seen() {
        let fixture = tempfile::tempdir().expect("a directory");
        let root = fixture.path();
        for _ in 0..2000 {
            assert!(Absent::default().has(&root.join("a"), root));
            fs::write(root.join("a"), "").expect("written");
            assert!(!Absent::default().has(&root.join("a"), root));
            fs::remove_file(root.join("a")).expect("removed");
        }
    }
}
