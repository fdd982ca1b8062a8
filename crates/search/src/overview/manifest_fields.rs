//! Facts in manifests that are JSON or TOML. A field of another type than expected says nothing.

use serde_json::Value;

use super::manifest::ManifestFacts;

pub(super) fn npm(json: &Value, facts: &mut ManifestFacts) {
    named(json, facts);
    facts.scripts = commands(&json["scripts"]);
    facts.entry_points.extend(text(&json["main"]));
    facts.entry_points.extend(texts(&json["bin"]));
    let main = &json["exports"];
    for exported in [main, &main["."], &main["."]["import"], &main["."]["default"]] {
        facts.entry_points.extend(text(exported));
    }
    unique(&mut facts.entry_points);
    let workspaces = &json["workspaces"];
    facts.members =
        if workspaces.is_array() { texts(workspaces) } else { texts(&workspaces["packages"]) };
}

pub(super) fn deno(json: &Value, facts: &mut ManifestFacts) {
    named(json, facts);
    facts.scripts = commands(&json["tasks"]);
    let exports = &json["exports"];
    facts.entry_points = text(exports).map_or_else(|| texts(exports), |one| vec![one]);
    facts.members = texts(&json["workspace"]);
}

pub(super) fn composer(json: &Value, facts: &mut ManifestFacts) {
    named(json, facts);
    facts.scripts = commands(&json["scripts"]);
    facts.entry_points = text(&json["bin"]).map_or_else(|| texts(&json["bin"]), |one| vec![one]);
}

pub(super) fn cargo(toml: &Value, facts: &mut ManifestFacts) {
    named(&toml["package"], facts);
    facts.entry_points.extend(text(&toml["lib"]["path"]));
    let programs = toml["bin"].as_array().into_iter().flatten();
    facts
        .entry_points
        .extend(programs.filter_map(|one| text(&one["path"]).or_else(|| text(&one["name"]))));
    facts.members = texts(&toml["workspace"]["members"]);
}

pub(super) fn python(toml: &Value, facts: &mut ManifestFacts) {
    for project in [&toml["project"], &toml["tool"]["poetry"]] {
        if facts.name.is_none() {
            named(project, facts);
        }
        let scripts = commands(&project["scripts"]);
        facts
            .entry_points
            .extend(scripts.into_iter().map(|(name, function)| format!("{name} = {function}")));
    }
    facts.members = texts(&toml["tool"]["uv"]["workspace"]["members"]);
}

/// Name and version at the top.
pub(super) fn julia(toml: &Value, facts: &mut ManifestFacts) {
    named(toml, facts);
}

fn named(value: &Value, facts: &mut ManifestFacts) {
    facts.name = text(&value["name"]);
    facts.version = text(&value["version"]);
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The texts of a list, or the values of an object; a text by itself is a list of one.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(list) => list.iter().filter_map(text).collect(),
        Value::Object(map) => map.values().filter_map(text).collect(),
        _ => Vec::new(),
    }
}

/// Commands by name. A command is a text, the first text of a list, or the `command` of an object.
fn commands(value: &Value) -> Vec<(String, String)> {
    let of =
        |value: &Value| text(value).or_else(|| text(&value[0])).or_else(|| text(&value["command"]));
    let entries = value.as_object().into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.clone(), of(value)?))).collect()
}

fn unique(list: &mut Vec<String>) {
    let mut seen = std::collections::HashSet::new();
    list.retain(|one| seen.insert(one.clone()));
}
