//! Permission rules: allow, deny, ask.
//!
//! A call comes down to subjects, one for each capability and resource, and each is decided by
//! itself; the strictest decision counts. For one subject the most specific rule wins, whatever the
//! order. A deny of the manifest is final: only the manifest itself can make exceptions from it.

mod command_pattern;
mod pattern;

use std::cmp::Ordering;
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

/// What was decided about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The strictest of all.
    pub action: Action,
    /// The index in `decided` of the one that decided.
    pub decisive: usize,
    /// One for each subject; a command line has one for each of its commands.
    pub decided: Vec<Decided>,
}

impl Verdict {
    /// Whether any rule matched anything.
    #[must_use]
    pub fn is_matched(&self) -> bool {
        self.decided.iter().any(|decided| decided.ruling.rule.is_some())
    }

    /// Whether rules that a user recorded allow all of it.
    #[must_use]
    pub fn is_allowed_by_user(&self) -> bool {
        !self.decided.is_empty() && self.decided.iter().all(|decided| decided.ruling.user_allows)
    }
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

/// A rule that matches, with all that decides between it and others.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    index: usize,
    specificity: Specificity,
    /// Of the permission: the tool is more specific than the capability, and that than `*`.
    named: u8,
    action: Action,
    source: Source,
}

impl Candidate {
    /// The greater one wins.
    fn compare(&self, other: &Self) -> Ordering {
        let deny = |candidate: &Self| candidate.action == Action::Deny;
        self.specificity
            .cmp(&other.specificity)
            .then(self.named.cmp(&other.named))
            .then(deny(self).cmp(&deny(other)))
            .then(self.source.cmp(&other.source))
            .then(self.action.cmp(&other.action))
            // Of two equal rules the first is named.
            .then(other.index.cmp(&self.index))
    }
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

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Decides about a call of `tool`. What no rule matches is asked about, and so is a call without
    /// subjects: whether a tool without capabilities needs a rule is the caller's to say.
    #[must_use]
    pub fn evaluate(&self, tool: &str, subjects: &[Subject<'_>]) -> Verdict {
        let mut decided = Vec::new();
        for subject in subjects {
            match subject.resource {
                Resource::Command(line, dialect) => {
                    let line = shell::parse_once(line, dialect);
                    for command in &line.commands {
                        decided.push(self.decide(
                            tool,
                            subject.capability,
                            Thing::Command(command),
                        ));
                    }
                    if line.commands.is_empty() {
                        decided.push(self.decide(tool, subject.capability, Thing::Text("")));
                    }
                }
                Resource::Path(path) => {
                    decided.push(self.decide(tool, subject.capability, Thing::Path(path)));
                }
                Resource::Host(text) => {
                    let host = Host::parse(text);
                    let thing = host.as_ref().map_or(Thing::Text(text), Thing::Host);
                    decided.push(self.decide(tool, subject.capability, thing));
                }
                Resource::Text(text) => {
                    decided.push(self.decide(tool, subject.capability, Thing::Text(text)));
                }
            }
        }
        let strictest = decided
            .iter()
            .enumerate()
            .max_by_key(|(index, decided)| (decided.ruling.action, std::cmp::Reverse(*index)));
        let (decisive, action) =
            strictest.map_or((0, Action::Ask), |(index, decided)| (index, decided.ruling.action));
        Verdict { action, decisive, decided }
    }

    /// Decides about one file: what a search asks about each file that it meets.
    #[must_use]
    pub fn about_path(&self, tool: &str, capability: &str, path: &Path) -> Ruling {
        self.rule_on(tool, capability, Thing::Path(path))
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
                name if name == tool => 2,
                name if name == capability => 1,
                _ => continue,
            };
            let Some(specificity) = rule.pattern.matches(thing, rule.action) else { continue };
            let Compiled { action, source, .. } = *rule;
            let candidate = Candidate { index, specificity, named, action, source };
            let best = if source == Source::Manifest { &mut manifest } else { &mut user };
            if best.is_none_or(|best| best.compare(&candidate).is_lt()) {
                *best = Some(candidate);
            }
        }
        let denied = manifest.filter(|winner| winner.action == Action::Deny);
        let either = manifest.into_iter().chain(user).max_by(Candidate::compare);
        let winner = denied.or(either);
        Ruling {
            action: winner.map_or(Action::Ask, |winner| winner.action),
            rule: winner.map(|winner| winner.index),
            is_final: denied.is_some(),
            user_allows: denied.is_none()
                && user.is_some_and(|winner| winner.action == Action::Allow),
        }
    }
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
