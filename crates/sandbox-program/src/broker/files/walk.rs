//! A path step by step, for those that lead through the links of `/proc`.
//!
//! The kernel would resolve `/proc/self` to this process. Here it is the caller. The directories of this process are
//! closed to commands, and so they are here.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{
    FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, fstat, fstatfs, open, openat, openat2,
    readlinkat,
};
use rustix::io::Errno;
use rustix::process::getpid;
use rustix::thread::gettid;

use super::caller::FileCaller;
use crate::errno;

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;
/// The number of the first directory of `/proc`.
const PROC_ROOT: u64 = 1;

const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Opens what `path` leads to from a directory, or from the root.
pub(super) fn walk(
    caller: &FileCaller<'_>,
    from: Option<&OwnedFd>,
    path: &[u8],
    kind: OFlags,
) -> Result<OwnedFd, Errno> {
    let mut at = match from {
        Some(from) => from.try_clone().map_err(|error| errno::of(&error))?,
        None => root()?,
    };
    let mut steps = steps_of(path);
    let needs_directory = kind.contains(OFlags::DIRECTORY) || path.ends_with(b"/");
    let mut links = 0;
    while let Some(step) = steps.pop_front() {
        let name = OsStr::from_bytes(&step);
        if name == ".." {
            at = openat(&at, "..", PLACE | OFlags::DIRECTORY, Mode::empty())?;
            continue;
        }
        let in_proc = fstatfs(&at)?.f_type == PROC_SUPER_MAGIC;
        if in_proc && fstat(&at)?.st_ino == PROC_ROOT {
            if let Some(own) = own_directory(caller, name)? {
                for step in own.into_iter().rev() {
                    steps.push_front(step.into_vec());
                }
                continue;
            }
            check_foreign(name)?;
        }
        let entry = openat(&at, name, PLACE | OFlags::NOFOLLOW, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&entry)?.st_mode) != FileType::Symlink {
            at = entry;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(Errno::LOOP);
        }
        if in_proc {
            let plain = ResolveFlags::NO_MAGICLINKS;
            let plain = openat2(&at, name, PLACE, Mode::empty(), plain);
            if matches!(plain, Err(Errno::LOOP)) {
                at = openat(&at, name, PLACE, Mode::empty())?;
                continue;
            }
        }
        let target = readlinkat(&at, name, Vec::new())?.into_bytes();
        if target.first() == Some(&b'/') {
            at = root()?;
        }
        for step in steps_of(&target).into_iter().rev() {
            steps.push_front(step);
        }
    }
    let is_directory = FileType::from_raw_mode(fstat(&at)?.st_mode).is_dir();
    if needs_directory && !is_directory { Err(Errno::NOTDIR) } else { Ok(at) }
}

fn root() -> Result<OwnedFd, Errno> {
    open("/", PLACE | OFlags::DIRECTORY, Mode::empty())
}

fn steps_of(path: &[u8]) -> VecDeque<Vec<u8>> {
    let steps = path.split(|byte| *byte == b'/').filter(|step| !matches!(step, [] | [b'.']));
    steps.map(<[u8]>::to_vec).collect()
}

/// The names of the caller's own directory, if that is meant.
fn own_directory(caller: &FileCaller<'_>, name: &OsStr) -> Result<Option<Vec<OsString>>, Errno> {
    let process = || caller.identity().map(|identity| identity.process.to_string());
    Ok(match name.as_bytes() {
        b"self" => Some(vec![process()?.into()]),
        b"thread-self" => {
            let thread = caller.thread.to_string();
            Some(vec![process()?.into(), "task".into(), thread.into()])
        }
        _ => None,
    })
}

/// Refuses the directories of this process, which no command may look into.
fn check_foreign(name: &OsStr) -> Result<(), Errno> {
    let own = [getpid(), gettid()].map(|number| number.as_raw_nonzero().get().to_string());
    if own.iter().any(|own| name == own.as_str()) { Err(Errno::ACCESS) } else { Ok(()) }
}
