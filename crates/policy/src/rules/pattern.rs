//! A rule's pattern: one text that may be meant for a path, a host or a command.

use super::{Action, Thing};
use crate::error::Problem;
use crate::host_pattern::HostPattern;
use crate::path_pattern::{PathGlob, Specificity};
use crate::wildcards::{self, Part};
use crate::{Variables, host_pattern, path_pattern};

#[derive(Debug, Clone)]
pub(super) enum Pattern {
    /// `*` or `**`: everything there is.
    Everything,
    /// What the text can mean; what it cannot is left empty.
    Some {
        /// For absolute paths.
        paths: Vec<PathGlob>,
        /// For relative ones.
        relative: Vec<PathGlob>,
        hosts: Vec<HostPattern>,
        command: CommandPattern,
    },
}

/// Tools and capabilities whose patterns are paths, and nothing else.
const FOR_PATHS: [&str; 7] = ["fs.read", "fs.write", "read", "write", "edit", "glob", "grep"];
/// The same for hosts.
const FOR_HOSTS: [&str; 3] = ["net.fetch", "web_fetch", "web_search"];
/// And for commands, in which braces are braces.
const FOR_COMMANDS: [&str; 4] = ["bash", "shell.run", "process_start", "process_write"];

impl Pattern {
    pub(super) fn compile(
        permission: &str,
        text: &str,
        variables: &Variables,
    ) -> Result<Self, Problem> {
        if text == "*" || text == "**" {
            return Ok(Self::Everything);
        }
        let is_for = |names: &[&str]| names.contains(&permission);
        let (mut paths, mut relative, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
        let command = CommandPattern::new(text);
        if is_for(&FOR_HOSTS) {
            hosts = host_pattern::compile(text)?;
        } else if !is_for(&FOR_COMMANDS) {
            hosts = host_pattern::compile(text).unwrap_or_default();
            let compiled = path_pattern::compile(text, variables)
                .and_then(|paths| Ok((paths, path_pattern::compile_relative(text, variables)?)));
            match compiled {
                Ok(compiled) => (paths, relative) = compiled,
                // A tool without capabilities has an empty text for its resource.
                Err(_) if text.is_empty() => {}
                Err(problem) if is_for(&FOR_PATHS) || problem.variable.is_some() => {
                    return Err(problem);
                }
                Err(_) => {}
            }
        }
        Ok(Self::Some { paths, relative, hosts, command })
    }

    /// How specific it is about `thing`; `None` where it does not match, or may not: what is not
    /// known about a command can be denied and asked about by any pattern, but allowed only by one
    /// for everything.
    pub(super) fn matches(&self, thing: Thing<'_>, action: Action) -> Option<Specificity> {
        let Self::Some { paths, relative, hosts, command } = self else {
            return Some(Specificity::new(0, 1));
        };
        match thing {
            Thing::Path(path) => {
                let globs = if path.is_absolute() { paths } else { relative };
                let fits = globs.iter().filter(|glob| glob.matches(path));
                fits.map(|glob| glob.specificity).max()
            }
            Thing::Host(host) => {
                let fits = hosts.iter().filter(|pattern| match action {
                    Action::Allow => pattern.matches(host),
                    Action::Ask | Action::Deny => pattern.covers(host),
                });
                fits.map(|pattern| pattern.specificity).max()
            }
            Thing::Command(it) if action == Action::Allow => {
                let fits = it.restricted.is_none() && command.matches(&it.text);
                fits.then_some(command.specificity)
            }
            Thing::Command(it) => {
                let fits = command.matches(&it.text)
                    || it.without_directory().is_some_and(|text| command.matches(&text));
                fits.then_some(command.specificity)
            }
            Thing::Text(text) => command.matches(text).then_some(command.specificity),
        }
    }
}

/// A pattern for commands: `*` stands for any characters, `?` for one.
#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    parts: Vec<Part>,
    specificity: Specificity,
}

impl CommandPattern {
    fn new(text: &str) -> Self {
        let mut parts = Vec::with_capacity(text.len());
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            let part = match c {
                '*' => Part::Any,
                '?' => Part::One,
                // A backslash makes a wildcard a character, and is one itself elsewhere.
                '\\' => match characters.clone().next() {
                    Some(next @ ('*' | '?' | '\\')) => {
                        characters.next();
                        Part::Exactly(next)
                    }
                    _ => Part::Exactly('\\'),
                },
                c => Part::Exactly(c),
            };
            if part != Part::Any || parts.last() != Some(&Part::Any) {
                parts.push(part);
            }
        }
        let literals = parts.iter().filter(|part| part.is_literal()).count();
        let specificity = Specificity::new(literals, parts.len() - literals);
        Self { parts, specificity }
    }

    fn matches(&self, text: &str) -> bool {
        wildcards::matches_text(&self.parts, text.chars().map(Some))
    }
}
