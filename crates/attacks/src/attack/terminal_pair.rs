//! A terminal and its user, both in one process.

use crate::arguments::c_string;
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
        let (here, flags) = (libc::AT_FDCWD, libc::O_RDWR | libc::O_NOCTTY | libc::O_NONBLOCK);
        let path = c"/dev/ptmx";
        let outer = system_call!("open", libc::SYS_openat, here, path.as_ptr(), flags, 0)?;
        let (unlocked, mut number) = (0_i32, 0_u32);
        system_call!("TIOCSPTLCK", libc::SYS_ioctl, outer, libc::TIOCSPTLCK, &raw const unlocked)?;
        system_call!("TIOCGPTN", libc::SYS_ioctl, outer, libc::TIOCGPTN, &raw mut number)?;
        let name = format!("/dev/pts/{number}");
        let path = c_string(&name)?;
        let inner = system_call!("open", libc::SYS_openat, here, path.as_ptr(), flags, 0)?;
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
        let all = |fd: usize| {
            let mut bytes = [0_u8; 512];
            let (place, length) = (bytes.as_mut_ptr(), bytes.len());
            let got = system_call!("read", libc::SYS_read, fd, place, length).unwrap_or(0);
            String::from_utf8_lossy(&bytes[..got]).into_owned()
        };
        (all(self.inner), all(self.outer))
    }
}
