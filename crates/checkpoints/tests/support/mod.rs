//! A project, its store, and trees as they are on the disk.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::allow_attributes,
    clippy::new_without_default,
    clippy::must_use_candidate,
    clippy::unused_self,
    reason = "each test program uses a part of it; a failed unwrap is a failed test"
)]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tempfile::TempDir;
use toolwright_checkpoints::{
    CheckpointError, Checkpoints, Options, Origin, Progress, Restore, Restored, Take, Taken,
};

pub static GO_ON: AtomicBool = AtomicBool::new(false);

pub struct Project {
    pub checkpoints: Checkpoints,
    pub root: TempDir,
    pub store: TempDir,
}

impl Project {
    pub fn new() -> Self {
        Self::with(Options::default())
    }

    pub fn with(options: Options) -> Self {
        let (root, store) =
            (tempfile::tempdir().expect("root"), tempfile::tempdir().expect("store"));
        let checkpoints =
            Checkpoints::open(root.path(), &store.path().join("s"), options).expect("open");
        Self { checkpoints, root, store }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("directory");
        std::fs::write(path, content).expect("write");
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).expect("read")
    }

    pub fn take(&self) -> Taken {
        self.take_by(Origin::Ours)
    }

    pub fn take_by(&self, origin: Origin) -> Taken {
        let take = Take { origin, label: None, reuse: false };
        self.checkpoints.take(take, &GO_ON, &Progress::default()).expect("take")
    }

    pub fn restore(&self, target: i64) -> Result<Restored, CheckpointError> {
        self.restore_with(restore_to(target))
    }

    pub fn restore_with(&self, restore: Restore<'_>) -> Result<Restored, CheckpointError> {
        self.checkpoints.restore(restore, None, &GO_ON, &Progress::default())
    }

    pub fn tree(&self) -> Tree {
        tree(self.root.path())
    }

    pub fn names(&self, taken: &Taken) -> Vec<String> {
        taken.changed.iter().map(|change| change.path.to_string_lossy().into_owned()).collect()
    }
}

pub fn restore_to(target: i64) -> Restore<'static> {
    Restore { target, until: None, paths: &[], dry_run: false, force: false }
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub kind: &'static str,
    pub mode: u32,
    pub mtime: (i64, i64),
    pub content: Vec<u8>,
}

pub type Tree = BTreeMap<OsString, Entry>;

/// Everything below a directory, by paths relative to it.
pub fn tree(root: &Path) -> Tree {
    fn add(root: &Path, directory: &Path, tree: &mut Tree) {
        for entry in std::fs::read_dir(directory).expect("list") {
            let path = entry.expect("entry").path();
            let metadata = path.symlink_metadata().expect("look");
            let kind = metadata.file_type();
            let (kind, content) = if kind.is_symlink() {
                let text = std::fs::read_link(&path).expect("link");
                ("link", text.into_os_string().into_vec())
            } else if kind.is_dir() {
                add(root, &path, tree);
                ("directory", Vec::new())
            } else {
                ("file", std::fs::read(&path).expect("read"))
            };
            let mode = if kind == "link" { 0 } else { metadata.permissions().mode() & 0o7777 };
            let mtime = (metadata.mtime(), metadata.mtime_nsec());
            let name = path.strip_prefix(root).expect("below").as_os_str().to_owned();
            tree.insert(name, Entry { kind, mode, mtime, content });
        }
    }
    let mut tree = Tree::new();
    add(root, root, &mut tree);
    tree
}

pub fn odd(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

pub fn take_by(checkpoints: &Checkpoints, origin: Origin) -> Taken {
    let take = Take { origin, label: None, reuse: true };
    checkpoints.take(take, &GO_ON, &Progress::default()).expect("take")
}

/// A tenth of so many, times `TOOLWRIGHT_SOAK_FACTOR`.
pub fn tenth_of(full: usize) -> usize {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|text| text.parse().ok());
    (full / 10).max(1) * factor.unwrap_or(1)
}

/// The same test again as a child, which finds `argument`.
pub fn child(test: &str, argument: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env("TOOLWRIGHT_CHILD", argument);
    command
}

/// The argument when this process is such a child.
pub fn child_argument() -> Option<String> {
    std::env::var("TOOLWRIGHT_CHILD").ok()
}

/// A small generator of repeatable runs. `TOOLWRIGHT_SEED` seeds it, and the seed is printed.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        let seed = std::env::var("TOOLWRIGHT_SEED").ok().and_then(|text| text.parse().ok());
        let seed = seed.unwrap_or_else(|| u64::from(std::process::id()) * 2_654_435_761);
        println!("seed {seed}");
        Self(seed | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
