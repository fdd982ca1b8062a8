//! A repository of a person, and git itself.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use toolwright_git::index::{Entry, Index, IndexError, Limits, Reading, Source};
use toolwright_git::object::Id;

pub(crate) struct Repository(TempDir);

/// `None`, with a line that says so, where there is no git.
pub(crate) fn repository() -> Option<Repository> {
    let is_there =
        Command::new("git").arg("--version").output().is_ok_and(|it| it.status.success());
    if !is_there {
        println!("skipped: there is no git");
        return None;
    }
    let repository = Repository(tempfile::tempdir().unwrap());
    repository.git(&["init", "-q"]);
    Some(repository)
}

impl Repository {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> Vec<u8> {
        self.fed(arguments, b"")
    }

    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.git(arguments)).unwrap()
    }

    /// Runs git with an input, and fails the test where git fails.
    pub(crate) fn fed(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=A", "-c", "user.email=a@b", "-c", "index.threads=1"]);
        git.args(arguments).current_dir(self.path()).env_clear();
        git.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.path());
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut git = git.spawn().unwrap();
        git.stdin.take().unwrap().write_all(input).unwrap();
        let output = git.wait_with_output().unwrap();
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {problem}");
        output.stdout
    }

    pub(crate) fn put(&self, path: &str, content: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn index(&self) -> Vec<u8> {
        fs::read(self.path().join(".git/index")).unwrap_or_default()
    }

    pub(crate) fn set_index(&self, bytes: &[u8]) {
        fs::write(self.path().join(".git/index"), bytes).unwrap();
    }

    /// The index as this crate reads it.
    pub(crate) fn parsed(&self, source: Source) -> Result<Index, IndexError> {
        self.parse(&self.index(), source)
    }

    pub(crate) fn parse(&self, bytes: &[u8], source: Source) -> Result<Index, IndexError> {
        let shared = |id: &Id| fs::read(self.path().join(format!(".git/sharedindex.{id}"))).ok();
        let tree = |id: &Id| Some(self.git(&["cat-file", "tree", &id.to_string()]));
        let reading = Reading { source, limits: Limits::PERSON, shared: &shared, tree: &tree };
        Index::parse(bytes, &reading)
    }

    /// Entries as git reads them, one text for each.
    pub(crate) fn listed(&self) -> Vec<String> {
        let bytes = self.git(&["ls-files", "--stage", "-v", "--debug", "-z"]);
        let text = String::from_utf8(bytes).unwrap();
        let mut listed = Vec::new();
        let mut rest = &*text;
        while let Some((head, after)) = rest.split_once('\0') {
            let end = after.match_indices('\n').nth(4).unwrap().0 + 1;
            let (facts, after) = after.split_at(end);
            let facts = facts.split_once("flags").unwrap().0;
            listed
                .push(format!("{head}{}", facts.split_whitespace().collect::<Vec<_>>().join(" ")));
            rest = after;
        }
        listed
    }
}

/// A person's index from bytes without a repository.
pub(crate) fn parse(bytes: &[u8], source: Source) -> Result<Index, IndexError> {
    let limits = Limits { bytes: 1 << 20, entries: 10_000 };
    Index::parse(bytes, &Reading { source, limits, shared: &|_| None, tree: &|_| None })
}

/// Entries in the words of [`Repository::listed`].
pub(crate) fn listed(index: &Index) -> Vec<String> {
    let text = |entry: Entry<'_>| {
        let tag = match (entry.skips_worktree(), entry.stage()) {
            (true, _) => 'S',
            (false, 0) => 'H',
            (false, _) => 'M',
        };
        let tag = if entry.is_assumed_valid() { tag.to_ascii_lowercase() } else { tag };
        let (mode, id, stage) = (entry.mode().number(), entry.id(), entry.stage());
        let path = String::from_utf8_lossy(entry.path());
        let number = |at: usize| {
            let bytes = &entry.stat()[4 * at..4 * at + 4];
            u32::from_be_bytes(bytes.try_into().unwrap())
        };
        let facts: Vec<u32> = (0..9).map(number).collect();
        let [c, cn, m, mn, dev, ino, uid, gid, size] = facts[..] else { panic!("nine numbers") };
        format!(
            "{tag} {mode:o} {id} {stage}\t{path}ctime: {c}:{cn} mtime: {m}:{mn} dev: {dev} ino: {ino} uid: {uid} gid: {gid} size: {size}"
        )
    };
    index.entries().map(text).collect()
}
