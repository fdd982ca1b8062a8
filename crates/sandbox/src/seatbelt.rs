//! The profile of macOS's sandbox, and the arguments of the program that applies it.
//!
//! The text of a profile consists of fixed pieces. Paths are parameters beside it, under numbered
//! names, so that no path can change the text.
//!
//! Of two rules on the same subject the later holds. So the rules on paths go from the shorter to
//! the longer path, and those that nothing may undo come last.
//!
//! Rules go by path, where Linux goes by file. A closed or protected path would be open under
//! another name, so no directory above it may be renamed or removed, and it can get no second name.
//! Two gaps remain. A protected path whose parent is missing comes into being when a directory is
//! renamed to that parent. On a disk that ignores case, a missing protected path can be made in
//! another spelling.
//!
//! There is no private loopback interface. Servers on the host's often run code for any client
//! (debuggers, notebooks, container services). So [`Network::PrivateLoopback`] and [`Network::Names`] have none, and only
//! [`Network::HostLoopback`] reaches the host's.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::plan::{Files, Network, Plan};

/// The program, by the one path that no user can write to.
pub const PROGRAM: &str = "/usr/bin/sandbox-exec";

const BASE: &str = include_str!("seatbelt/base.sb");

/// The arguments of [`PROGRAM`] that precede the command. `temporary` is writable beside the plan's
/// directories, and like them without links.
#[must_use]
pub fn arguments(plan: &Plan, temporary: &Path) -> Vec<OsString> {
    let mut profile = Profile { text: BASE.to_owned(), parameters: BTreeMap::new() };
    if plan.files == Files::Full {
        profile.text.push_str("\n(allow file-write*)\n");
        profile.text.push_str("(if (defined? 'file-link) (allow file-link))\n");
    }
    let mut marks = marks(plan, temporary);
    marks.sort_by_key(|(path, mark)| (path.components().count(), *mark));
    for (path, mark) in marks {
        profile.rules(mark.name(), path, mark.rules());
    }
    for path in plan.protected.iter().chain(&plan.forks) {
        profile.rules("PROTECTED", path, PROTECTED);
    }
    for path in pins(plan, temporary) {
        profile.rules("PIN", &path, PIN);
    }
    // Such a file later runs with the rights of its maker.
    profile.text.push_str("(deny file-write-setugid)\n");
    profile.text.push_str(match plan.network {
        Network::Open => include_str!("seatbelt/open.sb"),
        Network::HostLoopback => include_str!("seatbelt/loopback.sb"),
        Network::PrivateLoopback | Network::Nothing | Network::Names => {
            include_str!("seatbelt/nothing.sb")
        }
    });
    profile.arguments()
}

/// The rules on a path and everything below it. Of two on the same path the later holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Closed,
    Readable,
    Writable,
}

impl Mark {
    fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::Readable => "READABLE",
            Self::Writable => "WRITABLE",
        }
    }

    fn rules(self) -> &'static [Rule] {
        match self {
            // Names and attributes stay visible, as on Linux: listings of the directory above fail
            // otherwise.
            Self::Closed => &[
                Rule::Tree("deny file-read* file-write*"),
                Rule::Tree("allow file-read-metadata"),
                Rule::Link("deny"),
            ],
            Self::Readable => &[Rule::Tree("allow file-read*")],
            Self::Writable => &[Rule::Tree("allow file-read* file-write*"), Rule::Link("allow")],
        }
    }
}

const PROTECTED: &[Rule] = &[Rule::Tree("deny file-write*"), Rule::Link("deny")];

const PIN: &[Rule] = &[Rule::Itself("deny file-write-unlink")];

/// A rule about a path.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// It and all below it; the path itself is named again because it may be a file.
    Tree(&'static str),
    /// It alone.
    Itself(&'static str),
    /// A second name for it, or for what is below. Newer than the other operations.
    Link(&'static str),
}

struct Profile {
    text: String,
    parameters: BTreeMap<String, PathBuf>,
}

impl Profile {
    fn rules(&mut self, name: &str, path: &Path, rules: &[Rule]) {
        let name = format!("{name}_{}", self.parameters.len());
        for rule in rules {
            let itself = format!("(literal (param \"{name}\"))");
            let below = format!("(subpath (param \"{name}\"))");
            // Writing to a string cannot fail.
            let _ = match rule {
                Rule::Tree(what) => writeln!(self.text, "({what} {itself} {below})"),
                Rule::Itself(what) => writeln!(self.text, "({what} {itself})"),
                Rule::Link(what) => writeln!(
                    self.text,
                    "(if (defined? 'file-link) ({what} file-link {itself} {below}))"
                ),
            };
        }
        self.parameters.insert(name, path.to_owned());
    }

    fn arguments(self) -> Vec<OsString> {
        let mut arguments = vec![OsString::from("-p"), self.text.into()];
        for (name, path) in self.parameters {
            let mut definition = OsString::from(name);
            definition.push("=");
            definition.push(path);
            arguments.extend([OsString::from("-D"), definition]);
        }
        arguments.push("--".into());
        arguments
    }
}

fn marks<'a>(plan: &'a Plan, temporary: &'a Path) -> Vec<(&'a Path, Mark)> {
    let closed = plan.closed.iter().map(|path| (path.as_path(), Mark::Closed));
    let readable = plan.readable.iter().map(|path| (path.as_path(), Mark::Readable));
    let writable = plan.writable.iter().map(|path| (path.as_path(), Mark::Writable));
    closed.chain(readable).chain(writable).chain([(temporary, Mark::Writable)]).collect()
}

/// Paths that must keep their names: the writable directories, by which plans are made, and every
/// directory above a closed or protected path that could be renamed.
fn pins(plan: &Plan, temporary: &Path) -> BTreeSet<PathBuf> {
    let writable = || plan.writable.iter().map(PathBuf::as_path).chain([temporary]);
    let can_be_renamed = |path: &&Path| {
        plan.files == Files::Full || writable().any(|writable| path.starts_with(writable))
    };
    let refused = plan.closed.iter().chain(&plan.protected).chain(&plan.forks);
    let ancestors = refused.flat_map(|path| path.ancestors().skip(1));
    let is_below_the_top = |path: &&Path| path.parent().is_some();
    let ancestors = ancestors.filter(is_below_the_top).filter(can_be_renamed);
    ancestors.chain(writable()).map(Path::to_owned).collect()
}
