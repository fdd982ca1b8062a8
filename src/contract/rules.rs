//! Permission rules and command lines.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use napi_derive::napi;
use toolwright_policy::shell::Dialect;
use toolwright_policy::{
    Action, CompileError, Decided, Resource, Rule, Rules, Source, Subject, shell,
};

use super::policy::{ContractVariables, compile_failed};
use crate::error::NativeError;

/// A permission rule.
#[napi(object)]
#[derive(Debug)]
pub struct ContractRule {
    /// A tool, a capability, or `*`.
    pub permission: String,
    /// A path, a host or a command.
    pub pattern: String,
    /// `allow`, `deny` or `ask`, which is the default.
    #[napi(ts_type = "'allow' | 'deny' | 'ask'")]
    pub action: Option<String>,
    /// `manifest`, `project` or `session`, which is the default.
    #[napi(ts_type = "'manifest' | 'project' | 'session'")]
    pub source: Option<String>,
}

/// Rules, or why there are none.
#[napi(object, object_from_js = false)]
#[derive(Debug, Default)]
pub struct ContractRulesOutcome {
    /// What was compiled.
    pub rules: Option<ContractRules>,
    /// What is wrong with a rule: `details` has its place.
    pub error: Option<NativeError>,
}

/// Rules, compiled. They do not change.
#[napi]
#[derive(Debug, Clone)]
pub struct ContractRules(pub(super) Arc<Rules>);

/// Compiles permission rules. `manifest` is what errors call the list of the manifest's rules, if
/// not `manifest.permissions`.
#[napi(catch_unwind)]
#[must_use]
pub fn compile_rules(
    variables: ContractVariables,
    rules: Vec<ContractRule>,
    manifest: Option<String>,
) -> ContractRulesOutcome {
    let places = places(&rules, manifest.as_deref().unwrap_or("manifest.permissions"));
    let rules = rules.into_iter().enumerate().map(|(index, rule)| understood(index, rule));
    let compiled = rules
        .collect::<Result<Vec<_>, _>>()
        .and_then(|rules| Rules::compile(&rules, &variables.resolved()));
    match compiled {
        Ok(rules) => ContractRulesOutcome {
            rules: Some(ContractRules(Arc::new(rules))),
            ..ContractRulesOutcome::default()
        },
        Err(mut error) => {
            let index = error.origin.strip_prefix("rule ").and_then(|index| index.parse().ok());
            if let Some(place) = index.and_then(|index: usize| places.get(index)) {
                error.origin.clone_from(place);
            }
            let hint = "Correct the rule; none of them is in force.";
            let error = Some(compile_failed("CONTRACT_RULE_INVALID", &error, hint));
            ContractRulesOutcome { error, ..ContractRulesOutcome::default() }
        }
    }
}

/// What the host calls each rule: by the list that it stands in, of which these are put together.
fn places(rules: &[ContractRule], manifest: &str) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let named = rules.iter().map(|rule| {
        let list = match rule.source.as_deref() {
            Some("manifest") => manifest,
            Some("project") => "permissions.project",
            _ => "permissions.session",
        };
        let count = counts.entry(list).or_default();
        *count += 1;
        format!("{list}[{}]", *count - 1)
    });
    named.collect()
}

fn understood(index: usize, rule: ContractRule) -> Result<Rule, CompileError> {
    let bad = |place: &str, problem: &str| CompileError {
        origin: format!("rule {index}"),
        place: place.to_owned(),
        problem: problem.to_owned(),
        variable: None,
    };
    let action = match rule.action.as_deref() {
        Some("allow") => Action::Allow,
        Some("deny") => Action::Deny,
        Some("ask") | None => Action::Ask,
        Some(_) => return Err(bad("action", "an action is `allow`, `deny` or `ask`")),
    };
    let source = match rule.source.as_deref() {
        Some("manifest") => Source::Manifest,
        Some("project") => Source::Project,
        Some("session") | None => Source::Session,
        Some(_) => return Err(bad("source", "a source is `manifest`, `project` or `session`")),
    };
    Ok(Rule { permission: rule.permission, pattern: rule.pattern, action, source })
}

/// What a call does to one thing.
#[napi(object)]
#[derive(Debug)]
pub struct ContractSubject {
    /// `fs.read`, `shell.run`, a capability's name, or the tool's for one without any.
    pub capability: String,
    /// `path`, `host`, `command` or `text`.
    #[napi(ts_type = "'path' | 'host' | 'command' | 'text'")]
    pub kind: String,
    /// The real path, the host, the command line, or another text.
    pub resource: String,
    /// The shell that reads a command line; left out where it is not known which does, as for `sh`.
    #[napi(ts_type = "'bash'")]
    pub shell: Option<String>,
}

/// What was decided about one subject, or one command of a line.
#[napi(object)]
#[derive(Debug)]
pub struct ContractSubjectVerdict {
    /// The subject's capability.
    pub capability: String,
    /// The resource, or the command as it was compared.
    pub resource: String,
    /// `allow`, `deny` or `ask`.
    #[napi(ts_type = "'allow' | 'deny' | 'ask'")]
    pub action: String,
    /// Which rule decided, by its place in the list; none where none matched.
    pub rule: Option<u32>,
    /// It is a deny of the manifest.
    #[napi(js_name = "final")]
    pub is_final: bool,
    /// Why only a rule for everything may allow it.
    pub restricted: Option<String>,
}

/// What was decided about a call.
#[napi(object)]
#[derive(Debug)]
pub struct ContractVerdict {
    /// The strictest of all: `allow`, `deny` or `ask`.
    #[napi(ts_type = "'allow' | 'deny' | 'ask'")]
    pub action: String,
    /// Whether any rule matched anything.
    pub matched: bool,
    /// The place of the one that decided in `subjects`.
    pub decisive: u32,
    /// One for each subject; a command line has one for each of its commands.
    pub subjects: Vec<ContractSubjectVerdict>,
    /// Rules of the session and the project alone allow all of it.
    pub user_allowed: bool,
}

fn word(action: Action) -> String {
    match action {
        Action::Allow => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
    .to_owned()
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[napi]
impl ContractRules {
    /// Decides about a call. What no rule matches is asked about.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn evaluate(&self, tool_id: String, subjects: Vec<ContractSubject>) -> ContractVerdict {
        let subjects: Vec<Subject<'_>> = subjects
            .iter()
            .map(|subject| Subject {
                capability: &subject.capability,
                resource: match subject.kind.as_str() {
                    "path" => Resource::Path(Path::new(&subject.resource)),
                    "host" => Resource::Host(&subject.resource),
                    "command" => {
                        Resource::Command(&subject.resource, dialect(subject.shell.as_deref()))
                    }
                    _ => Resource::Text(&subject.resource),
                },
            })
            .collect();
        let verdict = self.0.evaluate(&tool_id, &subjects);
        ContractVerdict {
            action: word(verdict.action),
            matched: verdict.is_matched(),
            decisive: number(verdict.decisive),
            user_allowed: verdict.is_allowed_by_user(),
            subjects: verdict.decided.into_iter().map(told).collect(),
        }
    }
}

fn told(decided: Decided) -> ContractSubjectVerdict {
    ContractSubjectVerdict {
        capability: decided.capability,
        resource: decided.resource,
        action: word(decided.action),
        rule: decided.rule.map(number),
        is_final: decided.is_final,
        restricted: decided.restricted,
    }
}

/// One simple command of a line.
#[napi(object)]
#[derive(Debug)]
pub struct ParsedCommand {
    /// Its words as rules compare them.
    pub text: String,
    /// Its words, if all are known.
    pub argv: Option<Vec<String>>,
    /// The files that it is connected to by redirections, its own and those around it.
    pub redirects: Vec<ParsedRedirect>,
    /// Why only a rule for everything may allow it.
    pub restricted: Option<String>,
}

/// A redirection from or to a file.
#[napi(object)]
#[derive(Debug)]
pub struct ParsedRedirect {
    /// `<`, `>`, `>>`, `>|`, `<>`, `>&`, `<&`, `&>` or `&>>`.
    pub operator: String,
    /// The path, if it is known before the line runs.
    pub path: Option<String>,
}

/// A command line, taken apart.
#[napi(object)]
#[derive(Debug)]
pub struct ParsedCommandLine {
    /// Every simple command in it, wherever it stands.
    pub commands: Vec<ParsedCommand>,
    /// Why it is no shell syntax, or not looked into.
    pub unparseable: Option<String>,
}

/// How a shell reads, by its name: of `sh` it is not known which one it is.
pub(super) fn dialect(shell: Option<&str>) -> Option<Dialect> {
    (shell == Some("bash")).then_some(Dialect::Bash)
}

/// Takes a command line apart, for bash or for a shell that is not known.
#[napi(catch_unwind)]
#[must_use]
pub fn parse_command_line(
    line: String,
    #[napi(ts_arg_type = "'bash' | undefined")] shell: Option<String>,
) -> ParsedCommandLine {
    let parsed = shell::parse_once(&line, dialect(shell.as_deref()));
    let redirect = |it: &shell::Redirection| ParsedRedirect {
        operator: it.operator.to_owned(),
        path: it.path.clone(),
    };
    let commands = parsed.commands.iter().map(|command| ParsedCommand {
        text: command.text.clone(),
        argv: command.argv.clone(),
        redirects: command.redirects.iter().map(redirect).collect(),
        restricted: command.restricted.clone(),
    });
    ParsedCommandLine { commands: commands.collect(), unparseable: parsed.unparseable.clone() }
}

/// Patterns that a user may want to record for a command line, one for each of its commands; none
/// where only a rule for everything would do.
#[napi(catch_unwind)]
#[must_use]
pub fn suggest_pattern(
    line: String,
    #[napi(ts_arg_type = "'bash' | undefined")] shell: Option<String>,
) -> Vec<String> {
    shell::suggest(&line, dialect(shell.as_deref()))
}

/// Something that only bash has.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct BashOnlySyntax {
    /// What it looks like.
    pub found: String,
    /// What says the same to every shell.
    pub instead: String,
}

/// The first thing in a command line that bash has and a plain shell does not, or reads otherwise.
#[napi(catch_unwind)]
#[must_use]
pub fn bash_only_syntax(line: String) -> Option<BashOnlySyntax> {
    let found = shell::bash_only(&line)?;
    Some(BashOnlySyntax { found: found.found.to_owned(), instead: found.instead.to_owned() })
}
