//! The settings that name a command's resolver, over those of the host.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_remount, unmount};

use crate::errno;
use crate::mounts::error::{At, MountError};
use crate::mounts::kernel;

/// Where the settings are; often a link.
const SETTINGS: &str = "/etc/resolv.conf";
/// Where a file system of our own lies for as long as it takes to make the file.
const PLACE: &str = "/etc";
const FILE: &str = "/etc/resolv.conf.of-command";

const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Lays a file with this text over the settings, in the mount namespace of this worker. It must have
/// capabilities still, and its own `/proc`.
pub fn name_resolver(text: &str) -> Result<(), MountError> {
    let settings = Path::new(SETTINGS);
    let covered = kernel::open_followed(settings).at("open", settings)?;
    let covered = format!("/proc/self/fd/{}", covered.as_raw_fd());
    mount("tmpfs", PLACE, "tmpfs", PLAIN, Some(c"mode=0755")).at("cover", Path::new(PLACE))?;
    let laid = fs::write(FILE, text)
        .map_err(|error| errno::of(&error))
        .and_then(|()| mount_bind(FILE, &covered));
    // The file stays where it was laid.
    unmount(PLACE, UnmountFlags::DETACH).at("uncover", Path::new(PLACE))?;
    laid.at("cover", settings)?;
    mount_remount(SETTINGS, PLAIN | MountFlags::BIND | MountFlags::RDONLY, "")
        .at("make read-only", settings)
}
