//! Opens and reads a target without waiting. See [`try_read_cached`](crate::try_read_cached).

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{OFlags, ResolveFlags};

use super::{OpenTarget, TargetKind, real_path_of};
use crate::cached_read::linux::{MAX_BYTES, is_local, open, regular, regular_open, whole};
use crate::open::{READ, identity};
use crate::root::O_PATH;
use crate::{DirectoryGrant, Resolver, is_binary, path};

pub(super) fn open_target(root: &DirectoryGrant, display_path: &str) -> Option<OpenTarget> {
    path::validate(display_path).ok()?;
    if !Path::new(display_path).is_relative() || path::asks_for_directory(Path::new(display_path)) {
        return None;
    }
    // Without links and mounts on the way, the path is the real path.
    let relative = path::plain(Path::new(display_path))?;
    let (parent, name) = path::split_last(&relative)?;
    let directory = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let root = root.try_open_cached()?;
    let top = identity(&rustix::fs::fstat(root.as_fd()).ok()?);
    let parent = open(root.as_fd(), parent.unwrap_or(Path::new(".")), directory, inside)?;
    // Checked before it is opened: opening a device can act on it, and a FIFO can wait.
    let seen = open(parent.as_fd(), Path::new(name), OFlags::PATH | OFlags::CLOEXEC, inside)?;
    let stat = regular(&seen)?;
    if !is_local(&seen, &stat)? {
        return None;
    }
    let file = open(parent.as_fd(), Path::new(name), READ, inside)?;
    let (file, stat) = regular_open(file).filter(|(_, now)| identity(now) == identity(&stat))?;
    let directory_path = real_path_of(display_path, &parent).ok()??;
    Some(OpenTarget {
        real_path: directory_path.join(name),
        kind: TargetKind::File { bytes: u64::try_from(stat.st_size).ok()? },
        name: OsString::from(name),
        file: Some(File::from(file)),
        ..OpenTarget::of_directory(display_path, parent, directory_path, (top, Resolver::Automatic))
    })
}

pub(super) fn read(file: &File, limit: u64) -> Option<Vec<u8>> {
    let file: OwnedFd = file.try_clone().ok()?.into();
    let bytes = u64::try_from(regular(&file)?.st_size).ok()?;
    let bytes = usize::try_from(bytes).ok().filter(|_| bytes <= limit.min(MAX_BYTES))?;
    let mut buffer = Vec::new();
    whole(&file, bytes, &mut buffer)?;
    buffer.truncate(bytes);
    (!is_binary(&buffer) && std::str::from_utf8(&buffer).is_ok()).then_some(buffer)
}
