//! Repositories that real git makes.

pub(crate) mod packs;
pub(crate) mod pair;

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use toolwright_git::directory::Directory;
use toolwright_git::object::{Id, Kind};

/// A repository in a temporary directory.
pub(crate) struct Repository {
    directory: TempDir,
}

/// Whether git is there. A test that needs it says so and ends.
pub(crate) fn has_git() -> bool {
    let found = Command::new("git").arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        println!("skipped: there is no git");
    }
    found
}

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self { directory: tempfile::tempdir().unwrap() };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.path().join(".git/objects")
    }

    pub(crate) fn directory(&self) -> Directory {
        Directory::open(&self.objects().canonicalize().unwrap()).unwrap()
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) -> Id {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.id("HEAD")
    }

    pub(crate) fn id(&self, name: &str) -> Id {
        self.git(&["rev-parse", name]).trim().parse().unwrap()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, b"");
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = git(self.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    /// Every object of it, with its kind and content, as git reads them.
    pub(crate) fn contents(&self) -> Vec<(Id, Kind, Vec<u8>)> {
        let output = self.run(&["cat-file", "--batch-all-objects", "--batch"], b"");
        assert!(output.status.success());
        let mut rest = &output.stdout[..];
        let mut contents = Vec::new();
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
            let header = String::from_utf8(rest[..end].to_vec()).unwrap();
            let words: Vec<&str> = header.split(' ').collect();
            let size: usize = words[2].parse().unwrap();
            let content = rest[end + 1..][..size].to_vec();
            rest = &rest[end + size + 2..];
            let kind = Kind::named(words[1].as_bytes()).unwrap();
            contents.push((words[0].parse().unwrap(), kind, content));
        }
        contents
    }

    /// Makes commits, each with a longer file, in one process.
    pub(crate) fn grow(&self, count: usize) {
        let mut stream = String::new();
        let mut text = String::new();
        for number in 0..count {
            writeln!(text, "line {number} of a file that grows, {}", number * 7919).unwrap();
            let from = if number == 0 { "from refs/heads/main^0\n" } else { "" };
            write!(
                stream,
                "commit refs/heads/main\ncommitter C <c> {} +0000\ndata 4\ngrow\n{from}\
                 M 644 inline grows\ndata {}\n{text}\n",
                1_700_000_000 + number,
                text.len()
            )
            .unwrap();
        }
        let output = self.run(&["fast-import", "--quiet"], stream.as_bytes());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.git(&["reset", "-q", "--hard"]);
    }

    /// Asserts that fsck finds nothing wrong.
    pub(crate) fn fsck(&self) {
        let output = self.run(&["fsck", "--strict", "--full", "--no-dangling"], b"");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
    }
}

/// git that reads no settings of this machine.
pub(crate) fn git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/nonexistent")
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "A U Thor")
        .env("GIT_AUTHOR_EMAIL", "author@example.com")
        .env("GIT_COMMITTER_NAME", "C O Mitter")
        .env("GIT_COMMITTER_EMAIL", "committer@example.com");
    command
}

/// A directory of objects that has only what a command adds to a repository: the objects of the repository
/// are its alternates.
pub(crate) struct Fork {
    pub(crate) repository: Repository,
}

impl Fork {
    pub(crate) fn of(base: &Repository) -> Self {
        let repository = Repository { directory: tempfile::tempdir().unwrap() };
        let from = base.path().join(".git");
        let to = repository.path().join(".git");
        copy(&from, &to);
        fs::remove_dir_all(to.join("objects")).unwrap();
        fs::create_dir_all(to.join("objects/info")).unwrap();
        let alternates = format!("{}\n", base.objects().display());
        fs::write(to.join("objects/info/alternates"), alternates).unwrap();
        if repository.run(&["rev-parse", "-q", "--verify", "HEAD"], b"").status.success() {
            repository.git(&["checkout", "-q", "-f", "HEAD", "--", "."]);
        }
        Self { repository }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Writes a loose object, however wrong, under a name.
pub(crate) fn plant(objects: &Path, id: &Id, stream: &[u8]) {
    let hex = id.to_string();
    let directory = objects.join(&hex[..2]);
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join(&hex[2..]);
    let _ = fs::remove_file(&path);
    fs::write(path, stream).unwrap();
}

/// The loose form of an object.
pub(crate) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Header and content of an object.
pub(crate) fn raw(kind: Kind, content: &[u8]) -> Vec<u8> {
    [format!("{} {}\0", kind.name(), content.len()).as_bytes(), content].concat()
}

/// Plants a whole object under its own name.
pub(crate) fn plant_object(objects: &Path, kind: Kind, content: &[u8]) -> Id {
    let id = Id::of(kind, content);
    plant(objects, &id, &deflate(&raw(kind, content)));
    id
}
