//! Opening for a caller, as the kernel would.
//!
//! What a path leads to is found first, by a descriptor that opens nothing, and opened by that. So what is opened is
//! what was looked at. Nothing is waited for: where the caller has to wait, the call is tried again later.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Component;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{
    FileType, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, major, minor, readlinkat,
};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::call::Named;
use super::caller::FileCaller;
use super::git::GitDirectories;
use super::resolve::{Place, is_in_proc, look_up};
use super::strict::path_of_descriptor;
use crate::errno;

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;
/// How often another process may make or remove what is opened.
const TRIES: usize = 64;
/// What matters while a path is looked up, and no longer when its file is known.
const OF_NAMES: i32 = libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
/// The terminal of whoever opens it.
const OWN_TERMINAL: (u32, u32) = (5, 0);

/// The result of an open.
#[derive(Debug)]
pub(super) enum Opened {
    Now(OwnedFd),
    /// A new file, and its place.
    Made(OwnedFd, Place),
    /// The caller has to wait for another process.
    Later(Waiting),
}

/// An open that waits for another process.
#[derive(Debug)]
pub(super) struct Waiting {
    file: OwnedFd,
    flags: i32,
    /// The end of a pipe that is read, until somebody opens the other one.
    reader: Option<OwnedFd>,
}

/// Whether the kernel takes these flags for any file at all. It looks at them before it looks at the path.
pub(super) fn are_valid(flags: i32) -> bool {
    // SAFETY: the text ends with a NUL, and an empty path names nothing.
    let result = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"".as_ptr(), flags, 0) };
    result < 0 && errno::last() != Errno::INVAL
}

/// Opens what a caller names.
pub(super) fn open(
    caller: &FileCaller<'_>,
    named: Named,
    (flags, mode): (i32, u32),
    git: &GitDirectories,
) -> Result<Opened, Errno> {
    let mut named = named;
    for _ in 0..=MAX_LINKS {
        let place = Place::of(caller, named)?;
        match open_at(caller, &place, (flags, mode), git)? {
            Step::Opened(opened) => return Ok(opened),
            Step::Made(new) => return Ok(Opened::Made(new, place)),
            Step::Follow(path) if path.to_bytes().first() == Some(&b'/') => {
                named = Named { base: Ok(None), path };
            }
            Step::Follow(path) => named = Named { base: Ok(place.directory), path },
        }
    }
    Err(Errno::LOOP)
}

/// Sets the length of what a caller names.
pub(super) fn truncate(
    caller: &FileCaller<'_>,
    named: Named,
    length: i64,
    git: &GitDirectories,
) -> Result<(), Errno> {
    let Named { base, path } = named;
    if path.is_empty() {
        return Err(Errno::NOENT);
    }
    let file = look_up(caller, base?.as_deref(), &path, OFlags::empty())?;
    git.check_written(&file)?;
    check_owner(caller, &file)?;
    let path = by_descriptor(&file)?;
    // SAFETY: the path ends with a NUL.
    let result = unsafe { libc::truncate(path.as_ptr(), length) };
    if result == 0 { Ok(()) } else { Err(errno::last()) }
}

enum Step {
    Opened(Opened),
    Made(OwnedFd),
    /// The path that a link contains.
    Follow(CString),
}

fn open_at(
    caller: &FileCaller<'_>,
    place: &Place,
    (flags, mode): (i32, u32),
    git: &GitDirectories,
) -> Result<Step, Errno> {
    let (creates, is_exclusive) = (flags & libc::O_CREAT != 0, flags & libc::O_EXCL != 0);
    if !place.is_plain() {
        // A directory or nothing, whatever the name is: nothing is made, and no directory is written to.
        let opened = open_raw(place.directory(), &place.name, flags | libc::O_NOCTTY, mode)?;
        return Ok(Step::Opened(Opened::Now(opened)));
    }
    for _ in 0..TRIES {
        let there = match place.open(OFlags::empty()) {
            Err(Errno::NOENT) if creates => {
                // Nothing that is there already is opened by this.
                let flags = flags | libc::O_EXCL;
                match git.create(place, || open_raw(place.directory(), &place.name, flags, mode)) {
                    Err(Errno::EXIST) if !is_exclusive => continue,
                    new => return new.map(Step::Made),
                }
            }
            there => there?,
        };
        if creates && is_exclusive {
            return Err(Errno::EXIST);
        }
        let stat = fstat(&there)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            return open_found(caller, there, &stat, flags, git).map(Step::Opened);
        }
        if flags & libc::O_NOFOLLOW != 0 {
            let is_directory = flags & libc::O_DIRECTORY != 0;
            return Err(if is_directory { Errno::NOTDIR } else { Errno::LOOP });
        }
        if place.directory.as_ref().is_some_and(is_in_proc) {
            // It may lead to what has no path.
            let base = place.directory.as_deref();
            let there = look_up(caller, base, &place.name, OFlags::empty())?;
            let stat = fstat(&there)?;
            return open_found(caller, there, &stat, flags, git).map(Step::Opened);
        }
        return readlinkat(&there, c"", Vec::new()).map(Step::Follow);
    }
    Err(Errno::BUSY)
}

/// Opens what a descriptor is of.
fn open_found(
    caller: &FileCaller<'_>,
    there: OwnedFd,
    stat: &Stat,
    flags: i32,
    git: &GitDirectories,
) -> Result<Opened, Errno> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind == FileType::Directory && flags & libc::O_CREAT != 0 {
        return Err(Errno::ISDIR);
    }
    if flags & (libc::O_ACCMODE | libc::O_TRUNC) != 0 {
        git.check_written(&there)?;
    }
    check_owner(caller, &there)?;
    let file = match kind {
        FileType::CharacterDevice if device(stat) == OWN_TERMINAL => terminal(caller)?,
        _ => there,
    };
    Waiting { file, flags: flags & !OF_NAMES, reader: None }.try_open()
}

impl Waiting {
    /// Opens it, if that needs no other process by now.
    pub(super) fn try_open(mut self) -> Result<Opened, Errno> {
        let waits = self.flags & libc::O_NONBLOCK == 0;
        let is_pipe = FileType::from_raw_mode(fstat(&self.file)?.st_mode) == FileType::Fifo;
        if let Some(reader) = self.reader.take() {
            return self.read_end(reader);
        }
        let path = by_descriptor(&self.file)?;
        // A terminal would become that of this process otherwise.
        let flags = self.flags | libc::O_NONBLOCK | libc::O_NOCTTY;
        match open_raw(libc::AT_FDCWD, &path, flags, 0) {
            Err(Errno::NXIO) if waits && is_pipe => Ok(Opened::Later(self)),
            Err(Errno::WOULDBLOCK) if waits => Ok(Opened::Later(self)),
            Ok(opened) if waits && is_pipe && self.flags & libc::O_ACCMODE == libc::O_RDONLY => {
                self.read_end(opened)
            }
            Ok(opened) if waits => {
                let flags = fcntl_getfl(&opened)?;
                fcntl_setfl(&opened, flags - OFlags::NONBLOCK)?;
                Ok(Opened::Now(opened))
            }
            result => result.map(Opened::Now),
        }
    }

    /// The kernel lets a reader go on as soon as there is a writer.
    fn read_end(mut self, reader: OwnedFd) -> Result<Opened, Errno> {
        if !has_writer(&reader)? {
            self.reader = Some(reader);
            return Ok(Opened::Later(self));
        }
        let flags = fcntl_getfl(&reader)?;
        fcntl_setfl(&reader, flags - OFlags::NONBLOCK)?;
        Ok(Opened::Now(reader))
    }
}

/// Whether a pipe has or had a writer. Nothing is taken out of it.
fn has_writer(reader: &OwnedFd) -> Result<bool, Errno> {
    let polled = &mut [PollFd::new(reader, PollFlags::IN)];
    poll(polled, Some(&Timespec::default()))?;
    // It has something to read, or one has come and gone.
    if !polled[0].revents().is_empty() {
        return Ok(true);
    }
    let (_other, copy) = pipe_with(PipeFlags::CLOEXEC)?;
    let (from, to) = (reader.as_raw_fd(), copy.as_raw_fd());
    // SAFETY: no memory is involved.
    match unsafe { libc::tee(from, to, 1, libc::SPLICE_F_NONBLOCK) } {
        0 => Ok(false),
        1.. => Ok(true),
        _ => match errno::last() {
            Errno::AGAIN => Ok(true),
            errno => Err(errno),
        },
    }
}

/// Refuses the files of other processes in `/proc`: the kernel would ask whether this process may look into them, and
/// not whether the caller may.
fn check_owner(caller: &FileCaller<'_>, file: &OwnedFd) -> Result<(), Errno> {
    if !is_in_proc(file) {
        return Ok(());
    }
    let path = path_of_descriptor(file)?;
    let below = path.strip_prefix("/proc").map_err(|_| Errno::ACCESS)?;
    let first = match below.components().next() {
        Some(Component::Normal(first)) => first.as_bytes(),
        _ => return Ok(()),
    };
    let is_process = first.iter().all(u8::is_ascii_digit);
    if is_process && first != caller.identity()?.process.to_string().as_bytes() {
        return Err(Errno::ACCESS);
    }
    Ok(())
}

/// The terminal of the caller.
fn terminal(caller: &FileCaller<'_>) -> Result<OwnedFd, Errno> {
    let number = caller.terminal()?.ok_or(Errno::NXIO)?;
    let path = CString::new(format!("/dev/pts/{}", minor(number))).map_err(|_| Errno::NXIO)?;
    let found = look_up(caller, None, &path, OFlags::empty()).map_err(|_| Errno::NXIO)?;
    let stat = fstat(&found)?;
    let is_terminal = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    if is_terminal && stat.st_rdev == number { Ok(found) } else { Err(Errno::NXIO) }
}

fn device(stat: &Stat) -> (u32, u32) {
    (major(stat.st_rdev), minor(stat.st_rdev))
}

fn by_descriptor(file: &OwnedFd) -> Result<CString, Errno> {
    CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|_| Errno::INVAL)
}

fn open_raw(directory: RawFd, path: &CString, flags: i32, mode: u32) -> Result<OwnedFd, Errno> {
    let flags = flags | libc::O_CLOEXEC;
    // SAFETY: the path ends with a NUL.
    let opened = unsafe { libc::syscall(libc::SYS_openat, directory, path.as_ptr(), flags, mode) };
    match i32::try_from(opened) {
        // SAFETY: the kernel has just opened it for this process.
        Ok(opened @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(opened) }),
        _ => Err(errno::last()),
    }
}
