//! What a command named and did not see: variables that are kept from it, and files that read as empty.

use std::path::{Path, PathBuf};

use toolwright_exec::Exit;
use toolwright_names::printable_path;

use crate::command::end::End;
use crate::denials::Ended;
use crate::voice::remedy::Remedy;

/// How many are named.
const MAX_NAMED: usize = 3;

/// What the command line names of these.
pub(super) fn notes(ended: &Ended<'_>) -> Vec<String> {
    let mut notes: Vec<String> = variables(ended);
    if *ended.end == End::Exited(Exit::Code(0)) {
        notes.extend(files(ended));
    }
    notes
}

/// Variables of the host that the command line names, and the command has not.
fn variables(ended: &Ended<'_>) -> Vec<String> {
    let Some(variables) = ended.variables else { return Vec::new() };
    let (program, arguments) = ended.command;
    let texts = || [program].into_iter().chain(arguments.iter().map(String::as_str));
    if !texts().any(|text| text.contains('$') || text.contains("env")) {
        return Vec::new();
    }
    let is_named = |name: &str| texts().any(|text| has_word(text, name));
    let withheld = variables.withheld().filter_map(|name| name.to_str());
    let named: Vec<&str> = withheld.filter(|name| is_named(name)).take(MAX_NAMED).collect();
    let remedy = Remedy::VARIABLE.words(ended.door);
    named
        .iter()
        .map(|name| {
            format!(
                "`{name}` is set on the host and kept from commands: do without it, or {remedy}."
            )
        })
        .collect()
}

/// Whether a text has a name as a word of its own.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
    })
}

/// Closed files and directories that the command line names, or names something below: they read as empty. Nobody looks
/// at the host, so a note does not tell what is in a closed directory.
fn files(ended: &Ended<'_>) -> Vec<String> {
    if ended.plan.closed.is_empty() {
        return Vec::new();
    }
    let home = ended.variables.and_then(|variables| {
        let (_, home) = variables.passed.iter().find(|(name, _)| name == "HOME")?;
        Some(PathBuf::from(home))
    });
    let mut named: Vec<PathBuf> = Vec::new();
    for call in crate::voice::refusals::calls_of(ended) {
        for word in call.iter().skip(1) {
            let Some(path) = path_of(word, ended.directory, home.as_deref()) else { continue };
            if !ended.plan.closes(&path) {
                continue;
            }
            let around = ended.plan.closed.iter().filter(|closed| path.starts_with(closed));
            let Some(closed) = around.max_by_key(|closed| closed.components().count()) else {
                continue;
            };
            if !named.contains(closed) && named.len() < MAX_NAMED {
                named.push(closed.clone());
            }
        }
    }
    let remedy = Remedy::READABLE.words(ended.door);
    let note = |path: &PathBuf| {
        format!(
            "`{}` is closed to commands and reads as empty: do without it, or {remedy}.",
            printable_path(path)
        )
    };
    named.iter().map(note).collect()
}

/// The path that a word names. `None` also where `..` is in it: links decide where that leads.
fn path_of(word: &str, directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if word.split('/').any(|part| part == "..") {
        return None;
    }
    for start in ["~/", "$HOME/", "${HOME}/"] {
        if let Some(below) = word.strip_prefix(start) {
            return Some(home?.join(below));
        }
    }
    let is_path = word.contains('/') || word.starts_with('.');
    (is_path && !word.starts_with('-')).then(|| directory.join(word))
}
