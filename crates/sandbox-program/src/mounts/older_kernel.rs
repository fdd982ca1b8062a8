//! Attributes of mounts without `mount_setattr`, which came with Linux 5.12.
//!
//! `mount(2)` changes one mount at a time, and none that is attached nowhere. So a copied tree is attached for
//! a moment, each of its mounts is changed, and a copy of that is taken, which has the same attributes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount_change, mount_remount, unmount,
};

use super::kernel::{self, Attributes};
use crate::errno;

/// Where a tree is attached for a moment: over what is a directory as it is, or none as it is. Nothing leads
/// there: a path of this process begins below what lies on its root.
const STAGES: [&str; 2] = ["/dev/null", "/"];

/// The tree, every mount of which has the attributes too.
pub(super) fn restricted(tree: &OwnedFd, attributes: Attributes) -> Result<OwnedFd, Errno> {
    let stage = STAGES[usize::from(kernel::is_directory(tree)?)];
    kernel::attach(tree, kernel::open_followed(Path::new(stage))?)?;
    let copy = restrict(tree.as_fd(), attributes).and_then(|()| kernel::copy(tree));
    let removed = unmount(of_descriptor(tree.as_fd()), UnmountFlags::DETACH);
    copy.and_then(|copy| removed.map(|()| copy))
}

/// As [`restrict`], for the mount at `path`.
pub(super) fn restrict_at(path: &Path, attributes: Attributes) -> Result<(), Errno> {
    restrict(kernel::open_followed(path)?.as_fd(), attributes)
}

pub(super) fn make_private(tree: impl AsFd) -> Result<(), Errno> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change(of_descriptor(tree.as_fd()), flags)
}

/// Forbids more to an attached mount and all below it that can be reached.
pub(super) fn restrict(top: BorrowedFd<'_>, attributes: Attributes) -> Result<(), Errno> {
    let table = Table::read()?;
    let id = mount_of(top)?;
    let mount = table.mounts.get(&id).ok_or(Errno::INVAL)?;
    // As `mount_setattr`, which takes the root of a mount only.
    if !kernel::is_mount_point(top) {
        return Err(Errno::INVAL);
    }
    table.restrict(top, mount, id, attributes)
}

/// A line of the kernel's table of mounts.
struct Mount {
    parent: u64,
    /// From the root of this process.
    place: PathBuf,
    flags: MountFlags,
}

struct Table {
    mounts: HashMap<u64, Mount>,
}

impl Table {
    fn read() -> Result<Self, Errno> {
        let text = fs::read("/proc/self/mountinfo").map_err(|error| errno::of(&error))?;
        let mounts = text.split(|byte| *byte == b'\n').filter_map(read_line).collect();
        Ok(Self { mounts })
    }

    fn restrict(
        &self,
        place: BorrowedFd<'_>,
        mount: &Mount,
        id: u64,
        attributes: Attributes,
    ) -> Result<(), Errno> {
        mount_remount(
            of_descriptor(place),
            MountFlags::BIND | mount.flags | attributes.flags(),
            c"",
        )?;
        for below in self.mounts.values().filter(|below| below.parent == id) {
            let relative = below.place.strip_prefix(&mount.place).map_err(|_| Errno::INVAL)?;
            // A mount on the root of another one hides it, but not from `/..`.
            if relative.as_os_str().is_empty() {
                return Err(Errno::BUSY);
            }
            // Of several mounts at one place, the last is the one that is seen. Where another mount lies
            // above the place, nobody reaches it.
            let entry = match open_below(place, relative) {
                Ok(entry) => entry,
                Err(Errno::NOENT | Errno::NOTDIR) => continue,
                Err(errno) => return Err(errno),
            };
            let seen = mount_of(entry.as_fd())?;
            if let Some(mount) = self.mounts.get(&seen).filter(|mount| mount.place == below.place) {
                self.restrict(entry.as_fd(), mount, seen, attributes)?;
            }
        }
        Ok(())
    }
}

/// Opens a path below `top` as it is seen through the mounts.
fn open_below(top: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(top, relative, flags, Mode::empty())
}

fn of_descriptor(fd: BorrowedFd<'_>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

/// The number of the mount on which a descriptor is.
fn mount_of(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    let path = format!("/proc/self/fdinfo/{}", fd.as_raw_fd());
    let text = fs::read_to_string(path).map_err(|error| errno::of(&error))?;
    let number = text.lines().find_map(|line| line.strip_prefix("mnt_id:"));
    number.and_then(|number| number.trim().parse().ok()).ok_or(Errno::INVAL)
}

/// `36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw`
fn read_line(line: &[u8]) -> Option<(u64, Mount)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
    let (id, parent) = (number()?, number()?);
    let place = PathBuf::from(unescaped(fields.nth(2)?));
    let options = fields.next()?.split(|byte| *byte == b',');
    let flags = options.fold(MountFlags::empty(), |flags, option| flags | flag(option));
    Some((id, Mount { parent, place, flags }))
}

/// What a change has to name again, since it would be taken away otherwise.
fn flag(option: &[u8]) -> MountFlags {
    match option {
        b"ro" => MountFlags::RDONLY,
        b"nosuid" => MountFlags::NOSUID,
        b"nodev" => MountFlags::NODEV,
        b"noexec" => MountFlags::NOEXEC,
        b"noatime" => MountFlags::NOATIME,
        b"nodiratime" => MountFlags::NODIRATIME,
        b"relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    }
}

/// A path in the table, where spaces and the like are three octal digits.
fn unescaped(text: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            bytes.push(byte);
            rest = &after[3..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use rustix::fs::CWD;

    use super::*;

    #[test]
    fn lines_of_the_table_are_read() {
        let line =
            br"36 35 98:0 /mnt1 /mnt\0402/a\134b ro,nosuid,noatime master:1 - ext3 /dev/root rw";
        let (id, mount) = read_line(line).expect("a line");
        assert_eq!((id, mount.parent), (36, 35));
        assert_eq!(mount.place, Path::new(r"/mnt 2/a\b"));
        assert_eq!(mount.flags, MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOATIME);
        assert!(read_line(b"").is_none() && read_line(b"1 x").is_none());
    }

    #[test]
    fn every_mount_of_this_process_is_in_the_table() {
        let table = Table::read().expect("the table");
        let root = kernel::open_followed(Path::new("/")).expect("the root");
        let id = mount_of(root.as_fd()).expect("a number");
        assert!(table.mounts.contains_key(&id));
        assert_eq!(unescaped(b"plain"), OsStr::new("plain"));
        assert!(open_below(CWD, Path::new(".")).is_ok());
    }
}
