//! Patterns for paths: `*` stays within a name, `**` crosses directories.

use std::path::{Path, PathBuf};

use crate::error::{Problem, quoted};
use crate::glob::Glob;
use crate::variables::{Anchored, Base, Variables, anchor};

/// How specific a match is; more is more specific.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Specificity {
    /// No wildcard at all.
    pub(crate) exact: bool,
    /// Characters that stand for themselves.
    pub(crate) literals: usize,
    /// Fewer are more specific.
    pub(crate) wildcards: std::cmp::Reverse<usize>,
}

impl Specificity {
    pub(crate) fn new(literals: usize, wildcards: usize) -> Self {
        Self { exact: wildcards == 0, literals, wildcards: std::cmp::Reverse(wildcards) }
    }
}

/// One pattern without variables and braces.
#[derive(Debug, Clone)]
pub(crate) struct PathGlob {
    /// The directory that everything it matches lies in, or is: absolute, or empty when relative.
    base: PathBuf,
    /// The directory as it was written, if links lead from there to `base`.
    named: Option<PathBuf>,
    /// The rest, as it was written.
    rest: String,
    how: How,
    pub(crate) specificity: Specificity,
}

#[derive(Debug, Clone)]
enum How {
    /// `base` and everything below it.
    Subtree,
    /// `base` alone.
    Exact,
    /// What is left of a path below `base` is matched.
    Glob(Glob),
}

impl PathGlob {
    /// `rest` is relative to `base`, and cleaned.
    fn new(base: &Path, rest: &str) -> Result<Self, Problem> {
        // The same whether the root was written out or not.
        let mut literals = base.as_os_str().len() - usize::from(base == Path::new("/"));
        let mut base = base.to_owned();
        // Names without wildcards belong to the base.
        let mut rest = rest;
        while !rest.is_empty() {
            let (name, after) = rest.split_once('/').unwrap_or((rest, ""));
            let Some(plain) = plain(name) else { break };
            base.push(&plain);
            literals += plain.len() + 1;
            rest = after;
        }
        let (how, wildcards) = match rest {
            "" => (How::Exact, 0),
            "**" => (How::Subtree, 1),
            _ => {
                let glob = Glob::new(rest)?;
                literals += glob.literals;
                let wildcards = glob.wildcards;
                (How::Glob(glob), wildcards)
            }
        };
        let specificity = Specificity::new(literals, wildcards);
        Ok(Self { base, named: None, rest: rest.to_owned(), how, specificity })
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        match &self.how {
            How::Exact => path == self.base,
            How::Subtree => path.starts_with(&self.base),
            How::Glob(glob) => path
                .strip_prefix(&self.base)
                .is_ok_and(|rest| !rest.as_os_str().is_empty() && glob.matches(rest)),
        }
    }

    /// The directory, where the pattern is that directory and everything below it.
    pub(crate) fn subtree(&self) -> Option<&Path> {
        matches!(self.how, How::Subtree).then_some(self.base.as_path())
    }

    /// The name of that directory, if links lead from it to the directory.
    pub(crate) fn linked_name(&self) -> Option<&Path> {
        self.named.as_deref().filter(|_| matches!(self.how, How::Subtree))
    }

    /// Whether something below `directory` can match.
    pub(crate) fn may_match_below(&self, directory: &Path) -> bool {
        match &self.how {
            How::Exact => self.base.starts_with(directory),
            How::Subtree | How::Glob(_) => {
                self.base.starts_with(directory) || directory.starts_with(&self.base)
            }
        }
    }

    /// The directory to open files below.
    pub(crate) fn root(&self) -> &Path {
        match self.how {
            How::Exact => self.base.parent().unwrap_or(&self.base),
            How::Subtree | How::Glob(_) => &self.base,
        }
    }

    /// The whole pattern as text.
    pub(crate) fn text(&self) -> String {
        let base = self.base.to_string_lossy();
        match (base.as_ref(), self.rest.as_str()) {
            (base, "") => base.to_owned(),
            ("", rest) => rest.to_owned(),
            (base, rest) => format!("{}/{rest}", base.trim_end_matches('/')),
        }
    }
}

/// All patterns that `text` comes to. Relative ones are meant from each root of the workspace, and
/// without a root there are none.
pub(crate) fn compile(text: &str, variables: &Variables) -> Result<Vec<PathGlob>, Problem> {
    let Anchored { base, rest } = anchor(text, variables)?;
    let directories: &[PathBuf] = match base {
        Base::Absolute => {
            return rest
                .iter()
                .map(|rest| resolved(PathGlob::new(Path::new("/"), rest)?, variables))
                .collect();
        }
        Base::Workspace => &variables.workspace,
        Base::Directories(directories) => directories,
    };
    if let Some(odd) = directories.iter().find(|directory| !directory.is_absolute()) {
        let message = format!("{} is not absolute", quoted(&odd.to_string_lossy()));
        return Err(Problem::new(message));
    }
    // Checked also where there is no directory to put it below.
    for rest in &rest {
        PathGlob::new(Path::new(""), rest)?;
    }
    directories
        .iter()
        .flat_map(|directory| rest.iter().map(|rest| PathGlob::new(directory, rest)))
        .collect()
}

/// As `compile`, for paths that are relative themselves; nothing for absolute patterns.
pub(crate) fn compile_relative(
    text: &str,
    variables: &Variables,
) -> Result<Vec<PathGlob>, Problem> {
    let Anchored { base, rest } = anchor(text, variables)?;
    if base != Base::Workspace {
        return Ok(Vec::new());
    }
    rest.iter().map(|rest| PathGlob::new(Path::new(""), rest)).collect()
}

/// An absolute pattern with the links in its literal part followed, but for those that lie in a
/// directory of a variable: an agent may have made them.
fn resolved(glob: PathGlob, variables: &Variables) -> Result<PathGlob, Problem> {
    let base = variables.real_outside(&glob.base);
    if base == glob.base {
        return Ok(glob);
    }
    Ok(PathGlob { named: Some(glob.base), ..PathGlob::new(&base, &glob.rest)? })
}

/// A name without wildcards, its escapes undone.
fn plain(name: &str) -> Option<String> {
    let mut plain = String::with_capacity(name.len());
    let mut characters = name.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => plain.push(characters.next()?),
            '*' | '?' | '[' | ']' => return None,
            c => plain.push(c),
        }
    }
    Some(plain)
}
