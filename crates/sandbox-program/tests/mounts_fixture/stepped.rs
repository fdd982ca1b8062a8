//! A supervisor that stops before each call on names or locks. Other processes run meanwhile, as
//! they may at any time.

use std::ffi::c_long;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::ptr::null_mut;

use toolwright_sandbox::plan::Plan;

use super::{program_of, supervisor};

/// The flag of a stop at a system call.
const CALL: i32 = 0x80;

/// Calls between which nothing happens that another process could see, or that sees others.
const CALLS: [c_long; 13] = [
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_utimensat,
    libc::SYS_flock,
    libc::SYS_getdents64,
    libc::SYS_move_mount,
    libc::SYS_umount2,
];

/// A supervisor that builds its tree, gets no request, and ends.
pub(crate) struct Stepped {
    child: Child,
    /// Whether it is about to make a call, and not just back from one.
    entering: bool,
    /// Whether it has reported that its tree is built.
    built: bool,
    status: Option<i32>,
}

impl Stepped {
    /// Starts a supervisor as that user, and stops it before the first call that names `first`.
    /// `None` means that this process may not trace another, and prints a notice.
    pub(crate) fn start(user: u32, plan: &Plan, first: &str) -> Option<Self> {
        let mut command = program_of(user);
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).current_dir("/");
        supervisor::hand_over(plan, &mut command);
        let child = traced(&mut command)?;
        let mut stepped = Self { child, entering: false, built: false, status: None };
        stepped.wait();
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
        stepped.ask(libc::PTRACE_SETOPTIONS, options.cast_unsigned() as usize);
        while stepped.step() {
            if stepped.text().is_some_and(|text| text.ends_with(first)) {
                break;
            }
        }
        Some(stepped)
    }

    /// Continues to the next such call. `false` means that it has ended.
    pub(crate) fn step(&mut self) -> bool {
        while self.status.is_none() {
            self.ask(libc::PTRACE_SYSCALL, 0);
            let stopped = self.wait();
            if stopped == Some(libc::SIGTRAP | CALL) {
                self.entering = !self.entering;
                let (call, [descriptor, _]) = self.call();
                self.built |= self.entering && call == libc::SYS_write && descriptor == 1;
                if self.entering && CALLS.contains(&call) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether its tree is built, and it is about to end.
    pub(crate) fn has_built(&self) -> bool {
        self.built
    }

    /// Lets it go on to its end, which is a good one.
    pub(crate) fn finish(mut self) {
        while self.step() {}
        assert_eq!(self.status, Some(0), "it ends well");
    }

    /// Ends it where it is.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        while self.status.is_none() {
            self.wait();
        }
    }

    /// Waits until it stops: by which signal. `None`: it has ended.
    fn wait(&mut self) -> Option<i32> {
        let mut status = 0;
        // SAFETY: room for the status.
        let waited = unsafe { libc::waitpid(self.pid(), &raw mut status, libc::__WALL) };
        assert_eq!(waited, self.pid(), "{}", io::Error::last_os_error());
        if libc::WIFSTOPPED(status) {
            return Some(libc::WSTOPSIG(status));
        }
        self.status = Some(status);
        None
    }

    /// Which call it is about to make, and its first two arguments.
    fn call(&self) -> (c_long, [u64; 2]) {
        const GET_SYSCALL_INFO: libc::c_uint = 0x420e;
        // After what it is, where: the number, and up to six arguments.
        let mut info = [0_u64; 16];
        // SAFETY: the buffer has the length that is passed.
        let length = unsafe {
            libc::ptrace(
                GET_SYSCALL_INFO as _,
                self.pid(),
                size_of_val(&info),
                info.as_mut_ptr().cast::<libc::c_void>(),
            )
        };
        assert!(length > 0, "{}", io::Error::last_os_error());
        (info[3].cast_signed() as c_long, [info[4], info[5]])
    }

    /// The path that the call is made for.
    fn text(&self) -> Option<String> {
        use std::os::unix::fs::FileExt;
        let memory = std::fs::File::open(format!("/proc/{}/mem", self.pid())).ok()?;
        let mut bytes = [0; 256];
        let length = memory.read_at(&mut bytes, self.call().1[1]).ok()?;
        let text = bytes[..length].split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// The type of a request differs between C libraries.
    fn ask(&self, what: impl Into<i64>, data: usize) {
        let what = what.into().try_into().expect("a request");
        // SAFETY: neither reads nor writes memory of this process.
        let done = unsafe { libc::ptrace(what, self.pid(), null_mut::<u8>(), data) };
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
    }

    fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }
}

impl Drop for Stepped {
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn traced(command: &mut Command) -> Option<Child> {
    // SAFETY: a system call that touches no memory.
    unsafe {
        command.pre_exec(|| {
            match libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<u8>(), null_mut::<u8>()) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        });
    }
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            eprintln!("skipped: tracing is not allowed");
            None
        }
        Err(error) => panic!("the fixture starts: {error}"),
    }
}
