//! Whether a command waits for input: what its processes block on.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use rustix::fs::fstat;
use rustix::process::Pid;
use toolwright_sandbox::background::InputState;

use super::blocked::{Blocked, Condition, blocked, epoll_descriptors};
use super::processes::{self, Stat};

/// The file that a command had as stdin when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InputFile {
    device: u64,
    inode: u64,
    is_terminal: bool,
}

impl InputFile {
    pub(crate) fn of(file: BorrowedFd<'_>, is_terminal: bool) -> io::Result<Self> {
        let stat = fstat(file.as_fd())?;
        Ok(Self { device: stat.st_dev, inode: stat.st_ino, is_terminal })
    }

    /// Looks at every thread that could read it.
    pub(super) fn state(self, leader: Pid, is_alone: bool) -> InputState {
        let Some(readers) = self.readers(leader, is_alone) else { return InputState::Unknown };
        let mut state = InputState::Busy;
        for process in readers {
            for thread in processes::threads(process) {
                match self.of_thread(process, thread) {
                    ThreadState::Runs => return InputState::Busy,
                    ThreadState::Hidden => state = InputState::Unknown,
                    ThreadState::Waits if state == InputState::Busy => state = InputState::Waiting,
                    ThreadState::Gone | ThreadState::Elsewhere | ThreadState::Waits => {}
                }
            }
        }
        state
    }

    /// Of a terminal, the group in the foreground reads. Of a pipe, all may.
    fn readers(self, leader: Pid, is_alone: bool) -> Option<Vec<i32>> {
        let processes = processes::of_command(is_alone);
        if !self.is_terminal {
            return Some(processes);
        }
        let Stat { terminal, foreground, .. } = processes::stat(leader.as_raw_nonzero().get())?;
        let reads = |process: &i32| {
            processes::stat(*process)
                .is_some_and(|stat| stat.terminal == terminal && stat.group == foreground)
        };
        (terminal != 0 && foreground > 0).then(|| processes.into_iter().filter(reads).collect())
    }

    fn of_thread(self, process: i32, thread: i32) -> ThreadState {
        let path = format!("/proc/{process}/task/{thread}/syscall");
        let line = match fs::read_to_string(path) {
            Ok(line) => line,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return ThreadState::Hidden;
            }
            // The kernel forgets a thread that ends at any moment.
            Err(_) => return ThreadState::Gone,
        };
        match blocked(&line) {
            Blocked::Runs => ThreadState::Runs,
            Blocked::Elsewhere => ThreadState::Elsewhere,
            Blocked::On(condition) => match self.is_met_by(process, &condition) {
                Ok(true) => ThreadState::Waits,
                Ok(false) => ThreadState::Elsewhere,
                Err(_) => ThreadState::Hidden,
            },
        }
    }

    fn is_met_by(self, process: i32, condition: &Condition) -> io::Result<bool> {
        let memory = || File::open(format!("/proc/{process}/mem"));
        if !condition.is_long(memory)? {
            return Ok(false);
        }
        let descriptors = match condition {
            Condition::Read(descriptor) => vec![*descriptor],
            Condition::Poll { .. } | Condition::Select { .. } => {
                condition.read_descriptors(&memory()?)?
            }
            Condition::Epoll { descriptor, .. } => {
                let path = format!("/proc/{process}/fdinfo/{descriptor}");
                epoll_descriptors(&fs::read_to_string(path)?)
            }
        };
        Ok(descriptors.into_iter().any(|descriptor| self.is_open_as(process, descriptor)))
    }

    fn is_open_as(self, process: i32, descriptor: i32) -> bool {
        let Ok(metadata) = fs::metadata(format!("/proc/{process}/fd/{descriptor}")) else {
            return false;
        };
        // What is opened as `/dev/tty` is the terminal of the process, which is in its foreground.
        let is_own_terminal = self.is_terminal
            && metadata.file_type().is_char_device()
            && metadata.rdev() == libc::makedev(5, 0);
        is_own_terminal || (metadata.dev(), metadata.ino()) == (self.device, self.inode)
    }
}

enum ThreadState {
    /// It has ended meanwhile.
    Gone,
    Runs,
    /// It blocks on something else.
    Elsewhere,
    Waits,
    /// The system does not let the worker look.
    Hidden,
}
