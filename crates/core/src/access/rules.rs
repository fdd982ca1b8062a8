//! Lists of permission rules as they are written, compiled.

use std::collections::HashMap;

use toolwright_policy::{Action, CompileError, Rule, Rules, Source, Variables};

use crate::failure::{Failure, access};

/// A rule as a host wrote it.
#[derive(Debug, Clone)]
pub struct WrittenRule {
    /// A tool, a capability, or `*`.
    pub permission: String,
    /// A path, a host or a command.
    pub pattern: String,
    /// `allow`, `deny` or `ask`, which is the default.
    pub action: Option<String>,
    /// `manifest`, `project` or `session`, which is the default.
    pub source: Option<String>,
}

/// Compiles a list. `manifest_list` is the name that errors have for the rules of the manifest.
pub fn compile(
    rules: Vec<WrittenRule>,
    variables: &Variables,
    manifest_list: Option<&str>,
) -> Result<Rules, Failure> {
    let origins = origins(&rules, manifest_list.unwrap_or("manifest.permissions"));
    let parsed = rules.into_iter().enumerate().map(|(index, rule)| parse(index, rule));
    let compiled = parsed
        .collect::<Result<Vec<_>, _>>()
        .and_then(|rules| Rules::compile(&rules, &variables.resolved()));
    compiled.map_err(|mut error| {
        let index = error.origin.strip_prefix("rule ").and_then(|index| index.parse().ok());
        if let Some(origin) = index.and_then(|index: usize| origins.get(index)) {
            error.origin.clone_from(origin);
        }
        access::rule_invalid(&error)
    })
}

/// The host's name for each rule: its index in the list that the host wrote it in.
fn origins(rules: &[WrittenRule], manifest_list: &str) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let origins = rules.iter().map(|rule| {
        let list = match rule.source.as_deref() {
            Some("manifest") => manifest_list,
            Some("project") => "permissions.project",
            _ => "permissions.session",
        };
        let count = counts.entry(list).or_default();
        *count += 1;
        format!("{list}[{}]", *count - 1)
    });
    origins.collect()
}

fn parse(index: usize, rule: WrittenRule) -> Result<Rule, CompileError> {
    let invalid = |place: &str, problem: &str| CompileError {
        origin: format!("rule {index}"),
        place: place.to_owned(),
        problem: problem.to_owned(),
        variable: None,
    };
    let action = match rule.action.as_deref() {
        Some("allow") => Action::Allow,
        Some("deny") => Action::Deny,
        Some("ask") | None => Action::Ask,
        Some(_) => return Err(invalid("action", "an action is `allow`, `deny` or `ask`")),
    };
    let source = match rule.source.as_deref() {
        Some("manifest") => Source::Manifest,
        Some("project") => Source::Project,
        Some("session") | None => Source::Session,
        Some(_) => {
            return Err(invalid("source", "a source is `manifest`, `project` or `session`"));
        }
    };
    Ok(Rule { permission: rule.permission, pattern: rule.pattern, action, source })
}
