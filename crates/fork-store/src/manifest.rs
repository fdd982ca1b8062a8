//! What the base was when the fork was made: for each path what it is, and numbers that change when it does.
//!
//! No content is read. The kernel gives a new change time to whatever is written, replaced, moved or linked, and no
//! program can choose it. So the base need not be looked at before the fork is used: what has an earlier time than the
//! moment at which the fork was made is as it was then.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use toolwright_git::name::is_git_directory_name;

use crate::timestamp::Timestamp;
use crate::tree;

const TITLE: &[u8] = b"toolwright fork manifest 1\n";

/// What an entry of the base is, and the numbers that change when it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Print {
    kind: u8,
    inode: u64,
    size: u64,
    /// In nanoseconds since 1970, as are all times of an entry.
    changed: i64,
    written: i64,
}

impl Print {
    /// How many bytes it has on the disk.
    pub(crate) const BYTES: usize = 33;

    pub(crate) fn bytes(&self) -> [u8; Self::BYTES] {
        let Self { kind, inode, size, changed, written } = *self;
        let mut bytes = [kind; Self::BYTES];
        let numbers = [inode, size, changed.cast_unsigned(), written.cast_unsigned()];
        for (to, number) in bytes[1..].chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }
}

/// A directory, whose entries are looked at by themselves.
const DIRECTORY: u8 = b'd';
/// A directory whose entries have changed since the fork was made, before they were looked at: what is not
/// known there may have been.
const MOVING: u8 = b'D';

impl Print {
    pub(crate) fn of(stat: &Stat) -> Self {
        match Self::with_times(stat) {
            Self { kind: DIRECTORY, .. } => Self { kind: DIRECTORY, ..NOTHING },
            print => print,
        }
    }

    fn with_times(stat: &Stat) -> Self {
        let kind = match tree::kind(stat) {
            FileType::RegularFile => b'f',
            FileType::Symlink => b'l',
            FileType::Directory => DIRECTORY,
            _ => b'o',
        };
        let time = |seconds: i64, nanoseconds: u64| {
            let nanoseconds = i64::try_from(nanoseconds).unwrap_or_default();
            seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
        };
        Self {
            kind,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            changed: time(stat.st_ctime, stat.st_ctime_nsec),
            written: time(stat.st_mtime, stat.st_mtime_nsec),
        }
    }
}

/// What the base was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest(HashMap<Box<[u8]>, Print>);

impl Manifest {
    /// Looks at everything below the base, but not into git directories. Nothing is known before [`settle`](Self::settle).
    pub(crate) fn look(base: BorrowedFd<'_>) -> Result<Self, Errno> {
        let mut manifest = Self::default();
        manifest.0.insert(Box::default(), Print::with_times(&rustix::fs::fstat(base)?));
        manifest.add(base, &mut Vec::new())?;
        Ok(manifest)
    }

    /// Drops entries that changed after the moment: they may have been read after the change.
    pub(crate) fn settle(&mut self, timestamp: Timestamp) {
        for print in self.0.values_mut() {
            let is_later = timestamp.is_before(print.changed);
            *print = match print.kind {
                DIRECTORY if is_later => Print { kind: MOVING, ..NOTHING },
                DIRECTORY => Print { kind: DIRECTORY, ..NOTHING },
                _ if is_later => UNKNOWN,
                _ => *print,
            };
        }
    }

    fn add(&mut self, directory: BorrowedFd<'_>, path: &mut Vec<u8>) -> Result<(), Errno> {
        for name in tree::names(directory)? {
            if is_git_directory_name(name.as_bytes()) {
                continue;
            }
            let Some(stat) = tree::look(directory, &name)? else { continue };
            let length = path.len();
            if length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
            let print = Print::with_times(&stat);
            self.0.insert(path.as_slice().into(), print);
            if print.kind == DIRECTORY {
                match tree::directory(directory, &name) {
                    Ok(below) => match self.add(below.as_fd(), path) {
                        // Deleted meanwhile.
                        Ok(()) | Err(Errno::NOENT) => {}
                        Err(errno) => return Err(errno),
                    },
                    // Replaced meanwhile, or closed to this user. Nothing is known of what is in it.
                    Err(_) => drop(self.0.insert(path.as_slice().into(), UNKNOWN)),
                }
            }
            path.truncate(length);
        }
        Ok(())
    }

    /// What was at a path.
    pub(crate) fn get(&self, path: &Path) -> Option<Print> {
        let print = self.0.get(path.as_os_str().as_bytes()).copied();
        print.map(|it| if it.kind == MOVING { Print { kind: DIRECTORY, ..NOTHING } } else { it })
    }

    /// Whether what is at a path of the base now is what was there.
    pub(crate) fn is_as_it_was(&self, path: &Path, now: Option<&Stat>) -> bool {
        let (was, now) = (self.get(path), now.map(Print::of));
        // Of what lies in a directory that could not be read nothing is known.
        let is_unknown = |path: &Path| self.get(path) == Some(UNKNOWN);
        // The directories around it may have gone before they were looked at: the nearest that is known decides.
        let is_in_moving = |path: &Path| {
            let mut above = path.ancestors().skip(1);
            let known = above.find_map(|above| self.0.get(above.as_os_str().as_bytes()));
            known.is_some_and(|known| known.kind == MOVING)
        };
        was == now && !path.ancestors().any(is_unknown) && (was.is_some() || !is_in_moving(path))
    }

    /// Takes what is at some paths now for what was there.
    pub(crate) fn update(&mut self, base: BorrowedFd<'_>, paths: impl Iterator<Item = PathBuf>) {
        for path in paths {
            let key: Box<[u8]> = path.as_os_str().as_bytes().into();
            match tree::look_below(base, &path) {
                Ok(Some(stat)) => {
                    self.0.insert(key, Print::of(&stat));
                    for above in path.ancestors().skip(1) {
                        let above: Box<[u8]> = above.as_os_str().as_bytes().into();
                        self.0.entry(above).or_insert(Print { kind: DIRECTORY, ..NOTHING });
                    }
                }
                _ => drop(self.0.remove(&key)),
            }
        }
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = TITLE.to_vec();
        for (path, print) in &self.0 {
            bytes.extend(u32::try_from(path.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend_from_slice(path);
            bytes.extend(print.bytes());
        }
        bytes.extend_from_slice(&sum(&bytes).to_le_bytes());
        bytes
    }

    /// Reads what [`write`](Self::write) wrote; `None` if it is damaged.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (content, checksum) = bytes.split_last_chunk::<8>()?;
        if sum(content) != u64::from_le_bytes(*checksum) {
            return None;
        }
        let mut rest = content.strip_prefix(TITLE)?;
        let mut manifest = HashMap::new();
        while !rest.is_empty() {
            let (length, after) = rest.split_first_chunk::<4>()?;
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            let (path, after) = after.split_at_checked(length)?;
            let (kind, mut after) = after.split_first()?;
            let mut number = || {
                let (number, left) = after.split_first_chunk::<8>()?;
                after = left;
                Some(u64::from_le_bytes(*number))
            };
            let print = Print {
                kind: *kind,
                inode: number()?,
                size: number()?,
                changed: number()?.cast_signed(),
                written: number()?.cast_signed(),
            };
            rest = after;
            manifest.insert(path.into(), print);
        }
        Some(Self(manifest))
    }
}

const NOTHING: Print = Print { kind: b'?', inode: 0, size: 0, changed: 0, written: 0 };
/// Nothing is ever this.
const UNKNOWN: Print = NOTHING;

/// FNV-1a: the sum has to be the same in every version of this program.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_back_and_a_damaged_one_is_not() {
        let print = Print { kind: b'f', inode: 7, size: 8, changed: -9, written: 10 };
        let manifest = Manifest(HashMap::from([
            (Box::from(*b"a/b"), print),
            (Box::from(*b"a"), Print { kind: b'd', ..NOTHING }),
        ]));
        let bytes = manifest.write();
        assert_eq!(Manifest::read(&bytes), Some(manifest));
        for end in 0..bytes.len() {
            assert_eq!(Manifest::read(&bytes[..end]), None, "{end}");
        }
    }

    #[test]
    fn what_changes_before_it_is_looked_at_is_unknown() {
        let place = tempfile::tempdir().expect("made");
        std::fs::create_dir_all(place.path().join("around/gone/deep")).expect("made");
        std::fs::write(place.path().join("around/gone/deep/a"), "1").expect("written");
        for name in ["same", "written", "removed"] {
            std::fs::create_dir(place.path().join(name)).expect("made");
            std::fs::write(place.path().join(name).join("a"), "1").expect("written");
        }
        let timestamp = Timestamp::now();
        timestamp.wait();
        std::fs::write(place.path().join("written/a"), "2").expect("written");
        std::fs::remove_file(place.path().join("removed/a")).expect("removed");
        std::fs::remove_dir_all(place.path().join("around/gone")).expect("removed");
        std::fs::write(place.path().join("new"), "2").expect("written");
        let base = tree::open(place.path()).expect("open");
        let mut manifest = Manifest::look(base.as_fd()).expect("read");
        manifest.settle(timestamp);
        let is_as_it_was = |path: &str| {
            let now = tree::look_below(base.as_fd(), Path::new(path)).expect("looked");
            manifest.is_as_it_was(Path::new(path), now.as_ref())
        };
        let known = ["same/a", "same/b", "same", "written/b"].map(is_as_it_was);
        assert_eq!(known, [true; 4]);
        let unknown = ["written/a", "removed/a", "removed/b", "new", "other", "around/gone"];
        assert_eq!(unknown.map(is_as_it_was), [false; 6]);
        // Of what lay in a directory that has gone nothing is known either.
        let deep = ["around/gone/a", "around/gone/deep", "around/gone/deep/a"].map(is_as_it_was);
        assert_eq!(deep, [false; 3]);
    }

    #[test]
    fn a_file_that_changes_right_after_is_not_as_it_was() {
        let place = tempfile::tempdir().expect("made");
        let file = place.path().join("a");
        for round in 0..20 {
            std::fs::write(&file, format!("{round:3}")).expect("written");
            let base = tree::open(place.path()).expect("open");
            let timestamp = Timestamp::now();
            let mut manifest = Manifest::look(base.as_fd()).expect("read");
            manifest.settle(timestamp);
            timestamp.wait();
            let now = || tree::look_below(base.as_fd(), Path::new("a")).expect("looked");
            assert!(manifest.is_as_it_was(Path::new("a"), now().as_ref()));
            // The same length.
            std::fs::write(&file, format!("{:3}", round + 500)).expect("written");
            assert!(!manifest.is_as_it_was(Path::new("a"), now().as_ref()), "{round}");
        }
    }
}
