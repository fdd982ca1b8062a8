//! Making, changing, replacing and reading files that are somewhere else.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs as unix_fs;

use crate::arguments::Arguments;
use crate::outcome::{Attack, Named, Outcome, Refused, check, system_call};

pub(crate) const ATTACKS: &[Attack] = &[
    ("create", create),
    ("create-at", create_at),
    ("append", append),
    ("overwrite", overwrite),
    ("truncate", truncate),
    ("truncate-open", truncate_open),
    ("map-write", map_write),
    ("rename", rename),
    ("exchange", exchange),
    ("link", link),
    ("link-write", link_write),
    ("unlink", unlink),
    ("rmdir", rmdir),
    ("mkdir", mkdir),
    ("symlink", symlink),
    ("mkfifo", mkfifo),
    ("mksock", mksock),
    ("unnamed-link", unnamed_link),
    ("climb-create", climb_create),
    ("punch-hole", punch_hole),
    ("read", read),
    ("read-mapped", read_mapped),
    ("list", list),
    ("lease", lease),
];

fn create(arguments: &Arguments) -> Outcome {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(arguments.text(0)?)
        .named("open")?;
    file.write_all(arguments.text(1)?.as_bytes()).named("write")?;
    Ok(String::new())
}

/// By a descriptor of the directory, which any process may have.
fn create_at(arguments: &Arguments) -> Outcome {
    let (directory, name) = (arguments.path(0)?, arguments.path(1)?);
    let token = arguments.text(2)?;
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let at = system_call!("open", libc::SYS_openat, libc::AT_FDCWD, directory.as_ptr(), flags, 0)?;
    let flags = libc::O_CREAT | libc::O_WRONLY;
    let fd = system_call!("openat", libc::SYS_openat, at, name.as_ptr(), flags, 0o644)?;
    system_call!("write", libc::SYS_write, fd, token.as_ptr(), token.len())?;
    Ok(String::new())
}

fn append(arguments: &Arguments) -> Outcome {
    let mut file = OpenOptions::new().append(true).open(arguments.text(0)?).named("open")?;
    file.write_all(arguments.text(1)?.as_bytes()).named("write")?;
    Ok(String::new())
}

fn overwrite(arguments: &Arguments) -> Outcome {
    let mut file =
        OpenOptions::new().read(true).write(true).open(arguments.text(0)?).named("open")?;
    file.write_all(arguments.text(1)?.as_bytes()).named("write")?;
    Ok(String::new())
}

fn truncate(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    system_call!("truncate", libc::SYS_truncate, path.as_ptr(), 0)?;
    Ok(String::new())
}

/// `O_TRUNC` changes a file that is opened for reading alone.
fn truncate_open(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    let flags = libc::O_RDONLY | libc::O_TRUNC;
    system_call!("open", libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0)?;
    Ok(String::new())
}

fn map(file: &File, protection: i32) -> Result<*mut u8, Refused> {
    use std::os::fd::AsRawFd;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let place = unsafe {
        libc::mmap(std::ptr::null_mut(), 4096, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    check("mmap", if place == libc::MAP_FAILED { -1 } else { 0 })?;
    Ok(place.cast())
}

fn map_write(arguments: &Arguments) -> Outcome {
    let token = arguments.text(1)?;
    let file = OpenOptions::new().read(true).write(true).open(arguments.text(0)?).named("open")?;
    let place = map(&file, libc::PROT_READ | libc::PROT_WRITE)?;
    // SAFETY: the page is writable, and the file is as long as the token at least.
    unsafe { place.copy_from_nonoverlapping(token.as_ptr(), token.len()) };
    Ok(String::new())
}

fn rename(arguments: &Arguments) -> Outcome {
    fs::rename(arguments.text(0)?, arguments.text(1)?).named("rename")?;
    Ok(String::new())
}

fn exchange(arguments: &Arguments) -> Outcome {
    let (one, other) = (arguments.path(0)?, arguments.path(1)?);
    let here = libc::AT_FDCWD;
    system_call!("renameat2", libc::SYS_renameat2, here, one.as_ptr(), here, other.as_ptr(), 2)?;
    Ok(String::new())
}

fn link(arguments: &Arguments) -> Outcome {
    fs::hard_link(arguments.text(0)?, arguments.text(1)?).named("link")?;
    Ok(String::new())
}

/// A second name where writing is allowed, for a file where it is not.
fn link_write(arguments: &Arguments) -> Outcome {
    fs::hard_link(arguments.text(0)?, arguments.text(1)?).named("link")?;
    let mut file = OpenOptions::new().append(true).open(arguments.text(1)?).named("open")?;
    file.write_all(arguments.text(2)?.as_bytes()).named("write")?;
    Ok(String::new())
}

fn unlink(arguments: &Arguments) -> Outcome {
    fs::remove_file(arguments.text(0)?).named("unlink")?;
    Ok(String::new())
}

fn rmdir(arguments: &Arguments) -> Outcome {
    fs::remove_dir(arguments.text(0)?).named("rmdir")?;
    Ok(String::new())
}

fn mkdir(arguments: &Arguments) -> Outcome {
    fs::create_dir(arguments.text(0)?).named("mkdir")?;
    Ok(String::new())
}

fn symlink(arguments: &Arguments) -> Outcome {
    unix_fs::symlink(arguments.text(0)?, arguments.text(1)?).named("symlink")?;
    Ok(String::new())
}

fn node(arguments: &Arguments, mode: u32) -> Outcome {
    let path = arguments.path(0)?;
    system_call!("mknod", libc::SYS_mknodat, libc::AT_FDCWD, path.as_ptr(), mode | 0o644, 0)?;
    Ok(String::new())
}

fn mkfifo(arguments: &Arguments) -> Outcome {
    node(arguments, libc::S_IFIFO)
}

fn mksock(arguments: &Arguments) -> Outcome {
    node(arguments, libc::S_IFSOCK)
}

/// A file without a name, that gets one when it is complete.
fn unnamed_link(arguments: &Arguments) -> Outcome {
    let (directory, name) = (arguments.path(0)?, arguments.path(1)?);
    let token = arguments.text(2)?;
    let flags = libc::O_TMPFILE | libc::O_RDWR;
    let fd =
        system_call!("open", libc::SYS_openat, libc::AT_FDCWD, directory.as_ptr(), flags, 0o644)?;
    system_call!("write", libc::SYS_write, fd, token.as_ptr(), token.len())?;
    let own = crate::arguments::c_string(&format!("/proc/self/fd/{fd}"))?;
    let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    system_call!("linkat", libc::SYS_linkat, here, own.as_ptr(), here, name.as_ptr(), follow)?;
    Ok(String::new())
}

/// By enough `..` to reach the root from the working directory.
fn climb_create(arguments: &Arguments) -> Outcome {
    let target = arguments.text(0)?;
    let path = format!("{}{}", "../".repeat(64), target.trim_start_matches('/'));
    fs::write(path, arguments.text(1)?).named("open")?;
    Ok(String::new())
}

fn punch_hole(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    let here = libc::AT_FDCWD;
    let fd = system_call!("open", libc::SYS_openat, here, path.as_ptr(), libc::O_WRONLY, 0)?;
    let mode = libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE;
    system_call!("fallocate", libc::SYS_fallocate, fd, mode, 0, 4096)?;
    Ok(String::new())
}

fn read(arguments: &Arguments) -> Outcome {
    let mut text = Vec::new();
    let file = File::open(arguments.text(0)?).named("open")?;
    file.take(1 << 20).read_to_end(&mut text).named("read")?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn read_mapped(arguments: &Arguments) -> Outcome {
    let file = File::open(arguments.text(0)?).named("open")?;
    let length = file.metadata().named("stat")?.len().min(4096) as usize;
    let place = map(&file, libc::PROT_READ)?;
    // SAFETY: the page is readable up to the length of the file.
    let bytes = unsafe { std::slice::from_raw_parts(place, length) };
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

fn list(arguments: &Arguments) -> Outcome {
    let mut names = Vec::new();
    for entry in fs::read_dir(arguments.text(0)?).named("open")? {
        names.push(entry.named("getdents")?.file_name().to_string_lossy().into_owned());
    }
    Ok(names.join(" "))
}

/// Delays every process that opens the file for writing.
fn lease(arguments: &Arguments) -> Outcome {
    const SET_LEASE: i32 = 1024;
    let file = File::open(arguments.text(0)?).named("open")?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    system_call!("F_SETLEASE", libc::SYS_fcntl, fd, SET_LEASE, libc::F_RDLCK)?;
    Ok("a lease".to_owned())
}
