//! Names that are made in directories, as the kernel reports them.

use std::collections::{BTreeSet, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::directory::Directory;

/// The reports.
#[derive(Debug)]
pub(super) struct Events {
    queue: OwnedFd,
    directories: HashMap<i32, PathBuf>,
}

impl Events {
    /// `None`: the kernel reports nothing.
    pub(super) fn new() -> Option<Self> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        Some(Self { queue, directories: HashMap::new() })
    }

    /// Whether changes of the directory are reported from now on.
    pub(super) fn add(&mut self, top: &Directory, path: &Path) -> bool {
        let flags = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::ATTRIB
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK;
        let Ok(Some(directory)) = top.below(path) else { return false };
        let name = format!("/proc/self/fd/{}/.", directory_descriptor(&directory));
        let Ok(number) = inotify::add_watch(&self.queue, name, flags) else { return false };
        self.directories.insert(number, path.to_owned());
        true
    }

    /// The directories in which something was made or removed since the last time; `None` if some reports were
    /// lost.
    pub(super) fn take(&mut self) -> Option<BTreeSet<PathBuf>> {
        let mut changed = BTreeSet::new();
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Some(changed),
                Err(_) => return None,
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                return None;
            }
            let Some(path) = self.directories.get(&event.wd()) else { continue };
            changed.insert(path.clone());
            if event.events().contains(ReadFlags::IGNORED) {
                self.directories.remove(&event.wd());
            }
        }
    }
}

fn directory_descriptor(directory: &Directory) -> i32 {
    use std::os::fd::AsFd;
    directory.as_fd().as_raw_fd()
}
