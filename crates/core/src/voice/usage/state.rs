//! Lines that change nothing but the shell that runs them, which ends with the call.

use super::{Call, words};

const DIRECTORY: [&str; 3] = ["cd", "popd", "pushd"];

const SETTINGS: [&str; 13] = [
    ".", "alias", "declare", "export", "readonly", "set", "shopt", "source", "typeset", "ulimit",
    "umask", "unalias", "unset",
];

/// What does not last of a line that has printed nothing.
pub(super) fn note(calls: &[Call]) -> Option<String> {
    let is_state = |call: &Call| {
        let [name, ..] = &*words(call) else { return false };
        DIRECTORY.contains(name) || SETTINGS.contains(name) || is_assignment(name)
    };
    if calls.is_empty() || !calls.iter().all(is_state) {
        return None;
    }
    let changed = |of: &[&str]| {
        let mut names = calls.iter().filter_map(|call| call.first()).map(String::as_str);
        names.find(|name| of.contains(name) || of.is_empty()).map(str::to_owned)
    };
    if let Some(name) = changed(&DIRECTORY) {
        return Some(format!(
            "`{name}` holds for this call alone, and the next one begins where this one began: use `cd DIRECTORY && …` in one command line."
        ));
    }
    changed(&[]).map(|name| {
        let name = name.split('=').next().unwrap_or_default();
        format!("`{name}` holds for this call alone: set it in the command line that needs it.")
    })
}

/// Whether a word sets a variable.
pub(in crate::voice) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    !name.is_empty()
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
