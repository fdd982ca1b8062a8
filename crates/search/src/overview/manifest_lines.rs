//! Facts in manifests that are read line by line. They find what people commonly write, and miss what
//! only the language itself could evaluate.

use super::manifest::ManifestFacts;

pub(super) fn go_module(text: &str, facts: &mut ManifestFacts) {
    facts.name = text.lines().find_map(|line| {
        let rest = line.strip_prefix("module")?;
        rest.starts_with(char::is_whitespace)
            .then_some(rest)?
            .split_whitespace()
            .next()
            .map(unquoted)
    });
}

pub(super) fn go_workspace(text: &str, facts: &mut ManifestFacts) {
    let mut is_listing = false;
    for line in text.lines().map(str::trim) {
        let Some(first) = line.split_whitespace().next() else { continue };
        match first {
            ")" => is_listing = false,
            "use" if line.ends_with('(') => is_listing = true,
            "use" => facts.members.extend(line.split_whitespace().nth(1).map(unquoted)),
            _ if is_listing && !first.starts_with("//") => facts.members.push(unquoted(first)),
            _ => {}
        }
    }
}

/// The targets that a person would name.
pub(super) fn make(text: &str, facts: &mut ManifestFacts) {
    for line in text.lines() {
        let Some((names, rest)) = line.split_once(':') else { continue };
        let is_assignment = names.contains('=') || rest.starts_with('=') || rest.starts_with(":=");
        if is_assignment || names.starts_with(char::is_whitespace) {
            continue;
        }
        for name in names.split_whitespace() {
            let is_plain =
                |one: char| one.is_alphanumeric() || matches!(one, '_' | '-' | '/' | '+');
            if name.chars().all(is_plain) {
                add_target(facts, name);
            }
        }
    }
}

/// The recipes that are not private.
pub(super) fn just(text: &str, facts: &mut ManifestFacts) {
    for line in text.lines() {
        let line = line.strip_prefix('@').unwrap_or(line);
        let name =
            line.split(|one: char| !one.is_alphanumeric() && !matches!(one, '_' | '-')).next();
        let Some(name) = name.filter(|name| name.starts_with(char::is_alphabetic)) else {
            continue;
        };
        let rest = &line[name.len()..];
        let Some((_, after)) = rest.split_once(':') else { continue };
        let is_setting = matches!(name, "set" | "alias" | "export" | "import" | "mod");
        if !is_setting && !after.starts_with('=') {
            add_target(facts, name);
        }
    }
}

fn add_target(facts: &mut ManifestFacts, name: &str) {
    const ENOUGH: usize = 64;
    if facts.scripts.len() < ENOUGH && !facts.scripts.iter().any(|(known, _)| known == name) {
        facts.scripts.push((name.to_owned(), String::new()));
    }
}

pub(super) fn cmake(text: &str, facts: &mut ManifestFacts) {
    facts.name = text.lines().find_map(|line| {
        let line = line.trim_start();
        let is_project = line.get(..7)?.eq_ignore_ascii_case("project");
        let arguments = is_project.then(|| line[7..].trim_start())?.strip_prefix('(')?.trim_start();
        match arguments.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().map(str::to_owned),
            None => arguments
                .split(|one: char| one.is_whitespace() || one == ')')
                .next()
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
        }
    });
}

/// The value of `name:` in the first column, as YAML and cabal files have it.
pub(super) fn yaml_name(text: &str, facts: &mut ManifestFacts) {
    let field = |name: &str| {
        text.lines().find_map(|line| {
            let value = line.strip_prefix(name)?.trim_start().strip_prefix(':')?;
            value.split(" #").next().map(unquoted).filter(|value| !value.is_empty())
        })
    };
    facts.name = field("name");
    facts.version = field("version");
}

/// The first `artifactId` that is not the parent's.
pub(super) fn maven(text: &str, facts: &mut ManifestFacts) {
    let own = match (text.find("<parent>"), text.find("</parent>")) {
        (Some(start), Some(end)) if start < end => &text[end..],
        _ => text,
    };
    facts.name = own
        .split_once("<artifactId>")
        .and_then(|(_, rest)| rest.split_once("</artifactId>"))
        .map(|(name, _)| name.trim().to_owned());
}

pub(super) fn gradle(text: &str, facts: &mut ManifestFacts) {
    facts.name = text.lines().find_map(|line| {
        let value = line.trim_start().strip_prefix("rootProject.name")?.trim_start();
        value.strip_prefix('=').map(unquoted)
    });
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_owned()
}
