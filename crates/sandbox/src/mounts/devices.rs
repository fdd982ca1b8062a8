//! A small `/dev`: what programs need, and nothing that reaches the machine.

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::CWD,
    io::Errno,
    mount::{MountFlags, mount},
    process::geteuid,
};

use crate::mounts::{
    error::{At, MountError},
    kernel::{self, Attributes},
    scratch::Scratch,
};

const NODES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: [(&str, &str); 5] = [
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// The host's nodes, taken before devices are forbidden everywhere.
pub(super) struct Devices {
    directory: PathBuf,
    nodes: Vec<(&'static str, OwnedFd)>,
}

impl Devices {
    pub(super) fn take(directory: &Path) -> Result<Self, MountError> {
        let mut nodes = Vec::with_capacity(NODES.len());
        for name in NODES {
            let path = directory.join(name);
            match kernel::copy_entry(CWD, &path) {
                Ok(node) => {
                    // Devices can be written on a read-only mount; their mode and owner cannot.
                    kernel::set(&node, Attributes::READ_ONLY | Attributes::NO_SUID)
                        .at("make a device's attributes read-only", &path)?;
                    nodes.push((name, node));
                }
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(MountError::new("take a device", &path, errno)),
            }
        }
        Ok(Self { directory: directory.to_owned(), nodes })
    }

    /// Makes the places in the cover at `index`.
    pub(super) fn prepare(&self, scratch: &Scratch, index: usize) -> Result<(), MountError> {
        let cover = PathBuf::from(index.to_string());
        let files = self.nodes.iter().try_for_each(|(name, _)| scratch.file(cover.join(name)));
        files
            .and_then(|()| scratch.directory(cover.join("pts"), 0o755))
            .and_then(|()| scratch.directory(cover.join("mqueue"), 0o755))
            .and_then(|()| {
                LINKS.iter().try_for_each(|(name, to)| scratch.link(cover.join(name), to))
            })
            .at("prepare the devices", &self.directory)
    }

    /// Puts the devices into their places, once the cover lies over the host's directory.
    pub(super) fn attach(self) -> Result<(), MountError> {
        for (name, node) in &self.nodes {
            let path = self.directory.join(name);
            kernel::open_plain(&path)
                .and_then(|target| kernel::attach(node, target))
                .at("attach a device", &path)?;
        }
        // Terminals of our own, as the host's would let a command write to them and read from them.
        // Where the system refuses them there are none.
        let terminals = self.directory.join("pts");
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        let with_group = c"newinstance,ptmxmode=0666,mode=0620,gid=5";
        let without = c"newinstance,ptmxmode=0666,mode=0620";
        if !geteuid().is_root() || mount("devpts", &terminals, "devpts", flags, with_group).is_err()
        {
            let _ = mount("devpts", &terminals, "devpts", flags, without);
        }
        // Needs an IPC namespace of our own.
        let queues = self.directory.join("mqueue");
        let _ = mount("mqueue", &queues, "mqueue", flags | MountFlags::NODEV, None);
        Ok(())
    }
}
