//! A tree to search, and an opener that cannot leave it.

#![expect(dead_code, reason = "not every test needs all of it")]

pub(crate) mod rg;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use tempfile::TempDir;
use toolwright_search::{
    CutAdvice, GrepError, GrepOptions, GrepRequest, GrepText, Parallelism, grep,
};

pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    _dir: TempDir,
}

impl Tree {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let root = dir.path().canonicalize().expect("real path").join("root");
        fs::create_dir(&root).expect("root");
        let tree = Self { root, _dir: dir };
        for (path, content) in files {
            tree.write(path, content);
        }
        tree
    }

    pub(crate) fn write(&self, path: &str, content: &[u8]) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("parent")).expect("directory");
        fs::write(path, content).expect("file");
    }

    /// Makes a repository of a directory, with what git itself looks for.
    pub(crate) fn make_repository(&self, directory: &str) {
        let git = self.root.join(directory).join(".git");
        for part in ["objects", "refs"] {
            fs::create_dir_all(git.join(part)).expect("directory");
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("file");
    }

    pub(crate) fn request<'a>(
        &'a self,
        pattern: &'a str,
        cancel: &'a AtomicBool,
    ) -> GrepRequest<'a> {
        GrepRequest {
            root: &self.root,
            start: Path::new(""),
            display: Path::new(""),
            pattern,
            max_output_bytes: 1 << 20,
            deadline: None,
            cancel,
            parallelism: Parallelism::default(),
            advice: CutAdvice::default(),
            options: GrepOptions::default(),
        }
    }

    pub(crate) fn run(&self, request: &GrepRequest<'_>) -> Result<GrepText, GrepError> {
        let root = File::open(&self.root).expect("root");
        grep(request, &|path| beneath(&root, path))
    }

    pub(crate) fn run_on(
        &self,
        request: &GrepRequest<'_>,
        threads: usize,
    ) -> Result<GrepText, GrepError> {
        let root = File::open(&self.root).expect("root");
        let parallelism = Parallelism { threshold: 0, threads: Some(threads) };
        grep(&GrepRequest { parallelism, ..*request }, &|path| beneath(&root, path))
    }
}

pub(crate) fn soak() -> u32 {
    std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|f| f.parse().ok()).unwrap_or(1)
}

/// Opens below `root` and nowhere else.
pub(crate) fn beneath(root: &File, path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(File::from(openat2(root, path, flags, Mode::empty(), ResolveFlags::BENEATH)?))
}
