//! A repository, and an overlay of its git directory in which commands run.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "each test uses a part of it"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use toolwright_git::directory::Directory;
use toolwright_git::upper::Upper;

/// Whether git is there. A test that needs it says that it is left out.
pub fn has_git() -> bool {
    let has =
        Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has {
        eprintln!("left out: git is not there");
    }
    has
}

/// A repository in a directory of its own.
pub struct Repository {
    directory: tempfile::TempDir,
    uppers: std::cell::Cell<u32>,
}

impl Repository {
    /// A repository with a commit on `main`.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let repository = Self { directory, uppers: std::cell::Cell::new(0) };
        fs::create_dir(repository.path()).expect("a directory");
        repository.git("init -q -b main .");
        repository.sh("echo one > f; git add f; git commit -qm one");
        repository
    }

    /// A directory for uppers that are made by hand.
    pub fn by_hand_only() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        Self { directory, uppers: std::cell::Cell::new(0) }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("repository")
    }

    pub fn directory(&self) -> Directory {
        Directory::open(&self.path().join(".git").canonicalize().expect("a path")).expect("open")
    }

    /// The output of a git command that succeeds.
    pub fn git(&self, arguments: &str) -> String {
        self.sh(&format!("git {arguments}"))
    }

    /// The output of a script that succeeds.
    pub fn sh(&self, script: &str) -> String {
        let output = command("sh", &self.path()).arg("-ec").arg(script).output().expect("sh");
        text(script, &output)
    }

    /// Runs a script in an overlay of the git directory. `None`: there are no overlays here.
    pub fn in_overlay(&self, script: &str) -> Option<(Upper, String)> {
        let (upper, work) = self.make_upper();
        let git = self.path().join(".git");
        let mount = format!(
            "mount -t overlay -o userxattr,lowerdir={0},upperdir={1},workdir={2} overlay {0} || exit 99",
            git.display(),
            upper.display(),
            work.display(),
        );
        let output = command("unshare", &self.path())
            .args(["-Urm", "sh", "-c", &format!("{mount}\ncd .; {script}")])
            .output()
            .ok()?;
        if output.status.code() == Some(99) || !self.has_namespaces() {
            eprintln!("left out: no overlay here: {}", String::from_utf8_lossy(&output.stderr));
            return None;
        }
        Some((open(&upper), text(script, &output)))
    }

    /// An upper directory that is made by hand. A directory with a file `.opaque` becomes opaque.
    pub fn by_hand(&self, script: &str) -> Upper {
        let (upper, _) = self.make_upper();
        let output = command("sh", &upper).arg("-ec").arg(script).output().expect("sh");
        text(script, &output);
        mark(&upper);
        open(&upper)
    }

    fn has_namespaces(&self) -> bool {
        let status = command("unshare", &self.path()).args(["-Urm", "true"]).status();
        status.is_ok_and(|status| status.success())
    }

    fn make_upper(&self) -> (PathBuf, PathBuf) {
        let number = self.uppers.get();
        self.uppers.set(number + 1);
        let (upper, work) = (format!("upper{number}"), format!("work{number}"));
        let (upper, work) = (self.directory.path().join(upper), self.directory.path().join(work));
        fs::create_dir(&upper).expect("a directory");
        fs::create_dir(&work).expect("a directory");
        (upper, work)
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        // The kernel makes a directory in the work directory that nobody may read.
        for number in 0..self.uppers.get() {
            let work = self.directory.path().join(format!("work{number}/work"));
            let _ = fs::set_permissions(work, fs::Permissions::from_mode(0o700));
        }
    }
}

fn mark(directory: &Path) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        if entry.file_name() == ".opaque" {
            fs::remove_file(entry.path()).expect("a file");
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(directory, "user.overlay.opaque", b"y", flags)
                .expect("attributes");
        } else if entry.file_type().expect("a type").is_dir() {
            mark(&entry.path());
        }
    }
}

fn open(path: &Path) -> Upper {
    Directory::open(&path.canonicalize().expect("a path")).expect("open").into()
}

fn command(program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.fsync")
        .env("GIT_CONFIG_VALUE_0", "none")
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_COMMITTER_NAME", "C")
        .env("GIT_COMMITTER_EMAIL", "c@example.com")
        .env("GIT_EDITOR", "true")
        .env("LC_ALL", "C");
    command
}

fn text(script: &str, output: &Output) -> String {
    assert!(output.status.success(), "{script}\n{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
