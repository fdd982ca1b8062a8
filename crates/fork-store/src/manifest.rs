//! What the base was when the fork was made: for each path what it is, and numbers that change when it does.
//!
//! No content is read. The kernel gives a new change time to whatever is written, replaced, moved or linked, and no
//! program can choose it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use toolwright_git::name::is_git_directory_name;

use crate::tree;

const TITLE: &[u8] = b"toolwright fork manifest 1\n";
/// A change within this time after another one may leave the same change time: clocks of file systems tick every ten
/// milliseconds at worst.
const TICK: Duration = Duration::from_millis(20);
/// How often files that somebody is writing are looked at again.
const MAX_LOOKS: usize = 5;

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
    pub(crate) fn of(stat: &Stat) -> Self {
        let kind = match tree::kind(stat) {
            FileType::RegularFile => b'f',
            FileType::Symlink => b'l',
            // What is in one is looked at by itself.
            FileType::Directory => {
                return Self { kind: b'd', inode: 0, size: 0, changed: 0, written: 0 };
            }
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

    pub(crate) fn is_directory(&self) -> bool {
        self.kind == b'd'
    }
}

/// What the base was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest(HashMap<Box<[u8]>, Print>);

impl Manifest {
    /// Looks at everything below the base, but not into git directories.
    pub(crate) fn of(base: BorrowedFd<'_>) -> Result<Self, Errno> {
        let mut manifest = Self::default();
        let began = now();
        manifest.add(base, &mut Vec::new())?;
        let tick = i64::try_from(TICK.as_nanos()).unwrap_or(i64::MAX);
        // What was changed a moment ago could change once more without a new time.
        let mut young: Vec<Box<[u8]>> = manifest
            .0
            .iter()
            .filter(|(_, print)| print.changed > began.saturating_sub(tick))
            .map(|(path, _)| path.clone())
            .collect();
        for _ in 0..MAX_LOOKS {
            if young.is_empty() {
                break;
            }
            thread::sleep(TICK);
            young.retain(|path| {
                let seen = tree::look_below(base, Path::new(OsStr::from_bytes(path)));
                let seen = seen.ok().flatten().map(|stat| Print::of(&stat));
                let known = manifest.0.get(path).copied();
                match seen {
                    Some(print) => manifest.0.insert(path.clone(), print),
                    None => manifest.0.remove(path),
                };
                seen != known
            });
        }
        // Somebody writes them all the time. What they were is not known.
        for path in young {
            manifest.0.insert(path, UNKNOWN);
        }
        Ok(manifest)
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
            let print = Print::of(&stat);
            self.0.insert(path.as_slice().into(), print);
            if print.is_directory() {
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
        self.0.get(path.as_os_str().as_bytes()).copied()
    }

    /// Whether what is at a path of the base now is what was there.
    pub(crate) fn is_as_it_was(&self, path: &Path, now: Option<&Stat>) -> bool {
        let now = now.map(Print::of);
        // Of what lies in a directory that could not be read nothing is known.
        let is_unknown = |path: &Path| self.get(path) == Some(UNKNOWN);
        self.get(path) == now && !path.ancestors().any(is_unknown)
    }

    /// Takes what is at some paths now for what was there.
    pub(crate) fn update(&mut self, base: BorrowedFd<'_>, paths: impl Iterator<Item = PathBuf>) {
        for path in paths {
            let key: Box<[u8]> = path.as_os_str().as_bytes().into();
            match tree::look_below(base, &path) {
                Ok(Some(stat)) => {
                    self.0.insert(key, Print::of(&stat));
                    for above in path.ancestors().skip(1).filter(|it| !it.as_os_str().is_empty()) {
                        let above: Box<[u8]> = above.as_os_str().as_bytes().into();
                        self.0.insert(above, Print { kind: b'd', ..NOTHING });
                    }
                }
                _ => drop(self.0.remove(&key)),
            }
        }
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = TITLE.to_vec();
        for (path, Print { kind, inode, size, changed, written }) in &self.0 {
            bytes.extend(u32::try_from(path.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend_from_slice(path);
            bytes.push(*kind);
            for number in [*inode, *size, changed.cast_unsigned(), written.cast_unsigned()] {
                bytes.extend(number.to_le_bytes());
            }
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

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

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
    fn a_file_that_changes_right_after_is_not_as_it_was() {
        let place = tempfile::tempdir().expect("made");
        let file = place.path().join("a");
        for round in 0..20 {
            std::fs::write(&file, format!("{round:3}")).expect("written");
            let base = tree::open(place.path()).expect("open");
            let manifest = Manifest::of(base.as_fd()).expect("read");
            let now = || tree::look_below(base.as_fd(), Path::new("a")).expect("looked");
            assert!(manifest.is_as_it_was(Path::new("a"), now().as_ref()));
            // The same length.
            std::fs::write(&file, format!("{:3}", round + 500)).expect("written");
            assert!(!manifest.is_as_it_was(Path::new("a"), now().as_ref()), "{round}");
        }
    }
}
