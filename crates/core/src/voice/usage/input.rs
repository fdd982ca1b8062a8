//! Programs that wait for what a person would type: their standard input is empty.

use super::{Call, SHELLS, words};
use crate::denials::Ended;

/// Programs that run what they read if nothing else is named, and how they take a program as an argument.
const INTERPRETERS: [(&str, &str); 14] = [
    ("ash", "-c"),
    ("bash", "-c"),
    ("bun", "-e"),
    ("dash", "-c"),
    ("irb", "-e"),
    ("lua", "-e"),
    ("node", "-e"),
    ("perl", "-e"),
    ("php", "-r"),
    ("python", "-c"),
    ("python3", "-c"),
    ("ruby", "-e"),
    ("sh", "-c"),
    ("zsh", "-c"),
];

/// Programs that copy or count what they read.
const FILTERS: [&str; 8] = ["cat", "head", "less", "more", "sort", "tail", "tee", "uniq"];

/// What a command has done that printed nothing, because there was nothing to read.
pub(super) fn note(ended: &Ended<'_>, calls: &[Call]) -> Option<String> {
    let [call] = calls else { return None };
    let (_, arguments) = ended.command;
    if arguments.iter().any(|word| word.contains(['<', '|'])) {
        return None;
    }
    let [name, rest @ ..] = &*words(call) else { return None };
    if rest.iter().any(|word| !word.starts_with('-') || *word == "-" || word.len() > 2) {
        return None;
    }
    let interpreter = INTERPRETERS.iter().find(|(program, _)| program == name);
    if let Some((_, option)) = interpreter.filter(|_| rest.is_empty()) {
        return Some(format!(
            "`{name}` read its program from the standard input, which is empty: name a file, or pass the program with `{option}`."
        ));
    }
    FILTERS
        .contains(name)
        .then(|| format!("`{name}` read the standard input, which is empty: name a file."))
}

/// A command line that a shell took for the name of a script.
pub(super) fn script(ended: &Ended<'_>) -> Option<String> {
    let (program, [line, ..]) = ended.command else { return None };
    let name = program.rsplit('/').next()?;
    let is_line = !line.starts_with('-') && line.contains(|letter: char| letter.is_whitespace());
    (SHELLS.contains(&name) && is_line && !ended.directory.join(line).exists()).then(|| {
        let line: String = line.chars().take(80).collect();
        format!("`{name}` took `{line}` for the name of a script: put \"-c\" in front of it.")
    })
}
