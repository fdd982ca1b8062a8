//! Making, changing, replacing and reading files that are somewhere else.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs as unix_fs;

use crate::arguments::{Arguments, c_string};
use crate::descriptors::{self, open, text, write};
use crate::outcome::{Done, Named, Outcome, Refused, attacks, system_call};

attacks! {
    create, create_at, append, overwrite, truncate, truncate_open, map_write, rename, exchange,
    link, link_write, unlink, rmdir, mkdir, symlink, mkfifo, mksock, unnamed_link, climb_create,
    punch_hole, read, read_mapped, list, lease,
}

fn create(arguments: &Arguments) -> Outcome {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(arguments.text(0)?)
        .named("open")?;
    file.write_all(arguments.text(1)?.as_bytes()).named("write").done()
}

/// By a descriptor of the directory, which any process may have.
fn create_at(arguments: &Arguments) -> Outcome {
    let (directory, name) = (arguments.path(0)?, arguments.path(1)?);
    let token = arguments.text(2)?;
    let at = open(&directory, libc::O_PATH | libc::O_DIRECTORY)?;
    let fd = system_call!(SYS_openat, at, &name, libc::O_CREAT | libc::O_WRONLY, 0o644)?;
    write(fd, token)
}

fn append(arguments: &Arguments) -> Outcome {
    let mut file = OpenOptions::new().append(true).open(arguments.text(0)?).named("open")?;
    file.write_all(arguments.text(1)?.as_bytes()).named("write").done()
}

fn overwrite(arguments: &Arguments) -> Outcome {
    let mut file =
        OpenOptions::new().read(true).write(true).open(arguments.text(0)?).named("open")?;
    file.write_all(arguments.text(1)?.as_bytes()).named("write").done()
}

fn truncate(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    system_call!(SYS_truncate, &path, 0).done()
}

/// `O_TRUNC` changes a file that is opened for reading alone.
fn truncate_open(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    open(&path, libc::O_RDONLY | libc::O_TRUNC).done()
}

fn map(file: &File, protection: i32) -> Result<*mut u8, Refused> {
    descriptors::map(4096, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
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
    fs::rename(arguments.text(0)?, arguments.text(1)?).named("rename").done()
}

fn exchange(arguments: &Arguments) -> Outcome {
    let (one, other) = (arguments.path(0)?, arguments.path(1)?);
    system_call!(SYS_renameat2, libc::AT_FDCWD, &one, libc::AT_FDCWD, &other, 2).done()
}

fn link(arguments: &Arguments) -> Outcome {
    fs::hard_link(arguments.text(0)?, arguments.text(1)?).named("link").done()
}

/// A second name where writing is allowed, for a file where it is not.
fn link_write(arguments: &Arguments) -> Outcome {
    fs::hard_link(arguments.text(0)?, arguments.text(1)?).named("link")?;
    let mut file = OpenOptions::new().append(true).open(arguments.text(1)?).named("open")?;
    file.write_all(arguments.text(2)?.as_bytes()).named("write").done()
}

fn unlink(arguments: &Arguments) -> Outcome {
    fs::remove_file(arguments.text(0)?).named("unlink").done()
}

fn rmdir(arguments: &Arguments) -> Outcome {
    fs::remove_dir(arguments.text(0)?).named("rmdir").done()
}

fn mkdir(arguments: &Arguments) -> Outcome {
    fs::create_dir(arguments.text(0)?).named("mkdir").done()
}

fn symlink(arguments: &Arguments) -> Outcome {
    unix_fs::symlink(arguments.text(0)?, arguments.text(1)?).named("symlink").done()
}

fn node(arguments: &Arguments, mode: u32) -> Outcome {
    let path = arguments.path(0)?;
    system_call!(SYS_mknodat, libc::AT_FDCWD, &path, mode | 0o644, 0).done()
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
    let fd = open(&directory, libc::O_TMPFILE | libc::O_RDWR)?;
    write(fd, token)?;
    let own = c_string(&format!("/proc/self/fd/{fd}"))?;
    let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    system_call!(SYS_linkat, here, &own, here, &name, follow).done()
}

/// By enough `..` to reach the root from the working directory.
fn climb_create(arguments: &Arguments) -> Outcome {
    let target = arguments.text(0)?;
    let path = format!("{}{}", "../".repeat(64), target.trim_start_matches('/'));
    fs::write(path, arguments.text(1)?).named("open").done()
}

fn punch_hole(arguments: &Arguments) -> Outcome {
    let fd = open(&arguments.path(0)?, libc::O_WRONLY)?;
    system_call!(SYS_fallocate, fd, libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE, 0, 4096)
        .done()
}

fn read(arguments: &Arguments) -> Outcome {
    let mut bytes = Vec::new();
    let file = File::open(arguments.text(0)?).named("open")?;
    file.take(1 << 20).read_to_end(&mut bytes).named("read")?;
    Ok(text(&bytes))
}

fn read_mapped(arguments: &Arguments) -> Outcome {
    let file = File::open(arguments.text(0)?).named("open")?;
    let length = file.metadata().named("stat")?.len().min(4096) as usize;
    let place = map(&file, libc::PROT_READ)?;
    // SAFETY: the page is readable up to the length of the file.
    let bytes = unsafe { std::slice::from_raw_parts(place, length) };
    Ok(text(bytes))
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
    system_call!("F_SETLEASE", libc::SYS_fcntl, file.as_raw_fd(), SET_LEASE, libc::F_RDLCK)?;
    Ok("a lease".to_owned())
}
