//! The calls on names that wait for the broker, with all that was in the caller's memory.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::rc::Rc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::caller::FileCaller;
use crate::broker::listener::Notification;
use crate::filter::{Architecture, calls};

/// A path, and the directory that it begins in if it is relative.
#[derive(Debug)]
pub(super) struct Named {
    /// An error is that of the call, when it comes to this path.
    pub(super) base: Result<Option<Rc<OwnedFd>>, Errno>,
    pub(super) path: CString,
}

impl Named {
    /// `opened` is the directory of the descriptor, if that was opened already.
    pub(super) fn read(
        caller: &FileCaller<'_>,
        base: RawFd,
        address: u64,
        opened: Option<Rc<OwnedFd>>,
    ) -> Self {
        let path = match caller.text(address) {
            Ok(path) => path,
            Err(errno) => return Self { base: Err(errno), path: c".".to_owned() },
        };
        let base = match path.to_bytes().first() {
            Some(b'/') => Ok(None),
            Some(_) => match opened {
                Some(opened) => Ok(Some(opened)),
                None => caller.directory(base, OFlags::DIRECTORY).map(Rc::new).map(Some),
            },
            // The descriptor itself is meant, if anything is.
            None => caller.directory(base, OFlags::empty()).map(Rc::new).map(Some),
        };
        Self { base, path }
    }
}

/// Two paths. Where both begin in one directory, it is opened once.
fn pair(caller: &FileCaller<'_>, from: (RawFd, u64), to: (RawFd, u64)) -> (Named, Named) {
    let first = Named::read(caller, from.0, from.1, None);
    let opened = first.base.as_ref().ok().and_then(Option::as_ref);
    // What an empty path means need not be a directory.
    let opened = opened.filter(|_| from.0 == to.0 && !first.path.is_empty()).cloned();
    let second = Named::read(caller, to.0, to.1, opened);
    (first, second)
}

/// A call. Numbers are as the caller passed them.
#[derive(Debug)]
pub(super) enum FileCall {
    MakeDirectory(Named, u32),
    /// Mode and device.
    MakeNode(Named, u32, u32),
    RemoveDirectory(Named),
    /// From, to, and the flags of `renameat2`.
    Rename(Named, Named, u32),
    /// From, to, and the flags of `linkat`.
    Link(Named, Named, i32),
    /// What it contains, and its name.
    MakeLink(CString, Named),
    /// Flags and mode of `openat`.
    Open(Named, i32, u32),
    /// The new length.
    Truncate(Named, i64),
}

/// The calls, by what they do and where their arguments are.
#[derive(Debug, Clone, Copy)]
enum Kind {
    MakeDirectory,
    MakeNode,
    RemoveDirectory,
    Rename,
    Link,
    MakeLink,
    Open,
    Truncate,
}

const RENAME_FLAGS: u32 = libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE | libc::RENAME_WHITEOUT;

/// The flags that `creat` stands for.
const CREATES: i32 = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;

/// Whether a call has descriptors beside its paths.
const AT: bool = true;
const PLAIN: bool = false;

const CALLS: [(calls::Call, Kind, bool); 17] = [
    (calls::MKDIR, Kind::MakeDirectory, PLAIN),
    (calls::MKDIRAT, Kind::MakeDirectory, AT),
    (calls::MKNOD, Kind::MakeNode, PLAIN),
    (calls::MKNODAT, Kind::MakeNode, AT),
    (calls::RMDIR, Kind::RemoveDirectory, PLAIN),
    (calls::UNLINKAT, Kind::RemoveDirectory, AT),
    (calls::RENAME, Kind::Rename, PLAIN),
    (calls::RENAMEAT, Kind::Rename, AT),
    (calls::RENAMEAT2, Kind::Rename, AT),
    (calls::LINK, Kind::Link, PLAIN),
    (calls::LINKAT, Kind::Link, AT),
    (calls::SYMLINK, Kind::MakeLink, PLAIN),
    (calls::SYMLINKAT, Kind::MakeLink, AT),
    (calls::OPEN, Kind::Open, PLAIN),
    (calls::OPENAT, Kind::Open, AT),
    (calls::CREAT, Kind::Open, PLAIN),
    (calls::TRUNCATE, Kind::Truncate, PLAIN),
];

/// The calls that wait in every plan, but for `unlinkat`, which waits only when it removes a directory.
pub(super) fn waiting() -> impl Iterator<Item = calls::Call> {
    let always = CALLS.iter().filter(|(_, kind, _)| !matches!(kind, Kind::Open | Kind::Truncate));
    always.map(|(call, ..)| *call).filter(|call| *call != calls::UNLINKAT)
}

/// The calls that give something another name.
pub(super) const RENAMES: [calls::Call; 3] = [calls::RENAME, calls::RENAMEAT, calls::RENAMEAT2];

/// Whether a notification is of a call on names.
pub(in crate::broker) fn is_file_call(notification: &Notification) -> bool {
    kind(notification).is_some()
}

/// Whether it is one that makes a device.
pub(super) fn makes_device(notification: &Notification) -> bool {
    let is = |call: calls::Call| call.number(Architecture::OURS) == Some(notification.number);
    let mode = calls::NODES.iter().find(|(call, _)| is(*call)).map(|&(_, argument)| {
        notification.args.get(argument as usize).copied().map_or(0, word) & libc::S_IFMT
    });
    matches!(mode, Some(libc::S_IFCHR | libc::S_IFBLK))
}

/// What a thread may change of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Mask,
    Rights,
}

/// What a notification changes if it is of a call that does, which the kernel makes.
pub(super) fn changes(notification: &Notification) -> Option<Change> {
    let is = |call: &calls::Call| call.number(Architecture::OURS) == Some(notification.number);
    if is(&calls::UMASK) {
        return Some(Change::Mask);
    }
    calls::RIGHTS.iter().any(is).then_some(Change::Rights)
}

fn kind(notification: &Notification) -> Option<(calls::Call, Kind, bool)> {
    let is = |call: calls::Call| call.number(Architecture::OURS) == Some(notification.number);
    CALLS.into_iter().find(|(call, ..)| is(*call))
}

impl FileCall {
    /// Whether what it makes depends on the caller's mask.
    pub(super) fn has_mode(&self) -> bool {
        match self {
            Self::MakeDirectory(..) | Self::MakeNode(..) => true,
            Self::Open(_, flags, _) => flags & libc::O_CREAT != 0,
            _ => false,
        }
    }

    /// Whether the kernel would refuse to make what is there already. Other calls have other reasons too.
    pub(super) fn makes_what_is_there(&self) -> bool {
        let Self::MakeDirectory(Named { base: Ok(base), path }, _) = self else { return false };
        let from = base.as_deref().map_or(CWD, AsFd::as_fd);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat2(from, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS).is_ok()
    }

    /// Reads what a notification is about.
    pub(super) fn read(
        notification: &Notification,
        caller: &FileCaller<'_>,
    ) -> Result<Self, Errno> {
        let (call, kind, has_descriptors) = kind(notification).ok_or(Errno::NOSYS)?;
        check_flags(call, &notification.args)?;
        let mut arguments = notification.args.into_iter();
        let mut next = || arguments.next().unwrap_or_default();
        let place = |next: &mut dyn FnMut() -> u64| -> (RawFd, u64) {
            let base = if has_descriptors { int(next()) } else { libc::AT_FDCWD };
            (base, next())
        };
        let named = |next: &mut dyn FnMut() -> u64| -> Named {
            let (base, address) = place(next);
            Named::read(caller, base, address, None)
        };
        Ok(match kind {
            Kind::MakeDirectory => Self::MakeDirectory(named(&mut next), word(next())),
            Kind::MakeNode => Self::MakeNode(named(&mut next), word(next()), word(next())),
            Kind::RemoveDirectory => Self::RemoveDirectory(named(&mut next)),
            Kind::Rename => {
                let (from, to) = pair(caller, place(&mut next), place(&mut next));
                let flags = if call == calls::RENAMEAT2 { word(next()) } else { 0 };
                Self::Rename(from, to, flags)
            }
            Kind::Link => {
                let (from, to) = pair(caller, place(&mut next), place(&mut next));
                let flags = if call == calls::LINKAT { int(next()) } else { 0 };
                Self::Link(from, to, flags)
            }
            Kind::MakeLink => {
                let content = caller.text(next())?;
                Self::MakeLink(content, named(&mut next))
            }
            Kind::Open => {
                let named = named(&mut next);
                let flags = if call == calls::CREAT { CREATES } else { int(next()) };
                Self::Open(named, flags, word(next()))
            }
            Kind::Truncate => Self::Truncate(named(&mut next), next().cast_signed()),
        })
    }
}

/// Refuses flags and kinds that the kernel refuses before it looks at the paths.
fn check_flags(call: calls::Call, arguments: &[u64; 6]) -> Result<(), Errno> {
    let mode = if call == calls::MKNOD { arguments[1] } else { arguments[2] };
    let are_known = if call == calls::MKNOD || call == calls::MKNODAT {
        match word(mode) & libc::S_IFMT {
            libc::S_IFDIR => return Err(Errno::PERM),
            0 | libc::S_IFREG | libc::S_IFCHR | libc::S_IFBLK | libc::S_IFIFO | libc::S_IFSOCK => {
                true
            }
            _ => false,
        }
    } else if call == calls::UNLINKAT {
        int(arguments[2]) & !libc::AT_REMOVEDIR == 0
    } else if call == calls::RENAMEAT2 {
        let flags = word(arguments[4]);
        let keeps = flags & (libc::RENAME_NOREPLACE | libc::RENAME_WHITEOUT) != 0;
        flags & !RENAME_FLAGS == 0 && !(keeps && flags & libc::RENAME_EXCHANGE != 0)
    } else if call == calls::LINKAT {
        int(arguments[4]) & !(libc::AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH) == 0
    } else if call == calls::OPEN || call == calls::OPENAT {
        let flags = if call == calls::OPEN { arguments[1] } else { arguments[2] };
        super::open::are_valid(int(flags))
    } else if call == calls::TRUNCATE {
        arguments[1].cast_signed() >= 0
    } else {
        true
    };
    if are_known { Ok(()) } else { Err(Errno::INVAL) }
}

/// As the kernel takes an `int`.
#[expect(clippy::cast_possible_truncation, reason = "the kernel truncates")]
pub(super) fn int(argument: u64) -> i32 {
    argument as i32
}

#[expect(clippy::cast_possible_truncation, reason = "the kernel truncates")]
pub(super) fn word(argument: u64) -> u32 {
    argument as u32
}
