//! What a manifest or a tool requires, as it was written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CompileError;

/// The capability surface that a tool or an agent needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequirementSet {
    /// Files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fs: Option<FsRequirements>,
    /// Other hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<NetRequirements>,
    /// Programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<Vec<ShellRequirement>>,
    /// Everything else, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
}

/// Path patterns; relative ones are meant from each workspace root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FsRequirements {
    /// What is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// What is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Vec<String>>,
}

/// Host patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetRequirements {
    /// `example.com`, `*.example.com` (without `example.com` itself), `api*`, `10.0.0.*`, `*`, each
    /// with a port or without: `example.com:8443`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
}

/// One program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellRequirement {
    /// The name of the executable; `*` for any.
    pub cmd: String,
    /// One pattern for each argument: no more and no fewer. Left out: any arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<ArgPattern>>,
}

/// A pattern for one argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "an argument is a string, {\"wildcard\": true} or {\"prefix\": \"…\"}"
)]
pub enum ArgPattern {
    /// This argument.
    Exact(String),
    /// `{"wildcard": true}`: any one argument.
    Wildcard {
        /// Always true.
        wildcard: bool,
    },
    /// `{"prefix": "--depth="}`
    Prefix {
        /// How the argument begins.
        prefix: String,
    },
}

impl RequirementSet {
    /// Reads a set from JSON. Fields that do not exist are errors: a misspelt one would grant
    /// nothing, silently.
    pub fn parse(origin: &str, value: &Value) -> Result<Self, CompileError> {
        let refused = |place: String, problem: String| CompileError {
            origin: origin.to_owned(),
            place,
            problem,
            variable: None,
        };
        if let Some(place) = not_an_object(value) {
            return Err(refused(place, "an object is expected here".to_owned()));
        }
        let set: Self = serde_path_to_error::deserialize(value).map_err(|error| {
            let place = error.path().to_string();
            let place = if place == "." { "the set itself".to_owned() } else { place };
            refused(place, error.inner().to_string())
        })?;
        for (index, requirement) in set.shell.iter().flatten().enumerate() {
            let cmd = &requirement.cmd;
            if cmd.is_empty() || cmd.contains(char::is_whitespace) || cmd.contains('\0') {
                let problem = "`cmd` is one executable's name; its arguments go into `args`";
                return Err(refused(format!("shell[{index}].cmd"), problem.to_owned()));
            }
            for (position, arg) in requirement.args.iter().flatten().enumerate() {
                if *arg == (ArgPattern::Wildcard { wildcard: false }) {
                    let problem = "`wildcard` can only be true; leave the argument out instead";
                    let place = format!("shell[{index}].args[{position}]");
                    return Err(refused(place, problem.to_owned()));
                }
            }
        }
        for (index, name) in set.capabilities.iter().flatten().enumerate() {
            if name.trim().is_empty() {
                let problem = "a capability has a name";
                return Err(refused(format!("capabilities[{index}]"), problem.to_owned()));
            }
        }
        Ok(set)
    }
}

/// The place of a list, or another value, where an object is expected: serde would read the fields of
/// an object from a list, in their order.
fn not_an_object(value: &Value) -> Option<String> {
    if !value.is_object() {
        return Some("the set itself".to_owned());
    }
    let is_other = |name: &str| value.get(name).is_some_and(|it| !it.is_object() && !it.is_null());
    if let Some(name) = ["fs", "net"].into_iter().find(|name| is_other(name)) {
        return Some(name.to_owned());
    }
    for (index, requirement) in list(value, "shell") {
        if !requirement.is_object() {
            return Some(format!("shell[{index}]"));
        }
        for (position, arg) in list(requirement, "args") {
            if !arg.is_object() && !arg.is_string() {
                return Some(format!("shell[{index}].args[{position}]"));
            }
        }
    }
    None
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    value.get(name).and_then(Value::as_array).into_iter().flatten().enumerate()
}
