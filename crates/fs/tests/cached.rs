//! Reads from the kernel's caches.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "a failed unwrap is a failed test"
)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use tempfile::TempDir;
use toolwright_fs::{DirectoryGrant, Root, read, try_read_cached};

/// Identified, as far as it can be.
fn granted(path: impl AsRef<Path>) -> DirectoryGrant {
    let granted = DirectoryGrant::new("rootDir", path.as_ref());
    let _ = granted.identify();
    granted
}

struct Scene {
    parent: TempDir,
}

impl Scene {
    fn new() -> Self {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir(parent.path().join("root")).unwrap();
        fs::write(parent.path().join("outside"), "secret").unwrap();
        Self { parent }
    }

    fn root(&self) -> std::path::PathBuf {
        self.parent.path().join("root")
    }

    fn write(&self, path: &str, content: &[u8]) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn cached(&self, path: &str) -> Option<Vec<u8>> {
        try_read_cached(&granted(self.root()), path, 1 << 20, <[u8]>::to_vec)
    }

    /// A read that needs no waiting. The kernel may always refuse to look up a path without
    /// waiting: while anything on the machine is renamed, it refuses every `..`.
    fn cached_in_the_end(&self, path: &str) -> Option<Vec<u8>> {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            match self.cached(path) {
                None if Instant::now() < until => thread::yield_now(),
                content => return content,
            }
        }
    }
}

/// Whether the fast path works on this file system at all.
fn works(scene: &Scene) -> bool {
    scene.write("probe", b"probe");
    let works = (0..1000).any(|_| scene.cached("probe").is_some());
    if !works {
        eprintln!("skipped: nothing is read at once on this filesystem or kernel");
    }
    works
}

#[test]
fn gives_what_the_ordinary_way_gives() {
    let scene = Scene::new();
    if !works(&scene) {
        return;
    }
    let root = Root::open(&scene.root()).unwrap();
    symlink("a/text", scene.root().join("link")).unwrap();
    let largest = vec![b'a'; 262_144];
    for content in [&b""[..], b"x", &largest, b"text\n", &[0xff, 0, 0xfe]] {
        scene.write("a/text", content);
        for path in ["a/text", "./a//text", "a/../a/text", "link"] {
            let ordinary = read(&root, path, 1 << 20, &AtomicBool::new(false)).unwrap();
            assert_eq!(ordinary, content, "{path}");
            assert_eq!(scene.cached_in_the_end(path).as_deref(), Some(content), "{path}");
        }
        let absolute = scene.root().join("a/text");
        let absolute = absolute.to_str().unwrap();
        assert_eq!(scene.cached_in_the_end(absolute).as_deref(), Some(content));
    }
}

#[test]
fn leaves_everything_else_to_the_ordinary_way() {
    let scene = Scene::new();
    scene.write("large", &vec![b'a'; 262_145]);
    scene.write("ten", b"0123456789");
    symlink("../outside", scene.root().join("out")).unwrap();
    symlink(scene.parent.path().join("outside"), scene.root().join("absolute")).unwrap();
    symlink("/proc/self/environ", scene.root().join("magic")).unwrap();
    fs::create_dir(scene.root().join("directory")).unwrap();
    assert!(Command::new("mkfifo").arg(scene.root().join("fifo")).status().unwrap().success());
    let outside = scene.parent.path().join("outside");
    let others = ["large", "out", "absolute", "magic", "directory", "fifo", "none", "../outside"];
    for path in others.into_iter().chain(["", "a\0b", outside.to_str().unwrap(), "/proc/self/stat"])
    {
        assert_eq!(scene.cached(path), None, "{path}");
    }
    assert_eq!(try_read_cached(&granted(scene.root()), "ten", 9, <[u8]>::to_vec), None);
    assert_eq!(try_read_cached(&granted("/proc/self"), "stat", 1 << 20, <[u8]>::to_vec), None);
    assert_eq!(try_read_cached(&granted("relative"), "ten", 1 << 20, <[u8]>::to_vec), None);
}

#[test]
fn what_is_swapped_meanwhile_is_never_read_outside() {
    let scene = Scene::new();
    if !works(&scene) {
        return;
    }
    scene.write("inside/file", b"inside");
    fs::create_dir(scene.parent.path().join("elsewhere")).unwrap();
    fs::write(scene.parent.path().join("elsewhere/file"), "secret").unwrap();
    symlink(scene.parent.path().join("elsewhere"), scene.root().join("other")).unwrap();
    let done = AtomicBool::new(false);
    let counts = thread::scope(|scope| {
        scope.spawn(|| {
            let [one, two, spare] =
                ["inside", "other", "spare"].map(|name| scene.root().join(name));
            while !done.load(Ordering::Relaxed) {
                for (from, to) in [(&one, &spare), (&two, &one), (&one, &two), (&spare, &one)] {
                    fs::rename(from, to).unwrap();
                }
            }
        });
        let (mut read, mut refused) = (0, 0);
        let until = Instant::now() + Duration::from_secs(20);
        while (read < 2000 || refused < 2000) && Instant::now() < until {
            match scene.cached("inside/file") {
                Some(content) => {
                    assert_eq!(content, b"inside");
                    read += 1;
                }
                None => refused += 1,
            }
        }
        done.store(true, Ordering::Relaxed);
        (read, refused)
    });
    assert!(counts.0 > 0 && counts.1 > 0, "the swap was never met: {counts:?}");
}
