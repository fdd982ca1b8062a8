//! A work tree whose git directory is taken away, and brought back.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toolwright_git::config::New;
use toolwright_git::directory::Directory;
use toolwright_git::import::{self, Made, Terms};

/// A directory with a work tree `w`, as a root in which commands write.
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    /// `None`: git is not there.
    pub(crate) fn new() -> Option<Self> {
        let has = Command::new("git").arg("--version").output().is_ok_and(|it| it.status.success());
        if !has {
            eprintln!("left out: git is not there");
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let place = Self { directory };
        fs::create_dir(place.path().join("w")).expect("a directory");
        Some(place)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("a path")
    }

    /// The output of a script that succeeds, here.
    pub(crate) fn sh(&self, script: &str) -> String {
        let output = command("sh", &self.path()).arg("-ec").arg(script).output().expect("sh");
        assert!(output.status.success(), "{script}\n{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn open(&self, path: &str) -> Directory {
        Directory::open(&self.path().join(path).canonicalize().expect("a path")).expect("open")
    }

    /// Commands write in `w` and beside it, and not where remotes are.
    pub(crate) fn terms(&self, git: &str) -> Terms<'static> {
        let (path, remotes) = (self.path(), self.path().join("remotes"));
        let git = path.join(git);
        let top = (git.file_name() == Some(".git".as_ref())).then(|| git.parent()).flatten();
        Terms {
            top: top.map(Path::to_owned),
            git,
            is_writable: Box::new(move |it| {
                it != path && it.starts_with(&path) && !it.starts_with(&remotes)
            }),
            is_readable: Box::new(|_| true),
            is_strict: false,
            holds_git_directories: true,
            lent: Vec::new(),
        }
    }

    /// Takes a git directory away, as one that a command has made in memory, and makes it anew. What git says
    /// of it before and afterwards is the same.
    pub(crate) fn bring_back(&self, git: &str, new: &New<'_>) -> Made {
        self.sh(&format!("mv {git} content; mkdir {git}"));
        let (host, content) = (self.open(git), self.open("content"));
        import::create(&host, &content, new, &self.terms(git))
    }

    /// Runs a script where the git directory of `w` is an overlay, and opens what it has changed. `None`: there
    /// are no overlays here.
    pub(crate) fn in_overlay(&self, script: &str) -> Option<(tempfile::TempDir, Directory)> {
        let directory = tempfile::tempdir().expect("a directory");
        let place = directory.path().canonicalize().expect("a path");
        for name in ["upper", "work"] {
            fs::create_dir(place.join(name)).expect("a directory");
        }
        let mount = format!(
            "mount -t overlay -o userxattr,lowerdir=w/.git,upperdir={0}/upper,workdir={0}/work overlay w/.git || exit 99
             trap 'chmod 700 {0}/work/work' EXIT",
            place.display()
        );
        let output = command("unshare", &self.path())
            .args(["-Urm", "sh", "-ec", &format!("{mount}\n{script}")])
            .output()
            .ok()?;
        if output.status.code() == Some(99) {
            eprintln!("left out: no overlay here: {}", String::from_utf8_lossy(&output.stderr));
            return None;
        }
        assert!(output.status.success(), "{script}\n{output:?}");
        let upper = Directory::open(&place.join("upper")).expect("open");
        Some((directory, upper))
    }

    /// Whether nothing is in a directory.
    pub(crate) fn is_empty(&self, path: &str) -> bool {
        fs::read_dir(self.path().join(path)).expect("a directory").next().is_none()
    }
}

/// What git says of a repository, in a directory of its work tree or of its own.
pub(crate) fn said(place: &Place, directory: &str) -> String {
    place.sh(&format!(
        "cd {directory}
         git for-each-ref --format='%(refname) %(objectname) %(symref)'
         cat $(git rev-parse --git-dir)/HEAD
         git rev-list --objects --all | sort
         if [ $(git rev-parse --is-bare-repository) = false ]; then
             git status --porcelain=v2 --branch; git ls-files -s; git stash list; git submodule status --recursive
         fi
         git fsck --strict --no-progress 2>&1
         git log -g --all --format='%gD %gs' 2>&1 | sort || true
         git log -g --format='%gD %gs' HEAD 2>&1 || true
         git config --local --list | sort | grep -v '^core.repositoryformatversion'
         git worktree list"
    ))
}

pub(crate) fn command(program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_COUNT", "3")
        .env("GIT_CONFIG_KEY_0", "core.fsync")
        .env("GIT_CONFIG_VALUE_0", "none")
        .env("GIT_CONFIG_KEY_1", "protocol.file.allow")
        .env("GIT_CONFIG_VALUE_1", "always")
        .env("GIT_CONFIG_KEY_2", "init.defaultBranch")
        .env("GIT_CONFIG_VALUE_2", "main")
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_COMMITTER_NAME", "C")
        .env("GIT_COMMITTER_EMAIL", "c@example.com")
        .env("GIT_AUTHOR_DATE", "1700000000 +0000")
        .env("GIT_COMMITTER_DATE", "1700000000 +0000")
        .env("GIT_EDITOR", "true")
        .env("LC_ALL", "C");
    command
}

/// One of so many cases in an ordinary run, all of them in a soak. Which ones, the seed decides.
pub(crate) struct Sample {
    every: u64,
    next: Cell<u64>,
}

impl Sample {
    pub(crate) fn new(every: u64) -> Self {
        let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
        let seed = number("TOOLWRIGHT_SEED").unwrap_or_else(|| u64::from(std::process::id()));
        let every = if number("TOOLWRIGHT_SOAK_FACTOR").unwrap_or(1) >= 10 { 1 } else { every };
        Self { every, next: Cell::new(seed) }
    }

    pub(crate) fn has_next(&self) -> bool {
        let next = self.next.get();
        self.next.set(next.wrapping_add(1));
        next.is_multiple_of(self.every)
    }
}
