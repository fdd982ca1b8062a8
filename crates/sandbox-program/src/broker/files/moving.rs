//! Renaming a directory that lies in the base of a fork.
//!
//! The kernel refuses that with `EXDEV`: the overlay would have to note where the directory came from, in an attribute
//! that only a privileged host may write. So it is done by steps: a new directory gets a second name of each file, comes
//! to its place in one step, and the old one goes. What has a file open keeps it, but all get new numbers, and whoever
//! works in the directory is in one that was removed. A kill on the way leaves both names, and nothing is lost.
//!
//! It is done with the rules and the rights of the caller, who could do each step as well.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, StatxFlags, Timespec, Timestamps, Uid,
    XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fsetxattr, fstat, fstatfs, futimens, linkat,
    mkdirat, openat, renameat_with, statat, statx, unlinkat,
};
use rustix::io::Errno;
use toolwright_fs::temporary_name;

use crate::mounts::names;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);
/// `OVERLAYFS_SUPER_MAGIC`.
const OVERLAY: i64 = 0x794c_7630;
/// Each level holds two descriptors of the worker.
const MAX_DEPTH: usize = 200;
/// How often other processes may put something into a directory that is being emptied.
const TRIES: usize = 16;
/// The most bytes of an attribute, and of the names of all.
const MAX_ATTRIBUTE: usize = 64 << 10;

/// Does what the kernel has refused with `EXDEV`, if it is a directory of a fork that is renamed. `EXDEV` again: it is
/// none, or something in it cannot have a second name.
pub(super) fn move_directory(
    (old_above, old): (BorrowedFd<'_>, &OsStr),
    (new_above, new): (BorrowedFd<'_>, &OsStr),
    flags: u32,
) -> Result<(), Errno> {
    if flags & !libc::RENAME_NOREPLACE != 0 {
        return Err(Errno::XDEV);
    }
    let source = open(old_above, old).map_err(|_| Errno::XDEV)?;
    let mount = mount_of(&source)?;
    let is_overlay = fstatfs(&source)?.f_type == OVERLAY;
    if !is_overlay || mount_of(old_above)? != mount || mount_of(new_above)? != mount {
        return Err(Errno::XDEV);
    }
    if let Ok(there) = open(new_above, new)
        && !names(&there)?.is_empty()
    {
        return Err(Errno::NOTEMPTY);
    }
    let (temporary, copy) = make_temporary(new_above)?;
    let made = link_all(source.as_fd(), copy.as_fd(), mount, MAX_DEPTH).map_err(refusal);
    let flags = RenameFlags::from_bits_retain(flags);
    let placed = made.and_then(|()| renameat_with(new_above, &temporary, new_above, new, flags));
    if let Err(errno) = placed {
        let _ = empty(copy.as_fd(), MAX_DEPTH);
        let _ = unlinkat(new_above, &temporary, AtFlags::REMOVEDIR);
        return Err(errno);
    }
    for _ in 0..TRIES {
        hand_over(source.as_fd(), copy.as_fd(), MAX_DEPTH)?;
        match unlinkat(old_above, old, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) => {}
            result => return result,
        }
    }
    Err(Errno::BUSY)
}

/// The error of a caller whose directory could not be moved. Programs copy at `EXDEV`, which would not help against some.
fn refusal(errno: Errno) -> Errno {
    match errno {
        Errno::NOSPC | Errno::DQUOT | Errno::IO | Errno::NOMEM => errno,
        _ => Errno::XDEV,
    }
}

/// Makes a directory by a name that no change of a fork has.
fn make_temporary(above: impl AsFd) -> Result<(OsString, OwnedFd), Errno> {
    loop {
        let name = temporary_name();
        match mkdirat(above.as_fd(), &name, Mode::RWXU) {
            Ok(()) => {
                let made = open(above, &name)?;
                return Ok((name, made));
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Gives everything in a directory a second name in another one.
fn link_all(
    old: BorrowedFd<'_>,
    new: BorrowedFd<'_>,
    mount: u64,
    depth: usize,
) -> Result<(), Errno> {
    let was = fstat(old)?;
    for name in names(old)? {
        let found = match look(old, &name) {
            // It was removed meanwhile.
            Err(Errno::NOENT) => continue,
            found => found?,
        };
        if !is_directory(&found) {
            match linkat(old, &name, new, &name, AtFlags::empty()) {
                Err(Errno::NOENT) => continue,
                linked => linked?,
            }
            continue;
        }
        let depth = depth.checked_sub(1).ok_or(Errno::XDEV)?;
        let below = open(old, &name)?;
        // What is protected is a mount of its own, and stays where it is.
        if mount_of(&below)? != mount {
            return Err(Errno::XDEV);
        }
        mkdirat(new, &name, Mode::RWXU)?;
        link_all(below.as_fd(), open(new, &name)?.as_fd(), mount, depth)?;
    }
    take_attributes(old, new, &was)
}

/// Makes a directory what another one is, but for what is in it.
fn take_attributes(old: BorrowedFd<'_>, new: BorrowedFd<'_>, was: &Stat) -> Result<(), Errno> {
    let made = fstat(new)?;
    if (made.st_uid, made.st_gid) != (was.st_uid, was.st_gid) {
        fchown(new, Some(Uid::from_raw(was.st_uid)), Some(Gid::from_raw(was.st_gid)))?;
    }
    // Not on the stack: this may become a part of a function that calls itself.
    let mut list = vec![0; MAX_ATTRIBUTE];
    let length = match flistxattr(old, &mut list[..]) {
        Err(Errno::OPNOTSUPP) => return finish(new, was),
        length => length?,
    };
    let is_kept =
        |name: &&[u8]| name.starts_with(b"user.") || name.starts_with(b"system.posix_acl");
    for name in list[..length].split(|byte| *byte == 0).filter(is_kept) {
        let mut value = vec![0; MAX_ATTRIBUTE];
        let length = fgetxattr(old, name, &mut value[..])?;
        fsetxattr(new, name, &value[..length], XattrFlags::empty())?;
    }
    finish(new, was)
}

fn finish(new: BorrowedFd<'_>, was: &Stat) -> Result<(), Errno> {
    fchmod(new, Mode::from_raw_mode(was.st_mode & 0o7777))?;
    let time = |tv_sec, nanoseconds| Timespec {
        tv_sec,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or_default(),
    };
    let last_access = time(was.st_atime, was.st_atime_nsec);
    futimens(
        new,
        &Timestamps { last_access, last_modification: time(was.st_mtime, was.st_mtime_nsec) },
    )
}

/// Empties the old directory. What others have put there meanwhile comes to the new one.
fn hand_over(old: BorrowedFd<'_>, new: BorrowedFd<'_>, depth: usize) -> Result<(), Errno> {
    for name in names(old)? {
        let Ok(there) = look(old, &name) else { continue };
        if !is_directory(&there) {
            ignore_gone(hand_over_file(old, new, &name))?;
            continue;
        }
        let is_copied = look(new, &name).is_ok_and(|here| is_directory(&here));
        ignore_gone(match depth.checked_sub(1) {
            Some(depth) if is_copied => {
                hand_over(open(old, &name)?.as_fd(), open(new, &name)?.as_fd(), depth)?;
                unlinkat(old, &name, AtFlags::REMOVEDIR)
            }
            _ => renameat_with(old, &name, new, &name, RenameFlags::NOREPLACE),
        })?;
    }
    Ok(())
}

fn hand_over_file(old: BorrowedFd<'_>, new: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    for _ in 0..TRIES {
        let there = look(old, name)?;
        if look(new, name).is_ok_and(|here| is_same(&here, &there)) {
            return unlinkat(old, name, AtFlags::empty());
        }
        // Somebody has put another file in its place.
        match renameat_with(old, name, new, name, RenameFlags::empty()) {
            // It is the same file after all, which was written to while it was looked at.
            Err(Errno::STALE) => {}
            renamed => return renamed,
        }
    }
    Err(Errno::BUSY)
}

/// Whether two names are of one file. An overlay has other numbers for each, and what the kernel notes is the file's.
fn is_same(one: &Stat, other: &Stat) -> bool {
    let facts = |it: &Stat| {
        (it.st_ctime, it.st_ctime_nsec, it.st_mtime, it.st_mtime_nsec, it.st_size, it.st_mode)
    };
    facts(one) == facts(other)
}

/// Removes everything in a directory that nobody else knows.
fn empty(directory: BorrowedFd<'_>, depth: usize) -> Result<(), Errno> {
    for name in names(directory)? {
        match unlinkat(directory, &name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => {
                let depth = depth.checked_sub(1).ok_or(Errno::XDEV)?;
                empty(open(directory, &name)?.as_fd(), depth)?;
                unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
            }
            removed => removed?,
        }
    }
    Ok(())
}

/// What is gone already, or has got something new, is looked at again.
fn ignore_gone(result: Result<(), Errno>) -> Result<(), Errno> {
    match result {
        Err(Errno::NOENT | Errno::NOTEMPTY) => Ok(()),
        result => result,
    }
}

fn open(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(directory, name, DIRECTORY, Mode::empty())
}

fn look(directory: BorrowedFd<'_>, name: &OsStr) -> Result<Stat, Errno> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_dir()
}

/// The number of the mount that a descriptor is on.
fn mount_of(of: impl AsFd) -> Result<u64, Errno> {
    let found = statx(of, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    if found.stx_mask & StatxFlags::MNT_ID.bits() == 0 {
        Err(Errno::XDEV)
    } else {
        Ok(found.stx_mnt_id)
    }
}
