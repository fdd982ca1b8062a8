//! Processes in the state of a worker that sets limits.

use std::fs;
use std::io::{self, Read, Write};

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use toolwright_sandbox::layers::{Layer, Layers};

use crate::child::in_child;

/// The surroundings of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Namespaces {
    pub(crate) user: bool,
    pub(crate) pid: bool,
}

impl Namespaces {
    pub(crate) fn layers(self) -> Layers {
        let layer = |has| if has { Layer::Holds } else { Layer::Unused };
        Layers { user: layer(self.user), pid: layer(self.pid), ..Layers::default() }
    }
}

/// Runs in these namespaces, as the first process and with its `/proc` if there is one for
/// processes; all it leaves behind is killed then.
pub(crate) fn in_namespaces(namespaces: Namespaces, run: impl FnOnce()) {
    let (user, group) = (geteuid(), getegid());
    let mut flags = UnshareFlags::empty();
    if namespaces.user {
        flags |= UnshareFlags::NEWUSER;
    }
    if namespaces.pid {
        flags |= UnshareFlags::NEWPID | UnshareFlags::NEWNS;
    }
    let mapped = if namespaces.user && user.is_root() { Some(Mapper::new()) } else { None };
    // SAFETY: shares no memory and no descriptors with another thread.
    unsafe { unshare_unsafe(flags) }.expect("namespaces");
    if let Some(mapper) = mapped {
        mapper.map();
    } else if namespaces.user {
        let (user, group) = (user.as_raw(), group.as_raw());
        fs::write("/proc/self/setgroups", "deny").expect("groups");
        fs::write("/proc/self/uid_map", format!("{user} {user} 1")).expect("users");
        fs::write("/proc/self/gid_map", format!("{group} {group} 1")).expect("groups");
    }
    in_child(|| {
        if namespaces.pid {
            let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
            mount_change("/", private).expect("private mounts");
            mount("proc", "/proc", "proc", MountFlags::empty(), None).expect("proc");
        }
        run();
    });
}

/// A process that stays outside the user namespace, because only from there all users of the host
/// can be mapped.
struct Mapper {
    go: io::PipeWriter,
    pid: libc::pid_t,
}

impl Mapper {
    fn new() -> Self {
        let (mut wait, go) = io::pipe().expect("pipe");
        let parent = std::process::id();
        // SAFETY: this process has one thread, and the child ends without unwinding.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let mapped = wait.read_exact(&mut [0]).is_ok()
                && ["uid_map", "gid_map"].iter().all(|map| {
                    fs::write(format!("/proc/{parent}/{map}"), "0 0 4294967295").is_ok()
                });
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!mapped)) }
        }
        Self { go, pid }
    }

    fn map(mut self) {
        self.go.write_all(&[0]).expect("told");
        let mut status = 0;
        // SAFETY: room for the status.
        assert_eq!(unsafe { libc::waitpid(self.pid, &raw mut status, 0) }, self.pid);
        assert_eq!(status, 0, "the users could not be mapped");
    }
}
