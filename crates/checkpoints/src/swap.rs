//! Putting one entry in place of another, so that what somebody else writes meanwhile is never lost.
//!
//! The new entry is prepared under a name of its own and exchanged for the old one in one step. What came
//! out is then compared with what should have come out. No name leads to it any more, so once nobody has
//! it open for writing, its content is final; if it is not the expected one, it goes back.

#![expect(
    clippy::disallowed_methods,
    reason = "the walk opens each name in the directory before it, with O_NOFOLLOW and O_NONBLOCK"
)]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, RenameFlags};
use rustix::io::Errno;

use crate::content::hash_of;
use crate::look::Look;
use crate::state::{State, What};
use crate::walk::FILE;

/// How often to put something back when another program writes all the time.
const MAX_ROUNDS: usize = 1000;

/// `F_SETSIG`, which the library does not name. The number is that of every architecture of Linux.
#[cfg(target_os = "linux")]
const SET_SIGNAL: i32 = 10;

/// What identifies the content of an entry: a kind, and the hash of a file or the text of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Print(pub(crate) Vec<u8>);

impl Print {
    pub(crate) fn of(state: &State) -> Self {
        let tagged = |tag: u8, rest: &[u8]| Self([&[tag], rest].concat());
        match &state.what {
            What::File { hash, .. } => tagged(0, hash),
            What::Link(text) => tagged(1, text),
            What::Directory => tagged(2, &[]),
            What::Ignored | What::Skipped(_) => tagged(3, &[]),
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.0 == [2]
    }

    /// What is at a name; `None` if there is nothing.
    pub(crate) fn at(directory: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Self>, Errno> {
        let look = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Look::of(&stat),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        Ok(Some(match look.kind {
            FileType::RegularFile => {
                let mut file =
                    File::from(rustix::fs::openat(directory, name, FILE, Mode::empty())?);
                let hash = hash_of(&mut file)
                    .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
                Self([&[0], &hash[..]].concat())
            }
            FileType::Symlink => {
                let text = rustix::fs::readlinkat(directory, name, Vec::new())?;
                Self([&[1], text.as_bytes()].concat())
            }
            FileType::Directory => Self(vec![2]),
            _ => Self(vec![4]),
        }))
    }
}

/// An entry in a directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) directory: BorrowedFd<'a>,
    pub(crate) name: &'a OsStr,
}

impl Place<'_> {
    pub(crate) fn print(&self) -> Result<Option<Print>, Errno> {
        Print::at(self.directory, self.name)
    }

    pub(crate) fn unlink(&self) -> Result<(), Errno> {
        match rustix::fs::unlinkat(self.directory, self.name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            done => done,
        }
    }

    fn look(&self) -> Option<Look> {
        let stat = rustix::fs::statat(self.directory, self.name, AtFlags::SYMLINK_NOFOLLOW);
        // Renaming a file gives it a new time of change.
        stat.ok().map(|stat| Look { ctime: 0, ..Look::of(&stat) })
    }

    /// Whether it is as expected, and nobody can change it any more.
    fn is_final(&self, expected: &Print) -> Result<bool, Errno> {
        Ok(!self.has_writers() && self.print()?.as_ref() == Some(expected))
    }

    #[cfg(target_os = "linux")]
    fn has_writers(&self) -> bool {
        use std::os::fd::AsRawFd;
        let Ok(file) = rustix::fs::openat(self.directory, self.name, FILE, Mode::empty()) else {
            return false;
        };
        let file = file.as_raw_fd();
        // The kernel grants a lease for reading only while nobody has the file open for writing. It
        // tells of its end with a signal; the default one would end this process, and this one is ignored
        // unless somebody asks for it.
        // SAFETY: the descriptor is open, and none of these commands takes a pointer.
        unsafe {
            libc::fcntl(file, SET_SIGNAL, libc::SIGURG);
            if libc::fcntl(file, libc::F_SETLEASE, libc::F_RDLCK) == 0 {
                libc::fcntl(file, libc::F_SETLEASE, libc::F_UNLCK);
                return false;
            }
        }
        // Anything else says that the file system knows no leases, or not for this user.
        std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "the Linux version uses it")]
    fn has_writers(&self) -> bool {
        false
    }
}

/// Renames unless the new name is taken: `EXIST`.
pub(crate) fn rename_unless_taken(from: Place<'_>, to: Place<'_>) -> Result<(), Errno> {
    match rename_with(from, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            match rustix::fs::statat(to.directory, to.name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Errno::EXIST),
                Err(Errno::NOENT) => {
                    rustix::fs::renameat(from.directory, from.name, to.directory, to.name)
                }
                Err(errno) => Err(errno),
            }
        }
        done => done,
    }
}

fn exchange(one: Place<'_>, other: Place<'_>) -> Result<(), Errno> {
    rename_with(one, other, RenameFlags::EXCHANGE)
}

#[cfg(target_os = "linux")]
fn rename_with(from: Place<'_>, to: Place<'_>, flags: RenameFlags) -> Result<(), Errno> {
    rustix::fs::renameat_with(from.directory, from.name, to.directory, to.name, flags)
}

#[cfg(not(target_os = "linux"))]
fn rename_with(_from: Place<'_>, _to: Place<'_>, _flags: RenameFlags) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// The names that one step of a restoration uses.
#[derive(Debug)]
pub(crate) struct StepNames {
    /// The new entry, until it is put in place.
    pub(crate) new: OsString,
    /// What is exchanged, or has come out.
    pub(crate) out: OsString,
}

/// Takes an entry away if it is `expected`. False if it is something else, which stays.
pub(crate) fn remove(target: Place<'_>, out: Place<'_>, expected: &Print) -> Result<bool, Errno> {
    match rename_unless_taken(target, out) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(false),
        Err(errno) => return Err(errno),
    }
    if out.is_final(expected)? {
        out.unlink()?;
        return Ok(true);
    }
    match rename_unless_taken(out, target) {
        // What somebody has made in its place is newer.
        Err(Errno::EXIST) => out.unlink()?,
        done => done?,
    }
    Ok(false)
}

/// Gives a new entry its name. False if something is there.
pub(crate) fn create(new: Place<'_>, target: Place<'_>) -> Result<bool, Errno> {
    match rename_unless_taken(new, target) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST | Errno::NOTEMPTY | Errno::ISDIR) => new.unlink().map(|()| false),
        Err(errno) => Err(errno),
    }
}

/// Puts a new entry in place of the `expected` one. False if that is something else, which stays.
pub(crate) fn update(
    new: Place<'_>,
    out: Place<'_>,
    target: Place<'_>,
    expected: &Print,
) -> Result<bool, Errno> {
    rustix::fs::renameat(new.directory, new.name, out.directory, out.name)?;
    match exchange(out, target) {
        Ok(()) => {}
        Err(Errno::NOENT) => return out.unlink().map(|()| false),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            // Others may see a moment without the entry.
            rustix::fs::renameat(out.directory, out.name, new.directory, new.name)?;
            if !remove(target, out, expected)? {
                return new.unlink().map(|()| false);
            }
            return create(new, target);
        }
        Err(errno) => return Err(errno),
    }
    if out.is_final(expected)? {
        out.unlink()?;
        return Ok(true);
    }
    put_back(out, target)?;
    Ok(false)
}

/// Puts back what came out of an exchange by mistake. Whatever others put in place of the new entry
/// meanwhile is newer still, and stays.
pub(crate) fn put_back(out: Place<'_>, target: Place<'_>) -> Result<(), Errno> {
    let mut put = target.look();
    let mut taken = out.look();
    for _ in 0..MAX_ROUNDS {
        match exchange(out, target) {
            Ok(()) => {}
            // Somebody deleted it, or knew how to end this earlier.
            Err(Errno::NOENT) => {
                return match rename_unless_taken(out, target) {
                    Err(Errno::EXIST | Errno::NOENT) => Ok(()),
                    done => done,
                };
            }
            Err(errno) => return Err(errno),
        }
        let found = out.look();
        if found == put && !out.has_writers() {
            return out.unlink();
        }
        put = taken;
        taken = found;
    }
    Ok(())
}

/// The directory as a place's.
pub(crate) fn place<'a>(directory: &'a impl AsFd, name: &'a OsStr) -> Place<'a> {
    Place { directory: directory.as_fd(), name }
}
