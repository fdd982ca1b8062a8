//! Giving another name to what programs on the host would run or obey.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, FileType, Mode, RenameFlags, fchmod, fstat, mkdirat, renameat, renameat_with, statat,
};
use rustix::io::Errno;
use toolwright_git::directory::Directory;
use toolwright_sandbox::plan::{PLACEHOLDER_TIME, Plan};

use super::shown;
use crate::git_reports::GitReport;

/// The suffix of disabled names.
const ASIDE: &str = "disabled";
/// The last of the names that are tried.
const MAX_NUMBER: usize = 10;

/// How many entries of a directory are moved out of it.
const MAX_MOVED: usize = 10_000;

/// Which file it is: device and inode.
pub(super) type Identity = (u64, u64);

/// Which file is at a path. No link is followed.
pub(super) fn identity_at(directory: impl AsFd, name: impl rustix::path::Arg) -> Option<Identity> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// Sets aside what a command has made at a path, unless it is what a person had there. The name itself is moved,
/// and no link is followed on the way to it.
pub(super) fn path(plan: &Plan, path: &Path, of_person: Option<&Identity>) -> Option<GitReport> {
    // A plan has no link on the way, so that one is new: it goes, and with it what it leads to from here.
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    let link = above.into_iter().find(|above| above.is_symlink());
    let path = link.filter(|_| path.symlink_metadata().is_ok()).unwrap_or(path);
    let (above, name) = path.parent().zip(path.file_name())?;
    match Directory::open(above) {
        Ok(directory) => {
            let found = identity_at(&directory, name)?;
            let is_ours = of_person == Some(&found) || is_placeholder(&directory, name);
            (!is_ours).then(|| entry(plan, &directory, above, name))
        }
        Err(_) if path.symlink_metadata().is_err() => None,
        // What the link leads to is not touched.
        Err(error) => Some(left(plan, above, name, error.to_string())),
    }
}

/// Whether something stands for what is absent, so that commands cannot make it. It is empty, and so is what a
/// command makes to look like it.
fn is_placeholder(directory: &Directory, name: &OsStr) -> bool {
    let Ok(found) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    let is_empty = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => found.st_size <= 1,
        FileType::Directory => directory.entries(name, 0).is_ok_and(|entries| entries.is_some()),
        _ => false,
    };
    (found.st_mtime, found.st_mtime_nsec) == (PLACEHOLDER_TIME, 0) && is_empty
}

/// Sets an entry of a directory aside.
pub(super) fn entry(plan: &Plan, within: &Directory, at: &Path, name: &OsStr) -> GitReport {
    match rename(within, name) {
        Ok(()) => GitReport::SetAside {
            directory: shown(plan, at),
            names: vec![name.to_string_lossy().into_owned()],
        },
        Err(errno) => left(plan, at, name, errno.to_string()),
    }
}

/// Sets aside what is in a directory, which stays where it is: what commands see there would go with it.
pub(super) fn content(plan: &Plan, within: &Directory, at: &Path, name: &OsStr) -> GitReport {
    match move_out(within, name) {
        Ok(aside) => GitReport::MovedOut {
            from: shown(plan, &at.join(name)),
            to: shown(plan, &at.join(aside)),
        },
        Err(_) => entry(plan, within, at, name),
    }
}

/// Moves the entries of a directory to a new one beside it, and returns the name of that.
fn move_out(within: &Directory, name: &OsStr) -> io::Result<OsString> {
    let open = |name: &OsStr| match within.below(name) {
        Ok(Some(directory)) => Ok(directory),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    let from = open(name)?;
    let entries = from.entries(".", MAX_MOVED).map_err(io::Error::other)?.unwrap_or_default();
    let mut aside = name.to_owned();
    aside.push(format!(".{ASIDE}"));
    let make = |name: &OsStr| {
        with_write_access(within, || mkdirat(within, name, Mode::from_raw_mode(0o700)))
    };
    if make(&aside).is_err() {
        aside.push(format!("-{}", unique()));
        make(&aside)?;
    }
    let to = open(&aside)?;
    for entry in entries {
        let rename = || renameat_with(&from, &entry.name, &to, &entry.name, RenameFlags::NOREPLACE);
        with_write_access(&from, rename)?;
    }
    Ok(aside)
}

fn left(plan: &Plan, at: &Path, name: &OsStr, reason: String) -> GitReport {
    let names = vec![name.to_string_lossy().into_owned()];
    GitReport::Left { directory: shown(plan, at), names, reason }
}

/// Gives a file another name, which nobody looks for.
fn rename(directory: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    for number in 0..=MAX_NUMBER {
        let mut other = name.to_owned();
        other.push(match number {
            0 => format!(".{ASIDE}"),
            // A command may have taken all the numbers.
            MAX_NUMBER => format!(".{ASIDE}-{}", unique()),
            _ => format!(".{ASIDE}-{number}"),
        });
        let rename = || renameat_with(&directory, name, &directory, &other, RenameFlags::NOREPLACE);
        match with_write_access(&directory, rename) {
            Err(Errno::EXIST) => {}
            // This file system cannot, or the other name would be too long. Nobody could have known this one.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NAMETOOLONG) => {
                let other = format!("{ASIDE}-{}", unique());
                return with_write_access(&directory, || {
                    renameat(&directory, name, &directory, &*other)
                });
            }
            Err(Errno::NOENT) => return Ok(()),
            result => return result,
        }
    }
    Err(Errno::EXIST)
}

/// A part of a name that no command could know before.
pub(super) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{}-{now}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Changes something in a directory, also in one that a command has closed to its own user.
pub(super) fn with_write_access<T>(
    directory: impl AsFd,
    act: impl Fn() -> Result<T, Errno>,
) -> Result<T, Errno> {
    match act() {
        Err(Errno::ACCESS) => {}
        result => return result,
    }
    let mode = Mode::from_raw_mode(fstat(&directory)?.st_mode);
    fchmod(&directory, mode | Mode::RWXU)?;
    act()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_in_a_directory_is_set_aside_and_the_directory_stays() {
        let place = tempfile::tempdir().expect("made");
        let git = place.path().join(".git");
        fs::create_dir_all(git.join("refs/heads")).expect("made");
        fs::create_dir(place.path().join(".git.disabled")).expect("made");
        fs::write(git.join("HEAD"), "planted").expect("written");
        let was = identity_at(rustix::fs::CWD, &git);
        let within = Directory::open(place.path()).expect("open");
        let report = content(&Plan::default(), &within, place.path(), ".git".as_ref());
        assert_eq!(identity_at(rustix::fs::CWD, &git), was);
        assert_eq!(fs::read_dir(&git).expect("read").count(), 0);
        // The name was taken.
        let aside = fs::read_dir(place.path()).expect("read").flatten().map(|entry| entry.path());
        let aside: Vec<_> = aside.filter(|path| path.join("HEAD").exists()).collect();
        assert!(matches!(&aside[..], [one] if one.join("refs/heads").is_dir()));
        let told = GitReport::MovedOut { from: git, to: aside[0].clone() };
        assert_eq!(report, told);
    }
}
