//! Trees, soak counts and child processes for the integration tests of this crate.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "each test program uses a part of it; a failed unwrap is a failed test"
)]

pub mod children;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;
use toolwright_fs::{FsError, FsErrorKind, Resolver, Root};

pub static NEVER: AtomicBool = AtomicBool::new(false);

/// Ends the threads of an attack when it is dropped, also when the attacked call panics: the scope waits for them.
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The acceptance count divided by ten, unless `TOOLWRIGHT_SOAK_FACTOR=10` asks for all of it.
pub fn tenth_of(full: usize) -> usize {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    (full / 10).max(1) * factor
}

/// The kind of a failure. Both kinds of protected files count as one.
pub fn kind(error: &FsError) -> &'static str {
    match error.kind {
        FsErrorKind::PathInvalid { .. } => "PathInvalid",
        FsErrorKind::Escape { .. } => "Escape",
        FsErrorKind::Protected { .. } | FsErrorKind::Git { .. } | FsErrorKind::Reserved => {
            "Protected"
        }
        FsErrorKind::NotFound => "NotFound",
        FsErrorKind::Exists => "Exists",
        FsErrorKind::TooManyFiles { .. } => "TooManyFiles",
        FsErrorKind::NotAFile { .. } => "NotAFile",
        FsErrorKind::NotADirectory => "NotADirectory",
        FsErrorKind::Permission { .. } => "Permission",
        FsErrorKind::TooLarge { .. } => "TooLarge",
        FsErrorKind::Conflict => "Conflict",
        FsErrorKind::Busy { .. } => "Busy",
        FsErrorKind::NotReplaceable { .. } => "NotReplaceable",
        FsErrorKind::Root { .. } => "Root",
        FsErrorKind::RootChanged { .. } => "RootChanged",
        FsErrorKind::ForkFull { .. } => "ForkFull",
        FsErrorKind::Io { .. } => "Io",
        FsErrorKind::Cancelled => "Cancelled",
    }
}

/// A directory `root` beside a directory `outside` that nothing may reach.
pub struct Tree {
    pub base: TempDir,
    pub root: PathBuf,
    pub outside: PathBuf,
}

impl Tree {
    pub fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let (root, outside) = (base.path().join("root"), base.path().join("outside"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("secret"), "secret").unwrap();
        Self { base, root, outside }
    }

    pub fn open(&self) -> Root {
        Root::open(&self.root).unwrap()
    }

    pub fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn get(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.root.join(path)).unwrap()
    }

    pub fn link(&self, target: impl AsRef<Path>, path: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// Names of everything below the root, sorted.
    pub fn listing(&self) -> Vec<String> {
        let mut names = Vec::new();
        list(&self.root, &self.root, &mut names);
        names.sort();
        names
    }

    /// Names of temporary files below the root.
    pub fn leftovers(&self) -> Vec<String> {
        self.listing().into_iter().filter(|name| name.contains(".toolwright-")).collect()
    }
}

fn list(base: &Path, directory: &Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        names.push(path.strip_prefix(base).unwrap().to_string_lossy().into_owned());
        if path.symlink_metadata().unwrap().is_dir() {
            list(base, &path, names);
        }
    }
}

/// Everything in a tree that a failed call must leave alone: names, kinds, modes, owners, content
/// and link targets.
pub fn snapshot(directory: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    let mut names = Vec::new();
    list(directory, directory, &mut names);
    names.sort();
    names.push(String::new());
    let described = names.into_iter().map(|name| {
        let path = directory.join(&name);
        let meta = path.symlink_metadata().unwrap();
        let content = if meta.is_file() {
            format!("{:?}", std::fs::read(&path).map(|bytes| (bytes.len(), checksum(&bytes))).ok())
        } else {
            format!("{:?}", std::fs::read_link(&path).ok())
        };
        format!("{name} {:o} {}:{} {content}", meta.mode(), meta.uid(), meta.gid())
    });
    described.collect()
}

pub fn checksum(bytes: &[u8]) -> u64 {
    // FNV-1a
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

pub fn fifo(path: &Path) {
    // macOS has no call for it beside a directory.
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Content that shows its version in every part, so that a mixture is noticed.
pub fn self_checking(tag: u64, length: usize) -> Vec<u8> {
    let mut bytes = format!("{tag:016x}{length:08x}").into_bytes();
    let mut body = bytes.repeat(length / bytes.len() + 1);
    body.truncate(length);
    bytes.append(&mut body);
    bytes.push(b'$');
    bytes
}

/// The tag of such content, or `None` if it is not exactly one complete version.
pub fn checked(bytes: &[u8]) -> Option<u64> {
    let head = std::str::from_utf8(bytes.get(..24)?).ok()?;
    let tag = u64::from_str_radix(&head[..16], 16).ok()?;
    let length = usize::from_str_radix(&head[16..], 16).ok()?;
    (length < 1 << 30 && bytes == self_checking(tag, length)).then_some(tag)
}

/// Both resolvers, for tests that must pass with each.
pub const RESOLVERS: [Resolver; 2] = [Resolver::Automatic, Resolver::Walk];

/// This test program again, running only `test`, with `TOOLWRIGHT_CHILD` set to `argument`.
pub fn child(test: &str, argument: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
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
        let seed = std::env::var("TOOLWRIGHT_SEED")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| u64::from(std::process::id()) * 2_654_435_761);
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
