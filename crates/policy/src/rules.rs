//! Permission rules: allow, deny, ask.
//!
//! A call has subjects, one for each capability and resource, and each is decided by itself. The most
//! specific rule wins, whatever the order. A deny of the manifest is final: only the manifest itself
//! can make exceptions from it.

mod pattern;

use std::cmp::Reverse;
use std::path::Path;

use pattern::Pattern;

use crate::path_pattern::Specificity;
use crate::shell::{Dialect, SimpleCommand};
use crate::{CompileError, Host, Variables, shell};

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// It is made.
    Allow,
    /// A human is asked.
    Ask,
    /// It is refused.
    Deny,
}

impl Action {
    /// As a rule has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Who made a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The agent's manifest.
    Manifest,
    /// The project: the host's configuration, or a user's "always".
    Project,
    /// This session: a user's "always for this session".
    Session,
}

/// A rule as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// A tool, a capability, or `*`.
    pub permission: String,
    /// A path, a host or a command; `*` and `**` alone stand for everything.
    pub pattern: String,
    /// What becomes of what it matches.
    pub action: Action,
    /// Who made it.
    pub source: Source,
}

/// What a call does to one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject<'a> {
    /// `fs.read`, `shell.run`, a capability's name, or the tool's own for one without any.
    pub capability: &'a str,
    /// The thing.
    pub resource: Resource<'a>,
}

/// What something is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource<'a> {
    /// A file or directory, by its real path.
    Path(&'a Path),
    /// A host, `example.com` or `example.com:8443`.
    Host(&'a str),
    /// A command line, and the shell that reads it, if it is known which.
    Command(&'a str, Option<Dialect>),
    /// Anything else.
    Text(&'a str),
}

impl<'a> Resource<'a> {
    /// A resource by its kind: `path`, `host`, `command`, or any other text.
    #[must_use]
    pub fn of_kind(kind: &str, text: &'a str, shell: Option<Dialect>) -> Self {
        match kind {
            "path" => Self::Path(Path::new(text)),
            "host" => Self::Host(text),
            "command" => Self::Command(text, shell),
            _ => Self::Text(text),
        }
    }
}

/// What a list of rules says of one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ruling {
    /// What becomes of it.
    pub action: Action,
    /// The rule that decided, by its index in the list; none where none matched.
    pub rule: Option<usize>,
    /// The manifest denies it, which no other rule can lift.
    pub is_final: bool,
    /// The rules of the session and the project alone would allow it.
    pub user_allows: bool,
}

/// What was decided about one subject, or one command of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The subject's capability.
    pub capability: String,
    /// The resource, or the command as it was compared.
    pub resource: String,
    /// What the rules say of it.
    pub ruling: Ruling,
    /// Why only a rule for everything may allow it.
    pub restricted: Option<String>,
}

/// Rules, compiled.
#[derive(Debug, Clone, Default)]
pub struct Rules(Vec<Compiled>);

#[derive(Debug, Clone)]
struct Compiled {
    permission: String,
    pattern: Pattern,
    action: Action,
    source: Source,
}

/// A rule that matches. The greatest one decides, by its fields in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    specificity: Specificity,
    /// Of the permission: the tool is more specific than one whose rules hold for it as well, that than
    /// the capability, and that than `*`.
    named: u8,
    is_deny: bool,
    source: Source,
    action: Action,
    /// Of two equal rules the first is named.
    index: Reverse<usize>,
}

impl Rules {
    /// Compiles a list. Roots in `variables` are taken as they are; see [`Variables::resolved`].
    pub fn compile(rules: &[Rule], variables: &Variables) -> Result<Self, CompileError> {
        let compiled = rules.iter().enumerate().map(|(index, rule)| {
            let origin = format!("rule {index}");
            if rule.permission.trim().is_empty() {
                let message = "a rule is for a tool, a capability or `*`";
                return Err(crate::error::Problem::new(message).at(&origin, "permission"));
            }
            let pattern = Pattern::compile(&rule.permission, &rule.pattern, variables)
                .map_err(|problem| problem.at(&origin, "pattern"))?;
            Ok(Compiled {
                permission: rule.permission.clone(),
                pattern,
                action: rule.action,
                source: rule.source,
            })
        });
        compiled.collect::<Result<_, _>>().map(Self)
    }

    /// Decides about a call of `tool`: one decision for each subject, and for each command of a
    /// command line. A subject that no rule matches is asked about.
    #[must_use]
    pub fn evaluate(&self, tool: &str, subjects: &[Subject<'_>]) -> Vec<Decided> {
        let mut decisions = Vec::new();
        for Subject { capability, resource } in subjects {
            let mut decide = |thing| decisions.push(self.decide(tool, capability, thing));
            match *resource {
                Resource::Command(line, dialect) => {
                    let line = shell::parse_once(line, dialect);
                    line.commands.iter().map(Thing::Command).for_each(&mut decide);
                    if line.commands.is_empty() {
                        decide(Thing::Text(""));
                    }
                }
                Resource::Path(path) => decide(Thing::Path(path)),
                Resource::Host(text) => {
                    decide(Host::parse(text).as_ref().map_or(Thing::Text(text), Thing::Host));
                }
                Resource::Text(text) => decide(Thing::Text(text)),
            }
        }
        decisions
    }

    /// Decides about one file: what a search asks about each file that it meets.
    #[must_use]
    pub fn about_path(&self, tool: &str, capability: &str, path: &Path) -> Ruling {
        self.rule_on(tool, capability, Thing::Path(path))
    }

    /// Whether a rule is about the tool by its name.
    #[must_use]
    pub fn mention(&self, tool: &str) -> bool {
        self.0.iter().any(|rule| rule.permission == tool)
    }

    fn decide(&self, tool: &str, capability: &str, thing: Thing<'_>) -> Decided {
        Decided {
            capability: capability.to_owned(),
            resource: thing.display(),
            ruling: self.rule_on(tool, capability, thing),
            restricted: thing.restricted().map(str::to_owned),
        }
    }

    fn rule_on(&self, tool: &str, capability: &str, thing: Thing<'_>) -> Ruling {
        let (mut manifest, mut user): (Option<Candidate>, Option<Candidate>) = (None, None);
        for (index, rule) in self.0.iter().enumerate() {
            let named = match rule.permission.as_str() {
                "*" => 0,
                name if name == tool => 3,
                name if stands_for(tool, capability) == Some(name) => 2,
                name if name == capability => 1,
                _ => continue,
            };
            let Some(specificity) = rule.pattern.matches(thing, rule.action) else { continue };
            let Compiled { action, source, .. } = *rule;
            let (is_deny, index) = (action == Action::Deny, Reverse(index));
            let candidate = Candidate { specificity, named, is_deny, source, action, index };
            let best = if source == Source::Manifest { &mut manifest } else { &mut user };
            *best = (*best).max(Some(candidate));
        }
        let denied = manifest.filter(|winner| winner.is_deny);
        let winner = denied.or(manifest.max(user));
        Ruling {
            action: winner.map_or(Action::Ask, |winner| winner.action),
            rule: winner.map(|winner| winner.index.0),
            is_final: denied.is_some(),
            user_allows: denied.is_none()
                && user.is_some_and(|winner| winner.action == Action::Allow),
        }
    }
}

/// The tools that start command lines and type into them, besides `bash`.
const LIKE_BASH: [&str; 2] = ["process_start", "process_write"];

/// The tool whose rules also judge what `tool` does with `capability`: a command line is the same whether
/// it is waited for or goes on.
fn stands_for(tool: &str, capability: &str) -> Option<&'static str> {
    (capability == "shell.run" && LIKE_BASH.contains(&tool)).then_some("bash")
}

/// A resource, ready to be compared.
#[derive(Debug, Clone, Copy)]
enum Thing<'a> {
    Path(&'a Path),
    Host(&'a Host),
    Command(&'a SimpleCommand),
    Text(&'a str),
}

impl Thing<'_> {
    fn display(&self) -> String {
        match self {
            Self::Path(path) => path.to_string_lossy().into_owned(),
            Self::Host(host) => host.to_string(),
            Self::Command(command) => command.text.clone(),
            Self::Text(text) => (*text).to_owned(),
        }
    }

    fn restricted(&self) -> Option<&str> {
        match self {
            Self::Command(command) => command.restricted.as_deref(),
            _ => None,
        }
    }
}
