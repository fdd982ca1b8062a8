//! Modes, owners and times.

#![expect(
    clippy::disallowed_methods,
    reason = "the walk opens each name in the directory before it, with O_NOFOLLOW and O_NONBLOCK"
)]

use std::ffi::OsStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Mode, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use crate::look::Look;
use crate::state::{State, What};
use crate::swap;
use crate::walk::FILE;

pub(super) fn times(mtime: i64) -> Timestamps {
    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let (seconds, rest) = (mtime.div_euclid(1_000_000_000), mtime.rem_euclid(1_000_000_000));
    Timestamps { last_access, last_modification: Timespec { tv_sec: seconds, tv_nsec: rest } }
}

/// Owner, mode and time, in this order: a new owner clears bits of the mode.
pub(super) fn set_attributes(file: impl AsFd, state: &State) -> Result<(), Errno> {
    let look = Look::of(&rustix::fs::fstat(&file)?);
    if (look.uid, look.gid) != (state.uid, state.gid) {
        let owner = (look.uid != state.uid).then(|| Uid::from_raw(state.uid));
        rustix::fs::fchown(&file, owner, Some(Gid::from_raw(state.gid)))?;
    }
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode_bits(state.mode)))?;
    rustix::fs::futimens(&file, &times(state.mtime))
}

#[cfg(target_os = "linux")]
fn mode_bits(mode: u32) -> u32 {
    mode
}

#[cfg(not(target_os = "linux"))]
fn mode_bits(mode: u32) -> rustix::fs::RawMode {
    mode.try_into().unwrap_or(0)
}

pub(super) fn set_link_attributes(
    directory: &impl AsFd,
    name: &OsStr,
    state: &State,
) -> Result<(), Errno> {
    let look = Look::of(&rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?);
    if (look.uid, look.gid) != (state.uid, state.gid) {
        let (uid, gid) = (Uid::from_raw(state.uid), Gid::from_raw(state.gid));
        rustix::fs::chownat(directory, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    rustix::fs::utimensat(directory, name, &times(state.mtime), AtFlags::SYMLINK_NOFOLLOW)
}

/// Changes mode, owner and time of an entry whose content stays. False if it is not what it was.
pub(super) fn set_attributes_if(
    target: swap::Place<'_>,
    old: &State,
    new: &State,
) -> Result<bool, Errno> {
    let swap::Place { directory, name } = target;
    let is_same = |look: &Look| look.state(old.what.clone()) == *old;
    if let What::Link(_) = old.what {
        let look = Look::of(&rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?);
        if look.kind != FileType::Symlink || !is_same(&look) {
            return Ok(false);
        }
        return set_link_attributes(&directory, name, new).map(|()| true);
    }
    let file = match rustix::fs::openat(directory, name, FILE, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::LOOP | Errno::MLINK | Errno::NXIO) => return Ok(false),
        Err(errno) => return Err(errno),
    };
    let look = Look::of(&rustix::fs::fstat(&file)?);
    let has_size = matches!(old.what, What::File { size, .. } if size == look.size);
    if look.kind != FileType::RegularFile || !has_size || !is_same(&look) {
        return Ok(false);
    }
    set_attributes(&file, new).map(|()| true)
}
