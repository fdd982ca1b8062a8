//! Clearing up after processes that were killed in the middle of a write or an edit.
//!
//! A call that is about to create a temporary file in a directory first looks for those of dead
//! processes. A `.part` was never published and goes. A `.swap` is one of three things, told apart
//! by fingerprint:
//!
//! 1. the new file, before the exchange: it goes;
//! 2. the old file as its editor had read it, after the exchange: the edit was complete, it goes;
//! 3. somebody else's newer file, swapped out before the editor could see that it had changed: it
//!    is exchanged back, which is what the editor would have done.
//!
//! Anybody who may create files in the directory can make up such a name. Where it only leads to
//! the removal of that very file, no harm is done. The third case changes another file, so it is
//! settled only by a call on just that file: a command that may not touch `.git/config`, but may
//! put files beside it, cannot have it replaced by our hand.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::LazyLock;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;

use rustix::fs::AtFlags;
use rustix::fs::Dir;
use rustix::fs::FlockOperation;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::open::Identity;
use crate::publish;
use crate::temporary::Fingerprint;
use crate::temporary::NameHash;
use crate::temporary::PREFIX;
use crate::temporary::Residue;
use crate::temporary::Swap;

/// Files of owners that cannot be judged from here (another container on the same volume) go when
/// they are this old.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);
/// How long a directory is left alone after a look, for every name in it. Listing takes well under
/// a microsecond a name, so that looking costs less than a hundredth of the time: a small directory
/// is looked at by every call, and one of a million names once in a minute. Counted, not measured: a
/// look that was slow by chance must not put off the next one.
const REST_PER_NAME: Duration = Duration::from_micros(50);
/// Directories remembered; all are forgotten when there are more.
const REMEMBERED: usize = 1024;

/// When each directory may be looked at again.
static NEXT: LazyLock<Mutex<HashMap<Identity, Instant>>> = LazyLock::new(Mutex::default);

/// Removes what dead processes left in `directory`, on the way to a change of `target` in it.
/// Failing to is no error: nothing depends on it.
pub(crate) fn sweep(directory: BorrowedFd<'_>, identity: Identity, target: &OsStr) {
    let next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    if next.get(&identity).is_some_and(|next| now < *next) {
        return;
    }
    drop(next);
    let names = sweep_now(directory, target, FORGOTTEN).unwrap_or(0);
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    if next.len() >= REMEMBERED {
        next.clear();
    }
    next.insert(identity, Instant::now() + REST_PER_NAME.saturating_mul(names));
}

/// Gives the number of names looked at.
fn sweep_now(directory: BorrowedFd<'_>, target: &OsStr, forgotten: Duration) -> Result<u32, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listing = rustix::fs::openat(directory, ".", flags, Mode::empty())?;
    let mut listing = Dir::new(listing)?;
    let mut names: u32 = 0;
    let mut swaps = Vec::new();
    while let Some(entry) = listing.read() {
        let entry = entry?;
        names = names.saturating_add(1);
        let name = entry.file_name().to_bytes();
        if !name.starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Some(residue) = Residue::parse(name) else { continue };
        let name = OsStr::from_bytes(name);
        let dead = match residue.owner().alive() {
            Some(alive) => !alive,
            None => age(directory, name).is_some_and(|age| age >= forgotten),
        };
        match residue {
            _ if !dead => {}
            Residue::Part(_) => {
                let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
            }
            Residue::Swap(_, swap) => swaps.push((name.to_os_string(), swap)),
        }
    }
    if !swaps.is_empty() {
        // Two processes that both exchange back would undo each other; see `OpenDirectory::lock`.
        rustix::fs::flock(listing.fd()?, FlockOperation::NonBlockingLockExclusive)?;
    }
    for (name, swap) in swaps {
        let _ = settle(directory, &name, swap, target);
    }
    Ok(names)
}

/// Ends an exchange whose owner died in it.
fn settle(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    swap: Swap,
    target: &OsStr,
) -> Result<(), Errno> {
    let print = |name: &OsStr| {
        rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|stat| Fingerprint::of(&stat))
    };
    let held = print(name)?;
    if held == swap.new || held == swap.out {
        return rustix::fs::unlinkat(directory, name, AtFlags::empty());
    }
    if swap.target != NameHash::of(target) || print(target)? != swap.new {
        // Another call's business; or the target has been replaced or removed since, and there is
        // nothing to take back. The file stays, for it may be the only copy of somebody's bytes.
        return Ok(());
    }
    publish::exchange(directory, name, target)?;
    if print(name)? == swap.new {
        rustix::fs::unlinkat(directory, name, AtFlags::empty())
    } else {
        // Replaced while we looked: put it back as it was found.
        publish::exchange(directory, name, target)
    }
}

fn age(directory: BorrowedFd<'_>, name: &OsStr) -> Option<Duration> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_ctime).ok()?);
    changed.elapsed().ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use std::os::fd::AsFd;
    use std::os::fd::OwnedFd;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::owner::Owner;
    use crate::temporary::part_name;
    use crate::temporary::swap_name;

    /// A directory with residues in it, as processes leave them that die between two system calls.
    struct Scene {
        directory: tempfile::TempDir,
        fd: OwnedFd,
    }

    fn dead() -> Owner {
        Owner { started: Owner::this().started + 1, ..Owner::this() }
    }

    fn elsewhere() -> Owner {
        Owner { realm: Owner::this().realm ^ 1, ..Owner::this() }
    }

    impl Scene {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let fd = std::fs::File::open(directory.path()).unwrap().into();
            Self { directory, fd }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.directory.path().join(name)
        }

        fn put(&self, name: &str, text: &str) {
            std::fs::write(self.path(name), text).unwrap();
        }

        fn get(&self, name: &str) -> String {
            std::fs::read_to_string(self.path(name)).unwrap()
        }

        fn print(&self, name: &str) -> Fingerprint {
            let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).unwrap();
            Fingerprint::of(&stat)
        }

        /// Renames `new` to the name it has while it is exchanged with `target`.
        fn announce(&self, owner: Owner, new: &str, target: &str) -> String {
            static SEQUENCE: AtomicU64 = AtomicU64::new(0);
            let swap = Swap {
                new: self.print(new),
                out: self.print(target),
                target: NameHash::of(OsStr::new(target)),
            };
            let name = swap_name(owner, SEQUENCE.fetch_add(1, Ordering::Relaxed), swap);
            std::fs::rename(self.path(new), self.path(&name)).unwrap();
            name
        }

        fn exchange(&self, a: &str, b: &str) {
            publish::exchange(self.fd.as_fd(), OsStr::new(a), OsStr::new(b)).unwrap();
        }

        fn replace(&self, name: &str, text: &str) {
            self.put("other", text);
            std::fs::rename(self.path("other"), self.path(name)).unwrap();
        }

        fn sweep(&self, target: &str) {
            sweep_now(self.fd.as_fd(), OsStr::new(target), FORGOTTEN).unwrap();
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(self.directory.path()).unwrap();
            let mut names: Vec<_> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }

        /// An edit of `file` that dies right after the exchange.
        fn exchanged(&self) -> String {
            self.put("file", "old");
            self.put("new", "new");
            let swap = self.announce(dead(), "new", "file");
            self.exchange(&swap, "file");
            swap
        }
    }

    #[test]
    fn a_part_of_a_dead_process_goes() {
        let scene = Scene::new();
        scene.put("file", "old");
        scene.put(&part_name(dead(), 1), "half of the n");
        scene.sweep("anything");
        assert_eq!(scene.names(), ["file"]);
    }

    #[test]
    fn files_of_this_living_process_and_names_made_by_hand_stay() {
        let scene = Scene::new();
        scene.put("file", "old");
        scene.put("new", "new");
        scene.put(&part_name(Owner::this(), 1), "being written");
        scene.announce(Owner::this(), "new", "file");
        scene.put(".toolwright-notes.part", "not ours");
        scene.sweep("file");
        assert_eq!(scene.names().len(), 4);
    }

    #[test]
    fn before_the_exchange_the_new_file_goes() {
        let scene = Scene::new();
        scene.put("file", "old");
        scene.put("new", "new");
        scene.announce(dead(), "new", "file");
        scene.sweep("anything");
        assert_eq!((scene.names(), scene.get("file")), (vec!["file".to_owned()], "old".to_owned()));
    }

    #[test]
    fn after_the_exchange_the_old_file_goes() {
        let scene = Scene::new();
        scene.exchanged();
        scene.sweep("anything");
        assert_eq!((scene.names(), scene.get("file")), (vec!["file".to_owned()], "new".to_owned()));
    }

    /// Somebody writes between the editor's look and its exchange, and the editor dies there.
    fn foreign_came_out(scene: &Scene) -> String {
        scene.put("file", "old");
        scene.put("new", "new");
        let swap = scene.announce(dead(), "new", "file");
        scene.replace("file", "foreign");
        scene.exchange(&swap, "file");
        swap
    }

    #[test]
    fn a_foreign_file_that_came_out_is_exchanged_back_by_a_call_on_its_name() {
        let scene = Scene::new();
        foreign_came_out(&scene);
        scene.sweep("another");
        assert_eq!(scene.get("file"), "new", "not another call's business");
        scene.sweep("file");
        assert_eq!(scene.get("file"), "foreign");
        assert_eq!(scene.names(), ["file"]);
    }

    #[test]
    fn a_foreign_change_in_place_that_came_out_is_exchanged_back() {
        let scene = Scene::new();
        scene.put("file", "old");
        scene.put("new", "new");
        let swap = scene.announce(dead(), "new", "file");
        scene.put("file", "changed in place");
        scene.exchange(&swap, "file");
        scene.sweep("file");
        assert_eq!(scene.get("file"), "changed in place");
        assert_eq!(scene.names(), ["file"]);
    }

    #[test]
    fn a_foreign_file_is_kept_when_the_target_has_been_replaced_since() {
        let scene = Scene::new();
        let swap = foreign_came_out(&scene);
        scene.replace("file", "newer");
        // New files in the meantime: one of them may get the inode number that has become free.
        for name in ["a", "b", "c"] {
            scene.put(name, name);
        }
        scene.sweep("file");
        assert_eq!(
            (scene.get("file"), scene.get(&swap)),
            ("newer".to_owned(), "foreign".to_owned())
        );
        for name in ["a", "b", "c"] {
            assert_eq!(scene.get(name), name);
        }
        std::fs::remove_file(scene.path("file")).unwrap();
        scene.sweep("file");
        assert_eq!(scene.get(&swap), "foreign", "the only copy of somebody's bytes");
    }

    #[test]
    fn a_made_up_residue_cannot_have_another_file_replaced() {
        let scene = Scene::new();
        scene.put("protected", "as it should be");
        scene.put("file", "old");
        let swap = Swap {
            new: scene.print("protected"),
            out: scene.print("file"),
            target: NameHash::of(OsStr::new("protected")),
        };
        scene.put(&swap_name(dead(), 7, swap), "planted");
        scene.sweep("file");
        assert_eq!(scene.get("protected"), "as it should be");
    }

    #[test]
    fn residues_that_are_no_files_are_left_alone() {
        let scene = Scene::new();
        std::fs::create_dir(scene.path(&part_name(dead(), 1))).unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(outside.path(), scene.path(&part_name(dead(), 2))).unwrap();
        scene.sweep("file");
        assert_eq!(scene.names().len(), 1, "the link goes, the directory stays");
        assert!(outside.path().exists());
    }

    #[test]
    fn files_of_another_realm_go_by_age_only() {
        let scene = Scene::new();
        scene.put(&part_name(elsewhere(), 1), "perhaps being written");
        scene.sweep("file");
        assert_eq!(scene.names().len(), 1);
        sweep_now(scene.fd.as_fd(), OsStr::new("file"), Duration::ZERO).unwrap();
        assert_eq!(scene.names().len(), 0);
    }

    #[test]
    fn sweeps_at_the_same_time_do_not_undo_each_other() {
        for _ in 0..100 {
            let scene = Scene::new();
            foreign_came_out(&scene);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let listing = scene.fd.as_fd();
                        let _ = sweep_now(listing, OsStr::new("file"), FORGOTTEN);
                    });
                }
            });
            assert_eq!(scene.get("file"), "foreign");
            assert_eq!(scene.names(), ["file"]);
        }
    }

    #[test]
    fn a_directory_rests_in_proportion_to_its_names() {
        let scene = Scene::new();
        for number in 0..2000 {
            scene.put(&number.to_string(), "");
        }
        let identity = Identity::of(&rustix::fs::fstat(&scene.fd).unwrap());
        let sweep_again = || sweep(scene.fd.as_fd(), identity, OsStr::new("file"));
        sweep_again();
        scene.put(&part_name(dead(), 1), "left");
        sweep_again();
        assert_eq!(scene.names().len(), 2001, "looked at a moment ago");
        std::thread::sleep(REST_PER_NAME * 2100);
        sweep_again();
        assert_eq!(scene.names().len(), 2000);
    }
}
