//! The names that appear below a directory, as the kernel reports them.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

pub(crate) struct Watch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<BTreeSet<PathBuf>>,
}

struct Queue {
    events: OwnedFd,
    top: PathBuf,
    directories: HashMap<i32, PathBuf>,
    seen: BTreeSet<PathBuf>,
}

impl Watch {
    /// Watches a directory and all below it, also those that are made later.
    pub(crate) fn begin(top: &Path) -> Self {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).expect("a queue");
        let (top, directories) = (top.to_owned(), HashMap::new());
        let mut queue = Queue { events, top, directories, seen: BTreeSet::new() };
        queue.add(Path::new(""), false);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                queue.read();
                thread::sleep(Duration::from_micros(200));
            }
            queue.read();
            queue.seen
        });
        Self { is_over, thread }
    }

    /// All names that have appeared.
    pub(crate) fn end(self) -> BTreeSet<PathBuf> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("joined")
    }
}

impl Queue {
    fn add(&mut self, path: &Path, is_new: bool) {
        let flags = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        let at = self.top.join(path);
        // It may be gone.
        let Ok(number) = inotify::add_watch(&self.events, &at, flags) else { return };
        self.directories.insert(number, path.to_owned());
        for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
            let path = path.join(entry.file_name());
            if is_new {
                self.seen.insert(path.clone());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.add(&path, is_new);
            }
        }
    }

    fn read(&mut self) {
        let mut new = Vec::new();
        {
            let mut buffer = [MaybeUninit::uninit(); 8 << 10];
            let mut reader = Reader::new(&self.events, &mut buffer);
            loop {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => continue,
                    Err(errno) => panic!("{errno}"),
                };
                assert!(!event.events().contains(ReadFlags::QUEUE_OVERFLOW), "reports were lost");
                let (Some(above), Some(name)) =
                    (self.directories.get(&event.wd()), event.file_name())
                else {
                    continue;
                };
                let path = above.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
                new.push((path, event.events().contains(ReadFlags::ISDIR)));
            }
        }
        for (path, is_directory) in new {
            if is_directory {
                self.add(&path, true);
            }
            self.seen.insert(path);
        }
    }
}
