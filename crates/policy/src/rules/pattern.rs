//! A rule's pattern: one text that may be meant for a path, a host or a command.

use super::command_pattern::CommandPattern;
use super::{Action, Thing};
use crate::error::Problem;
use crate::host_pattern::HostPattern;
use crate::path_pattern::{PathGlob, Specificity};
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
const FOR_COMMANDS: [&str; 2] = ["bash", "shell.run"];

impl Pattern {
    pub(super) fn compile(
        permission: &str,
        text: &str,
        variables: &Variables,
    ) -> Result<Self, Problem> {
        if text == "*" || text == "**" {
            return Ok(Self::Everything);
        }
        let command = CommandPattern::new(text);
        if FOR_COMMANDS.contains(&permission) {
            let (paths, relative, hosts) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(Self::Some { paths, relative, hosts, command });
        }
        let hosts = host_pattern::compile(text);
        if FOR_HOSTS.contains(&permission) {
            let (paths, relative) = (Vec::new(), Vec::new());
            return Ok(Self::Some { paths, relative, hosts: hosts?, command });
        }
        let paths = path_pattern::compile(text, variables)
            .and_then(|paths| Ok((paths, path_pattern::compile_relative(text, variables)?)));
        let (paths, relative) = match paths {
            Ok(paths) => paths,
            // An empty text is what a tool without capabilities is done to.
            Err(problem)
                if !text.is_empty()
                    && (FOR_PATHS.contains(&permission) || problem.variable.is_some()) =>
            {
                return Err(problem);
            }
            Err(_) => (Vec::new(), Vec::new()),
        };
        Ok(Self::Some { paths, relative, hosts: hosts.unwrap_or_default(), command })
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
