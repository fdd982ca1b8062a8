//! The commands that a call runs in any case, one after the other.

use super::limits::Steps;
use super::syntax::Dialect;
use super::words::Word;
use super::wrappers::{NestedLine, certain, look, name_of};
use super::{LINE_LIMIT, grammar};

/// How many shells in one another are looked into.
const MAX_SHELLS: usize = 8;

/// A command of which it is certain that it runs if those before it succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The program and its arguments, without redirections. `None`: not known before it runs.
    pub words: Vec<Option<String>>,
    /// Variables that are set for it, or for it and what follows.
    pub variables: Vec<(String, Option<String>)>,
}

/// The commands of a program with arguments: the program itself, or those of the line that a shell gets. None,
/// where it is not certain which run: the line branches, goes on after a failure, or substitutes commands.
#[must_use]
pub fn sequence(program: &str, arguments: &[String]) -> Vec<Step> {
    let words: Vec<_> = [program]
        .into_iter()
        .chain(arguments.iter().map(String::as_str))
        .map(Word::plain)
        .collect();
    let mut found = Vec::new();
    let mut steps = Steps::default();
    match command(&words, Vec::new(), 0, &mut steps, &mut found) {
        Some(()) => found,
        None => Vec::new(),
    }
}

/// `None`: it is not certain what runs.
fn line(text: &str, depth: usize, steps: &mut Steps, found: &mut Vec<Step>) -> Option<()> {
    if depth > MAX_SHELLS || text.len() > LINE_LIMIT {
        return None;
    }
    let script = grammar::read(text, Dialect::Bash, steps);
    let is_certain = script.problem.is_none()
        && script.ambiguous.is_none()
        && !script.branches
        && script.lines.is_empty()
        && script.commands.iter().all(|command| command.level == 0);
    if !is_certain {
        return None;
    }
    for simple in &script.commands {
        let variables = simple.assigned.iter().map(assignment).collect();
        command(&simple.words, variables, depth, steps, found)?;
    }
    Some(())
}

fn command(
    words: &[Word<'_>],
    mut variables: Vec<(String, Option<String>)>,
    depth: usize,
    steps: &mut Steps,
    found: &mut Vec<Step>,
) -> Option<()> {
    let inner = unwrapped(words, &mut variables);
    let name = inner.first().and_then(Word::value).map(name_of);
    if matches!(name, Some("test" | "[" | "eval" | "source" | "." | "alias" | "trap")) {
        return None;
    }
    let nested = look(inner).lines;
    if let [NestedLine::OtherShell(text)] = &*nested
        && is_shell(name)
    {
        return line(text, depth + 1, steps, found);
    }
    let words = inner.iter().map(|word| word.value().map(str::to_owned)).collect();
    found.push(Step { words, variables });
    Some(())
}

fn is_shell(name: Option<&str>) -> bool {
    matches!(name, Some("sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash"))
}

/// Without programs such as `env` and `nohup` in front, as far as it is certain where the inner command begins.
fn unwrapped<'w, 's>(
    mut words: &'w [Word<'s>],
    variables: &mut Vec<(String, Option<String>)>,
) -> &'w [Word<'s>] {
    while let Some((first, rest)) = words.split_first() {
        let Some(name) = first.value().map(name_of) else { break };
        let inner = if name == "env" {
            of_env(rest, variables)
        } else if rest.is_empty() && name.contains('=') {
            None
        } else {
            certain(name, rest)
        };
        match inner {
            Some(inner) if !inner.is_empty() => words = inner,
            _ => break,
        }
    }
    words
}

/// What `env` runs. `None`: it has options that change more than variables.
fn of_env<'w, 's>(
    mut rest: &'w [Word<'s>],
    variables: &mut Vec<(String, Option<String>)>,
) -> Option<&'w [Word<'s>]> {
    loop {
        let (word, after) = rest.split_first()?;
        rest = match word.value() {
            Some("-i" | "-" | "--" | "--ignore-environment") => after,
            Some("-u") => after.get(1..)?,
            Some(text) if text.starts_with("--unset=") => after,
            Some(text) if text.starts_with('-') => return None,
            _ if word.source.contains('=') => {
                variables.push(assignment(word));
                after
            }
            Some(_) => return Some(rest),
            None => return None,
        };
    }
}

fn assignment(word: &Word<'_>) -> (String, Option<String>) {
    let split = |text: &str| {
        text.split_once('=').map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
    };
    let name = || word.source.split('=').next().unwrap_or_default().to_owned();
    word.value().and_then(split).unwrap_or_else(|| (name(), None))
}
