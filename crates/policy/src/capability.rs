//! What may be done: a conjunction of unions of requirement sets.
//!
//! The declared set is the union of what the manifest and every tool require. A ceiling and the
//! parent of a subagent are further sets; what is in force is allowed by all of them. Patterns are
//! not intersected with each other, which would be inexact: each set is asked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::host_pattern::HostPattern;
use crate::path_pattern::PathGlob;
use crate::shell::SimpleCommand;
use crate::{
    ArgPattern, CompileError, Host, RequirementSet, ShellRequirement, Variables, host_pattern,
    path_pattern,
};

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// `fs.read`
    Read,
    /// `fs.write`
    Write,
}

/// A set of requirements, and who wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// For messages: `manifest.requires`, `tool read`.
    pub origin: String,
    /// What it requires.
    pub set: RequirementSet,
}

/// A union of requirement sets, compiled.
#[derive(Debug, Clone, Default)]
pub struct Union {
    read: Vec<PathGlob>,
    write: Vec<PathGlob>,
    pub(crate) hosts: Vec<HostPattern>,
    shell: Vec<ShellRequirement>,
    capabilities: Vec<String>,
}

impl Union {
    /// Compiles the union of `members`. `variables` are taken as they are; see
    /// [`Variables::resolved`].
    pub fn compile(members: &[Declared], variables: &Variables) -> Result<Self, CompileError> {
        let mut union = Self::default();
        for Declared { origin, set } in members {
            let paths = |patterns: Option<&Vec<String>>, place: &str, all: &mut Vec<PathGlob>| {
                for (index, pattern) in patterns.into_iter().flatten().enumerate() {
                    let compiled = path_pattern::compile(pattern, variables)
                        .map_err(|problem| problem.at(origin, format!("{place}[{index}]")))?;
                    all.extend(compiled);
                }
                Ok(())
            };
            if let Some(fs) = &set.fs {
                paths(fs.read.as_ref(), "fs.read", &mut union.read)?;
                paths(fs.write.as_ref(), "fs.write", &mut union.write)?;
            }
            let hosts = set.net.as_ref().and_then(|net| net.hosts.as_ref());
            for (index, pattern) in hosts.into_iter().flatten().enumerate() {
                let compiled = host_pattern::compile(pattern)
                    .map_err(|problem| problem.at(origin, format!("net.hosts[{index}]")))?;
                union.hosts.extend(compiled);
            }
            union.shell.extend(set.shell.iter().flatten().cloned());
            union.capabilities.extend(set.capabilities.iter().flatten().cloned());
        }
        Ok(union)
    }

    /// What the patterns of `members` that begin with `{ad-hoc}` come to for these directories: the
    /// part of their union that changes while a session runs.
    pub fn ad_hoc(members: &[Declared], directories: &[PathBuf]) -> Result<Self, CompileError> {
        let only = |patterns: Option<&Vec<String>>| -> Option<Vec<String>> {
            let is_one = |pattern: &&String| pattern.starts_with("{ad-hoc}");
            patterns.map(|patterns| patterns.iter().filter(is_one).cloned().collect())
        };
        let members: Vec<Declared> = members
            .iter()
            .filter_map(|Declared { origin, set }| {
                let fs = set.fs.as_ref()?;
                let fs = crate::FsRequirements {
                    read: only(fs.read.as_ref()),
                    write: only(fs.write.as_ref()),
                };
                let set = RequirementSet { fs: Some(fs), ..RequirementSet::default() };
                Some(Declared { origin: origin.clone(), set })
            })
            .collect();
        Self::compile(&members, &Variables { ad_hoc: directories.to_vec(), ..Variables::default() })
    }

    /// What either of them allows.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.read.extend(other.read.iter().cloned());
        both.write.extend(other.write.iter().cloned());
        both.hosts.extend(other.hosts.iter().cloned());
        both.shell.extend(other.shell.iter().cloned());
        both.capabilities.extend(other.capabilities.iter().cloned());
        both
    }

    pub(crate) fn paths(&self, access: Access) -> &[PathGlob] {
        match access {
            Access::Read => &self.read,
            Access::Write => &self.write,
        }
    }

    fn allows_command(&self, command: &SimpleCommand) -> bool {
        self.shell.iter().any(|requirement| match &command.argv {
            Some(argv) if command.is_exact => fits(requirement, argv),
            // What is not known may be anything.
            _ => requirement.cmd == "*" && requirement.args.is_none(),
        })
    }

    /// The patterns as text, with variables and braces written out.
    #[must_use]
    pub fn expanded(&self) -> RequirementSet {
        let paths = |globs: &[PathGlob]| Some(globs.iter().map(PathGlob::text).collect());
        RequirementSet {
            fs: Some(crate::FsRequirements { read: paths(&self.read), write: paths(&self.write) }),
            net: Some(crate::NetRequirements {
                hosts: Some(self.hosts.iter().map(HostPattern::text).collect()),
            }),
            shell: Some(self.shell.clone()),
            capabilities: Some(self.capabilities.clone()),
        }
    }
}

fn fits(requirement: &ShellRequirement, argv: &[String]) -> bool {
    let Some((program, arguments)) = argv.split_first() else { return false };
    let is_program = requirement.cmd == "*" || requirement.cmd == *program;
    let Some(patterns) = &requirement.args else { return is_program };
    is_program
        && patterns.len() == arguments.len()
        && patterns.iter().zip(arguments).all(|(pattern, argument)| match pattern {
            ArgPattern::Exact(text) => text == argument,
            ArgPattern::Wildcard { .. } => true,
            ArgPattern::Prefix { prefix } => argument.starts_with(prefix),
        })
}

/// What is in force: what every one of these sets allows. Without any set, nothing.
#[derive(Debug, Clone, Default)]
pub struct Effective(Vec<Union>);

impl Effective {
    /// From the sets that all have to allow.
    #[must_use]
    pub fn new(sets: Vec<Union>) -> Self {
        Self(sets)
    }

    /// The sets.
    #[must_use]
    pub fn sets(&self) -> &[Union] {
        &self.0
    }

    pub(crate) fn every(&self, allows: impl Fn(&Union) -> bool) -> bool {
        !self.0.is_empty() && self.0.iter().all(allows)
    }

    /// Whether the file or directory at `path` (absolute, without links) may be used.
    #[must_use]
    pub fn allows_path(&self, access: Access, path: &Path) -> bool {
        self.every(|set| set.paths(access).iter().any(|glob| glob.matches(path)))
    }

    /// Whether something at `directory` or below it may be used, so that looking there is of use.
    #[must_use]
    pub fn allows_below(&self, access: Access, directory: &Path) -> bool {
        self.every(|set| set.paths(access).iter().any(|glob| glob.may_match_below(directory)))
    }

    /// Whether `host` may be reached.
    #[must_use]
    pub fn allows_host(&self, host: &Host) -> bool {
        self.every(|set| set.hosts.iter().any(|pattern| pattern.matches(host)))
    }

    /// Whether the command may be run.
    #[must_use]
    pub fn allows_command(&self, command: &SimpleCommand) -> bool {
        self.every(|set| set.allows_command(command))
    }

    /// Whether any command may be run.
    #[must_use]
    pub fn allows_some_command(&self) -> bool {
        self.every(|set| !set.shell.is_empty())
    }

    /// Whether a capability with this name is there.
    #[must_use]
    pub fn allows_capability(&self, name: &str) -> bool {
        self.every(|set| set.capabilities.iter().any(|known| known == name))
    }

    /// The directories around what absolute patterns name: files are opened below them.
    #[must_use]
    pub fn roots(&self) -> Vec<PathBuf> {
        let globs = self.0.iter().flat_map(|set| set.read.iter().chain(&set.write));
        let roots: BTreeSet<&Path> = globs.map(PathGlob::root).collect();
        roots.into_iter().map(Path::to_owned).collect()
    }
}
