//! A small `/dev`: what programs need, and nothing that reaches the machine.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::process::geteuid;

use crate::mounts::error::{At, MountError};
use crate::mounts::kernel::{self, Attributes};
use crate::mounts::scratch::Scratch;

const NODES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: [(&str, &str); 5] = [
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// The last part of [`PROGRAMS`](toolwright_sandbox::plan::PROGRAMS).
const OUR_PROGRAMS: &str = "toolwright";
/// The last part of [`OBJECTS`](toolwright_sandbox::plan::OBJECTS).
const OUR_OBJECTS: &str = "toolwright-objects";
/// The last part of [`TRUSTED`](toolwright_sandbox::plan::TRUSTED).
const OUR_TRUST: &str = "toolwright-trust";

/// Processors and machines beside the main one, for commands whose files are not confined. By how
/// their names begin; some are directories.
const COMPUTING: [&str; 6] = ["accel", "dri", "dxg", "kfd", "kvm", "nvidia"];

/// The host's nodes, taken before devices are forbidden everywhere.
pub(super) struct Devices {
    directory: PathBuf,
    nodes: Vec<Node>,
}

struct Node {
    name: PathBuf,
    tree: OwnedFd,
    is_directory: bool,
}

impl Devices {
    pub(super) fn take(directory: &Path, full: bool) -> Result<Self, MountError> {
        let mut names: Vec<PathBuf> = NODES.iter().map(PathBuf::from).collect();
        if full && let Ok(entries) = fs::read_dir(directory) {
            let entry_names = entries.flatten().map(|entry| PathBuf::from(entry.file_name()));
            names.extend(entry_names.filter(|name| {
                let name = name.as_os_str().as_encoded_bytes();
                COMPUTING.iter().any(|begin| name.starts_with(begin.as_bytes()))
            }));
        }
        let mut nodes = Vec::with_capacity(names.len());
        for name in names {
            let path = directory.join(&name);
            match take(&path) {
                Ok(Some((tree, is_directory))) => nodes.push(Node { name, tree, is_directory }),
                Ok(None) | Err(Errno::NOENT | Errno::LOOP) => {}
                Err(errno) => return Err(MountError::new("take the device", &path, errno)),
            }
        }
        Ok(Self { directory: directory.to_owned(), nodes })
    }

    pub(super) fn prepare(&self, scratch: &Scratch, index: usize) -> Result<(), MountError> {
        let cover = PathBuf::from(index.to_string());
        let places = self.nodes.iter().try_for_each(|Node { name, is_directory, .. }| {
            let path = cover.join(name);
            if *is_directory { scratch.directory(path, 0o755) } else { scratch.file(path) }
        });
        places
            .and_then(|()| scratch.directory(cover.join("pts"), 0o755))
            .and_then(|()| scratch.directory(cover.join("mqueue"), 0o755))
            .and_then(|()| scratch.directory(cover.join(OUR_PROGRAMS), 0o755))
            .and_then(|()| scratch.directory(cover.join(OUR_OBJECTS), 0o755))
            .and_then(|()| scratch.directory(cover.join(OUR_TRUST), 0o755))
            .and_then(|()| {
                LINKS.iter().try_for_each(|(name, to)| scratch.link(cover.join(name), to))
            })
            .at("prepare the devices in", &self.directory)
    }

    /// Attaches the devices, once the cover lies over the host's directory.
    pub(super) fn attach(self) -> Result<(), MountError> {
        for Node { name, tree, .. } in &self.nodes {
            let path = self.directory.join(name);
            kernel::open_plain(&path)
                .and_then(|target| kernel::attach(tree, target))
                .at("attach the device", &path)?;
        }
        // The terminals are private, because a command could read and write those of the host. If
        // the system refuses private ones, there are none.
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

/// Copies one node, or a directory of nodes. `None` means that the path leads to a disk or is no
/// node.
fn take(path: &Path) -> Result<Option<(OwnedFd, bool)>, Errno> {
    let place = kernel::open_plain(path)?;
    let kind = FileType::from_raw_mode(fstat(&place)?.st_mode);
    if !kind.is_char_device() && !kind.is_dir() {
        return Ok(None);
    }
    // Devices can be written on a read-only mount; their mode and owner cannot.
    let tree =
        kernel::restricted(kernel::copy(place)?, Attributes::READ_ONLY | Attributes::NO_SUID)?;
    Ok(Some((tree, kind.is_dir())))
}
