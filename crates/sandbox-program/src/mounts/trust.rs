//! The certificates that commands trust, over those of the system.

mod certificates;
mod java_store;

use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};
use toolwright_sandbox::plan::{
    SYSTEM_TRUSTED, SYSTEM_TRUSTED_JAVA, TRUSTED, TRUSTED_ALL, TRUSTED_HOSTS, TRUSTED_JAVA,
    TRUSTED_ONE, Trust,
};

use crate::errno;
use crate::mounts::error::{At, MountError};
use crate::mounts::kernel;

const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Lays the certificates over those of the system, in the mount namespace of this worker. It must have
/// capabilities still, and its own `/proc`.
pub fn lay_trust(trust: Option<&Trust>) -> Result<(), MountError> {
    let Some(trust) = trust else { return Ok(()) };
    let others = trust.others.iter().flat_map(|path| certificates::of_file(path));
    let each: Vec<_> = others.chain(certificates::of_pem(&trust.authority)).collect();
    let all = certificates::to_pem(&each);
    mount("tmpfs", TRUSTED, "tmpfs", PLAIN, Some(c"mode=0755")).at("cover", Path::new(TRUSTED))?;
    let for_java = java_store::of(&each);
    let files = [
        (TRUSTED_ONE, trust.authority.as_bytes()),
        (TRUSTED_ALL, &*all),
        (TRUSTED_JAVA, &*for_java),
        (TRUSTED_HOSTS, trust.known_hosts.as_bytes()),
    ];
    for (path, content) in files {
        fs::write(path, content).map_err(|error| errno::of(&error)).at("write", Path::new(path))?;
    }
    mount_remount(TRUSTED, PLAIN | MountFlags::BIND | MountFlags::RDONLY, "")
        .at("make read-only", Path::new(TRUSTED))?;
    let all = SYSTEM_TRUSTED.map(|path| (path, TRUSTED_ALL));
    let for_java = SYSTEM_TRUSTED_JAVA.map(|path| (path, TRUSTED_JAVA));
    for (path, cover) in all.into_iter().chain(for_java) {
        let path = Path::new(path);
        let covered = match kernel::open_followed(path) {
            Ok(covered) => covered,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => continue,
            Err(errno) => return Err(MountError::new("open", path, errno)),
        };
        let status = fstat(&covered).at("look at", path)?;
        if FileType::from_raw_mode(status.st_mode).is_file() {
            let covered = format!("/proc/self/fd/{}", covered.as_raw_fd());
            mount_bind(cover, &covered).at("cover", path)?;
        }
    }
    Ok(())
}
