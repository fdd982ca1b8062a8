//! A terminal and its user, both in one process.

use crate::arguments::c_string;
use crate::descriptors::{open, read};
use crate::outcome::{Refused, system_call};

pub(crate) struct Pair {
    /// The side of the user, who sees and types.
    outer: usize,
    /// What programs read and write.
    inner: usize,
    pub(crate) name: String,
}

impl Pair {
    pub(crate) fn open() -> Result<Self, Refused> {
        let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_NONBLOCK;
        let outer = open(c"/dev/ptmx", flags)?;
        let (unlocked, mut number) = (0_i32, 0_u32);
        system_call!("TIOCSPTLCK", libc::SYS_ioctl, outer, libc::TIOCSPTLCK, &raw const unlocked)?;
        system_call!("TIOCGPTN", libc::SYS_ioctl, outer, libc::TIOCGPTN, &raw mut number)?;
        let name = format!("/dev/pts/{number}");
        let inner = open(&c_string(&name)?, flags)?;
        // SAFETY: the calls fill in and apply the settings of a terminal that is ours.
        unsafe {
            let mut settings = std::mem::zeroed();
            libc::tcgetattr(inner as i32, &raw mut settings);
            libc::cfmakeraw(&raw mut settings);
            libc::tcsetattr(inner as i32, libc::TCSANOW, &raw const settings);
        }
        Ok(Self { outer, inner, name })
    }

    /// The input and the output since the last time.
    pub(crate) fn read(&self) -> (String, String) {
        (read(self.inner).unwrap_or_default(), read(self.outer).unwrap_or_default())
    }
}
