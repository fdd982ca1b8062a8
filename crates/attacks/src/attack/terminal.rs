//! The terminal of another user.

use crate::arguments::Arguments;
use crate::descriptors::{self, open};
use crate::outcome::{Outcome, attacks, system_call};

attacks! { terminal_write, terminal_inject }

fn terminal_write(arguments: &Arguments) -> Outcome {
    let fd = open(&arguments.path(0)?, libc::O_WRONLY | libc::O_NOCTTY)?;
    descriptors::write(fd, arguments.text(1)?)
}

/// Makes it the terminal of an own session, and types into it.
fn terminal_inject(arguments: &Arguments) -> Outcome {
    let _ = system_call!(SYS_setsid);
    let fd = open(&arguments.path(0)?, libc::O_RDWR | libc::O_NOCTTY)?;
    system_call!("TIOCSCTTY", libc::SYS_ioctl, fd, libc::TIOCSCTTY, 0)?;
    for byte in arguments.text(1)?.bytes() {
        system_call!("TIOCSTI", libc::SYS_ioctl, fd, libc::TIOCSTI, &raw const byte)?;
    }
    Ok(String::new())
}
