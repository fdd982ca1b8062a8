//! Whether a command has made a repository, and the empty one that the host makes for it.

use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;

use super::borrowed_objects;
use crate::config::{self, Config, New, Scope};
use crate::directory::Directory;
use crate::import::Terms;
use crate::import::read::Failure;
use crate::import::settings::MAX_CONFIG;
use crate::import::template;
use crate::object::Id;
use crate::refs::Head;
use crate::transaction::{failpoint, files};
use crate::upper::{Node, Upper};

/// No `HEAD` is longer.
const MAX_HEAD: u64 = 4 << 10;
/// A longer list of commits at which the history ends is not read.
const MAX_SHALLOW: u64 = 16 << 20;
/// What git begins with.
const DIRECTORIES: [&str; 7] =
    ["info", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags"];
/// The mode of a file, before the mask of the process.
const MODE: u32 = 0o666;

/// What is known of a repository before its objects and references are read.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) head: Head,
    /// The command's settings.
    pub(super) view: Vec<u8>,
    /// Those of them that are not carried over.
    pub(super) refused: Vec<String>,
    config: Vec<u8>,
    shallow: Option<Vec<u8>>,
    lenders: Vec<PathBuf>,
    is_described: bool,
}

impl Judged {
    pub(super) fn read(upper: &Upper, new: &New<'_>, terms: &Terms<'_>) -> Result<Self, Failure> {
        for name in ["objects", "refs"] {
            if !matches!(upper.entry(name)?, Node::Directory { .. }) {
                return Err(failed(&format!("it is no repository: it has no {name}")));
            }
        }
        let view = upper.read("config", MAX_CONFIG)?.unwrap_or_default();
        let config_policy = config::Policy {
            scope: Scope::Repository,
            top: terms.top.as_deref(),
            is_writable: &terms.is_writable,
            is_readable: &terms.is_readable,
            holds_worktree_config: true,
            is_strict: false,
            others: &[],
        };
        if is_partial(&view) {
            return Err(failed(
                "it is a clone with a filter, which lacks objects that git would fetch",
            ));
        }
        let fresh = config::fresh(&view, new, &config_policy);
        let (config, refused) = fresh.map_err(|error| failed(&format!("its settings: {error}")))?;
        let head = upper.read("HEAD", MAX_HEAD)?.and_then(|text| Head::parse(&text).ok());
        let head = head.ok_or_else(|| failed("it is no repository: HEAD leads nowhere"))?;
        let lenders = borrowed_objects::lenders(upper, terms)?;
        let shallow = upper.read("shallow", MAX_SHALLOW)?;
        if shallow.as_deref().is_some_and(|text| !is_list_of_commits(text)) {
            return Err(failed("its list of commits without parents is none"));
        }
        let is_described = template::is_described_by_git(upper);
        Ok(Self { head, view, refused, config, shallow, lenders, is_described })
    }

    /// Writes the empty repository.
    pub(super) fn write(&self, git: &Directory) -> Result<(), Failure> {
        for path in DIRECTORIES {
            failpoint::pass();
            match rustix::fs::mkdirat(git, path, Mode::from(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(std::io::Error::from(errno).into()),
            }
        }
        let write = |path: &str, text: &[u8]| -> Result<(), Failure> {
            let file = files::create(git, Path::new(path), MODE)?;
            Ok(files::write(&file, text)?)
        };
        write("config", &self.config)?;
        if self.is_described {
            write(template::DESCRIPTION, template::UNNAMED)?;
        }
        if let Some(shallow) = self.shallow.as_ref().filter(|shallow| !shallow.is_empty()) {
            write("shallow", shallow)?;
        }
        // A commit that is checked out comes later: it is not there yet.
        let head = match &self.head {
            Head::Branch(_) => self.head.content(),
            Head::Detached(_) => b"ref: refs/heads/main\n".to_vec(),
        };
        write("HEAD", &head)?;
        for lender in &self.lenders {
            let objects = git.below("objects")?.ok_or_else(|| failed("it is gone"))?;
            borrowed_objects::link_all(lender, &objects)?;
        }
        Ok(())
    }
}

pub(super) fn failed(reason: &str) -> Failure {
    Failure::Unreadable(reason.to_owned())
}

fn is_list_of_commits(text: &[u8]) -> bool {
    let lines = text.strip_suffix(b"\n").unwrap_or(text);
    text.is_empty() || lines.split(|byte| *byte == b'\n').all(|line| Id::from_hex(line).is_ok())
}

/// Whether another repository is to give objects that are missing.
fn is_partial(view: &[u8]) -> bool {
    let Some(config) = Config::parse(view) else { return false };
    config.settings().iter().any(|setting| {
        setting.name == b"extensions.partialclone"
            || setting.name.starts_with(b"remote.") && setting.name.ends_with(b".promisor")
    })
}
