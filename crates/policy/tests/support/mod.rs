//! Rules and calls, written short.

use std::path::Path;

use toolwright_policy::{Action, Decided, Resource, Rule, Rules, Source, Subject, Variables};

pub(crate) fn action(word: &str) -> Action {
    match word {
        "allow" => Action::Allow,
        "deny" => Action::Deny,
        _ => Action::Ask,
    }
}

/// `manifest fs.write **/*.lock deny`: the pattern is what stands between.
pub(crate) fn rule(text: &str) -> Rule {
    let (source, rest) = text.split_once(' ').unwrap();
    let (permission, rest) = rest.split_once(' ').unwrap();
    let (pattern, word) = rest.rsplit_once(' ').unwrap();
    Rule {
        permission: permission.to_owned(),
        pattern: pattern.to_owned(),
        action: action(word),
        source: match source {
            "manifest" => Source::Manifest,
            "project" => Source::Project,
            _ => Source::Session,
        },
    }
}

pub(crate) fn variables() -> Variables {
    Variables { workspace: vec!["/w".into()], ..Variables::default() }
}

pub(crate) fn compiled(rules: &[&str]) -> Rules {
    let rules: Vec<Rule> = rules.iter().map(|text| rule(text)).collect();
    Rules::compile(&rules, &variables()).unwrap()
}

/// `edit yarn.lock`, `bash git status`, `fetch a.com`, `todo`.
pub(crate) fn call(rules: &Rules, text: &str) -> Vec<Decided> {
    let (tool, what) = text.split_once(' ').unwrap_or((text, ""));
    let path = Path::new("/w").join(what);
    let on = |capability, resource| Subject { capability, resource };
    match tool {
        "read" => rules.evaluate(tool, &[on("fs.read", Resource::Path(&path))]),
        "write" => rules.evaluate(tool, &[on("fs.write", Resource::Path(&path))]),
        "edit" => rules.evaluate(
            tool,
            &[on("fs.read", Resource::Path(&path)), on("fs.write", Resource::Path(&path))],
        ),
        "bash" => rules.evaluate(tool, &[on("shell.run", Resource::Command(what, None))]),
        "web_fetch" => rules.evaluate(tool, &[on("net.fetch", Resource::Host(what))]),
        _ => rules.evaluate(tool, &[on(tool, Resource::Text(what))]),
    }
}

/// The strictest action of all.
pub(crate) fn strictest(decided: &[Decided]) -> Action {
    decided.iter().map(|decided| decided.ruling.action).max().unwrap()
}

/// Whether rules that a user recorded allow all of it.
pub(crate) fn user_allows(decided: &[Decided]) -> bool {
    decided.iter().all(|decided| decided.ruling.user_allows)
}
