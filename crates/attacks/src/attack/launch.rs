//! Starts another program in a setting that Node cannot make.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::arguments::Arguments;
use crate::outcome::{Named, Outcome, attacks, say, system_call};

attacks! { as = as_user, hold, parent }

/// `as UID -- program …`: as another user, without groups and rights.
fn as_user(arguments: &Arguments) -> Outcome {
    let user = arguments.number::<u32>(0)?;
    system_call!(SYS_setgroups, 0, 0)?;
    system_call!(SYS_setresgid, user, user, user)?;
    system_call!(SYS_setresuid, user, user, user)?;
    become_program(arguments)
}

/// `hold FD FILE -- program …`: with a descriptor that is left open for all programs it starts.
fn hold(arguments: &Arguments) -> Outcome {
    let fd = arguments.number::<i32>(0)?;
    let file = File::open(arguments.text(1)?).named("open")?;
    system_call!(SYS_dup3, file.as_raw_fd(), fd, 0)?;
    become_program(arguments)
}

fn become_program(arguments: &Arguments) -> Outcome {
    let (program, rest) = arguments.command()?;
    Err(crate::outcome::Refused::new("execve", Command::new(program).args(rest).exec()))
}

/// A file in memory with a text, that programs started from here do not get.
pub(crate) fn secret_file(secret: &str) -> io::Result<File> {
    // SAFETY: the name ends with a NUL byte; the descriptor is new and ours.
    let mut file = unsafe {
        let fd = libc::memfd_create(c"held".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(fd)
    };
    file.write_all(secret.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// `parent SECRET -- program …`: takes the place of a command's supervisor, with a descriptor to
/// steal, and reports that it lives when the program has ended.
fn parent(arguments: &Arguments) -> Outcome {
    let _held = secret_file(arguments.text(0)?).named("memfd_create")?;
    let (program, rest) = arguments.command()?;
    Command::new(program).args(rest).status().named("spawn")?;
    say("the parent lives");
    Ok(String::new())
}
