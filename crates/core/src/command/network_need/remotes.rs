//! Git: which operations only talk to a remote, and whether that may be a directory of this machine.

use std::path::{Path, PathBuf};

use toolwright_git::config::Config;
use toolwright_git::directory::Directory;

use super::options::Valued;
use super::{Need, Operands, Scene, is_local_path};

const GIT: Valued = Valued {
    letters: "",
    names: "-C -c --exec-path --git-dir --namespace --work-tree --config-env --super-prefix --attr-source",
    flags: "",
};

/// The longest configuration that is read.
const MAX_CONFIG: u64 = 1 << 20;

fn valued(operation: &str) -> Option<Valued> {
    let (letters, names) = match operation {
        "push" => ("o", "--push-option --receive-pack --exec --repo"),
        "fetch" => (
            "oj",
            "--depth --deepen --shallow-since --shallow-exclude --server-option --upload-pack --refmap --negotiation-tip --jobs",
        ),
        "pull" => (
            "osXj",
            "--depth --deepen --shallow-since --shallow-exclude --server-option --upload-pack --refmap --negotiation-tip --jobs --strategy
             --strategy-option",
        ),
        "clone" => (
            "obucj",
            "--origin --branch --upload-pack --reference --reference-if-able --depth --shallow-since --shallow-exclude --template --config
             --separate-git-dir --jobs --server-option --bundle-uri --revision",
        ),
        "ls-remote" => ("o", "--upload-pack --exec --sort --server-option"),
        _ => return None,
    };
    Some(Valued { letters, names, flags: "" })
}

pub(super) fn need(arguments: &[Option<String>], scene: &Scene<'_>) -> Option<Need> {
    let mut directory = scene.directory.clone();
    let mut rest = arguments.iter();
    let operation = loop {
        let word = rest.next()?.as_deref()?;
        if word == "-C" {
            let to = rest.next()?.as_deref()?;
            directory = directory.map(|directory| directory.join(to));
        } else if GIT.names.split_whitespace().any(|name| name == word) {
            rest.next();
        } else if !word.starts_with('-') {
            break word;
        }
    };
    let read = Operands::read(rest.as_slice(), valued(operation)?);
    let is_elsewhere = scene.variables.iter().any(|(name, _)| name.starts_with("GIT_"));
    if read.has_unknown || is_elsewhere || read.has(&["--help", "-h"]) {
        return None;
    }
    let found = Need::Remote(format!("git {operation}"));
    let known = |is_one: &dyn Fn(&str) -> bool| match &directory {
        Some(directory) => Remotes::of(directory).is_local(is_one),
        None => true,
    };
    let is_all = read.has(&["--all", "--multiple"]) && operation == "fetch";
    let named = read.values(&["--repo"]).next().or_else(|| read.words.first().copied().flatten());
    let may_be_here = match named {
        Some(source) if operation == "clone" => !is_other_machine(source),
        Some(remote) if !is_all => {
            is_local_path(remote)
                || (remote.contains('/') && !is_other_machine(remote))
                || is_repository(directory.as_deref(), remote)
                || (!is_other_machine(remote) && known(&|name| name == remote))
        }
        _ => operation != "clone" && known(&|_| true),
    };
    (!may_be_here).then_some(found)
}

/// An address with a scheme, or `host:path`.
fn is_other_machine(remote: &str) -> bool {
    let colon = remote.find(':');
    let slash = remote.find('/').unwrap_or(remote.len());
    !remote.starts_with("file:") && colon.is_some_and(|colon| colon < slash)
}

fn is_repository(directory: Option<&Path>, name: &str) -> bool {
    directory.is_some_and(|directory| {
        let path = directory.join(name);
        path.join("HEAD").is_file() || path.join(".git").exists()
    })
}

/// The addresses of the remotes of a repository.
struct Remotes {
    config: Option<Config>,
}

impl Remotes {
    fn of(directory: &Path) -> Self {
        let git = directory.ancestors().map(|at| at.join(".git")).find(|git| git.exists());
        let git = git.or_else(|| directory.join("HEAD").is_file().then(|| directory.to_owned()));
        let text = git.and_then(|git| read(&common_directory(&git), "config"));
        Self { config: text.and_then(|text| Config::parse(&text)) }
    }

    /// Whether a remote has an address of this machine, or addresses are written anew.
    fn is_local(&self, is_one: &dyn Fn(&str) -> bool) -> bool {
        let Some(config) = &self.config else { return false };
        config.by_name().into_iter().any(|(name, values)| {
            let name = String::from_utf8_lossy(name);
            if name.starts_with("url.") {
                return true;
            }
            let remote = name.strip_prefix("remote.").and_then(|rest| {
                rest.strip_suffix(".url").or_else(|| rest.strip_suffix(".pushurl"))
            });
            let is_here = |value: &&toolwright_git::config::Value| {
                value.as_deref().is_some_and(|url| !is_other_machine(&String::from_utf8_lossy(url)))
            };
            remote.is_some_and(is_one) && values.iter().any(is_here)
        })
    }
}

/// The git directory that has the configuration, of a `.git` that may be a file.
fn common_directory(git: &Path) -> PathBuf {
    let line = |directory: &Path, name: &str| {
        let text = String::from_utf8(read(directory, name)?).ok()?;
        Some(text.trim().to_owned())
    };
    let of_file = || {
        let parent = git.parent()?;
        Some(parent.join(line(parent, ".git")?.strip_prefix("gitdir:")?.trim()))
    };
    let own = if git.is_file() { of_file() } else { None }.unwrap_or_else(|| git.to_owned());
    match line(&own, "commondir") {
        Some(common) => own.join(common),
        None => own,
    }
}

/// A file that a command could have made.
fn read(directory: &Path, name: &str) -> Option<Vec<u8>> {
    Directory::open(directory).ok()?.read(name, MAX_CONFIG).ok()?
}
