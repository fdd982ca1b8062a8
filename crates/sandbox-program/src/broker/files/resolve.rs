//! From the paths of callers to directories and names in them.
//!
//! A path is looked up once, and by descriptors from then on. What is looked up here is not what the caller would
//! find where a path leads through `/proc/self` or `/proc/thread-self`: those are walked step by step.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;

use rustix::fs::{CWD, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, fstatfs, openat, openat2};
use rustix::io::Errno;
use toolwright_git::name::is_git_directory_name;

use super::call::Named;
use super::caller::FileCaller;
use super::walk::walk;

const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A name in a directory, as the kernel takes both.
#[derive(Debug)]
pub(super) struct Place {
    /// `None`: the name needs none.
    pub(super) directory: Option<Rc<OwnedFd>>,
    /// With the slashes at its end.
    pub(super) name: CString,
}

impl Place {
    /// The place that a path of a caller means.
    pub(super) fn of(caller: &FileCaller<'_>, named: Named) -> Result<Self, Errno> {
        let Named { base, path } = named;
        let bytes = path.to_bytes();
        if bytes.is_empty() {
            return Err(Errno::NOENT);
        }
        let Some(end) = bytes.iter().rposition(|byte| *byte != b'/') else {
            return Ok(Self { directory: None, name: path });
        };
        let base = base?;
        let start = bytes[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let (above, name) = bytes.split_at(start);
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
        let directory = if above.is_empty() {
            base.ok_or(Errno::BADF)?
        } else {
            // As the kernel, which asks for the right to search the directory before it looks at another path.
            let above = CString::new([above, b"."].concat()).map_err(|_| Errno::INVAL)?;
            Rc::new(look_up(caller, base.as_deref(), &above, OFlags::DIRECTORY)?)
        };
        Ok(Self { directory: Some(directory), name })
    }

    pub(super) fn directory(&self) -> RawFd {
        self.directory.as_ref().map_or(libc::AT_FDCWD, AsRawFd::as_raw_fd)
    }

    /// The directory that the name is in.
    pub(super) fn above(&self) -> Result<Rc<OwnedFd>, Errno> {
        self.directory.clone().ok_or(Errno::ISDIR)
    }

    /// Whether the name can be that of anything but a directory.
    pub(super) fn is_plain(&self) -> bool {
        let name = self.name.to_bytes();
        self.directory.is_some() && !name.ends_with(b"/") && name != b"." && name != b".."
    }

    /// Opens what is here, a link itself.
    pub(super) fn open(&self, kind: OFlags) -> Result<OwnedFd, Errno> {
        let directory = self.directory.as_ref().map_or(CWD, AsFd::as_fd);
        openat(directory, &self.name, PLACE | OFlags::NOFOLLOW | kind, Mode::empty())
    }

    /// The name without slashes.
    pub(super) fn plain_name(&self) -> &[u8] {
        let name = self.name.to_bytes();
        let end = name.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
        &name[..end]
    }

    /// Whether git would take what is here for a git directory.
    pub(super) fn is_git_directory(&self) -> bool {
        is_git_directory_name(self.plain_name())
    }
}

/// Opens what a path leads to, through links.
pub(super) fn look_up(
    caller: &FileCaller<'_>,
    base: Option<&OwnedFd>,
    path: &CStr,
    kind: OFlags,
) -> Result<OwnedFd, Errno> {
    let from = base.map_or(CWD, AsFd::as_fd);
    match openat2(from, path, PLACE | kind, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
        Err(Errno::LOOP) => walk(caller, base, path.to_bytes(), kind),
        // The kernel has taken `self` for this process.
        Ok(opened) if is_in_proc(&opened) => walk(caller, base, path.to_bytes(), kind),
        opened => opened,
    }
}

/// Whether a descriptor is of something in `/proc`. What cannot be asked counts as that.
pub(super) fn is_in_proc(of: impl AsFd) -> bool {
    fstatfs(of).map_or(true, |stat| stat.f_type == PROC_SUPER_MAGIC)
}
