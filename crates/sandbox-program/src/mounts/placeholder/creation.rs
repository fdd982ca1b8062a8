//! Making placeholders, so that each appears complete.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps, mkdirat, openat,
    renameat_with, statat, unlinkat, utimensat,
};
use rustix::io::{Errno, write};
use rustix::process::{geteuid, getpid};

use super::{ITSELF, MARK, NO_FOLLOW, NO_LINE, removal, with_write_access};

/// How the name begins under which one is made: this, the maker's number and the time.
const HIDDEN: &str = ".toolwright-";

/// The file that leads git to the shared part of a repository. An empty one damages the repository,
/// and one that contains `.` leads to its own directory, as if there were none.
const COMMON: &[u8] = b"commondir";

/// How long one may have that name, far longer than it takes to make it.
const MAKING: Duration = Duration::from_secs(2);

/// Names of files without a dot after the first letter.
const FILES: [&[u8]; 9] = [
    COMMON,
    b".npmrc",
    b"config",
    b".env",
    b".gitmodules",
    b".gitconfig",
    b".gitattributes",
    b".profile",
    b"Makefile",
];

/// Makes a placeholder in the directory `parent`, which appears marked and complete. `false` means
/// that nothing can be made there, so no command can either.
pub(in crate::mounts) fn make(parent: &OwnedFd, name: &OsStr, last: bool) -> Result<bool, Errno> {
    let kind = if last && is_file_name(name) { Kind::File(content_of(name)) } else { Kind::Empty };
    let made = with_write_access(parent, || publish(parent, name, kind));
    match made {
        Ok(()) | Err(Errno::EXIST) => Ok(true),
        Err(Errno::ROFS | Errno::PERM | Errno::ACCESS) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// What one is.
#[derive(Debug, Clone, Copy)]
enum Kind {
    File(&'static [u8]),
    Empty,
}
fn publish(parent: &OwnedFd, name: &OsStr, kind: Kind) -> Result<(), Errno> {
    sweep(parent);
    let hidden = hidden_name();
    create(parent, OsStr::new(&hidden), kind)?;
    let renamed = renameat_with(parent, hidden.as_str(), parent, name, RenameFlags::NOREPLACE);
    if renamed.is_ok() {
        return Ok(());
    }
    unlinkat(parent, hidden.as_str(), removal(matches!(kind, Kind::File(_))))?;
    match renamed {
        // The file system cannot. Then another supervisor may see it before it is marked, take it
        // for the user's, and so leave it for ever; that is all.
        Err(Errno::INVAL | Errno::NOSYS) => create(parent, name, kind),
        renamed => renamed,
    }
}

/// A name under which nobody takes one for anything.
fn hidden_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{HIDDEN}{}-{}", getpid().as_raw_nonzero(), now.as_nanos())
}

/// Removes what a killed supervisor has left before it had its final name. If that supervisor is
/// alive after all, it finds nothing to rename and makes another. Errors are ignored.
fn sweep(parent: &OwnedFd) {
    let opened = openat(parent, c".", NO_FOLLOW | OFlags::DIRECTORY, Mode::empty());
    let Ok(entries) = opened.and_then(Dir::new) else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !is_hidden_name(name.to_bytes()) {
            continue;
        }
        let Ok(stat) = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let made = Duration::from_secs(stat.st_ctime.try_into().unwrap_or_default());
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_ours = stat.st_uid == geteuid().as_raw()
            && (kind.is_dir() || kind.is_file() && stat.st_size <= 1);
        if is_ours && now.saturating_sub(made) > MAKING {
            // A directory with something in it stays.
            let _ = unlinkat(parent, name, removal(kind.is_file()));
        }
    }
}

fn is_hidden_name(name: &[u8]) -> bool {
    let numbers = name.strip_prefix(HIDDEN.as_bytes()).unwrap_or_default();
    let mut numbers = numbers.split(|byte| *byte == b'-');
    let mut is_number = || {
        numbers.next().is_some_and(|text| !text.is_empty() && text.iter().all(u8::is_ascii_digit))
    };
    is_number() && is_number() && numbers.next().is_none()
}

/// A directory, or a file with this content.
fn create(parent: &OwnedFd, name: &OsStr, kind: Kind) -> Result<(), Errno> {
    if let Kind::File(content) = kind {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = openat(parent, name, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o644))?;
        if !content.is_empty() && write(&file, content)? != content.len() {
            return Err(Errno::NOSPC);
        }
    } else {
        mkdirat(parent, name, Mode::from_raw_mode(0o755))?;
    }
    let mark = Timespec { tv_sec: MARK, tv_nsec: 0 };
    let times = Timestamps { last_access: mark, last_modification: mark };
    // If the maker is not the owner, as root on a network file system, the placeholder stays
    // without a mark. It protects as well, but no supervisor removes it.
    let _ = utimensat(parent, name, &times, AtFlags::SYMLINK_NOFOLLOW);
    Ok(())
}

fn content_of(name: &OsStr) -> &'static [u8] {
    match name.as_bytes() {
        COMMON => ITSELF,
        // Only git reads it, and not even git unless the repository says so.
        b"config.worktree" => NO_LINE,
        _ => b"",
    }
}

/// Whether a missing name is more likely that of a file. Programs on the host meet the placeholder:
/// an empty configuration file does them no harm, a directory in its place does.
fn is_file_name(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let rest = name.get(1..).unwrap_or_default();
    rest.contains(&b'.') || name.ends_with(b"rc") || FILES.contains(&name)
}
