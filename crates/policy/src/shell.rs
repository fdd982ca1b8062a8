//! What a command line would run.
//!
//! The line is parsed twice, as bash reads it and as a plain POSIX shell does, since which of the
//! two `sh` is depends on the system. Where the two disagree, or where the line is no shell syntax
//! at all, its pieces count too: a shell runs the first part of a line before it finds that the
//! rest is nonsense.
//!
//! Nothing is expanded. A command whose words are not all known beforehand says so, and so does one
//! that runs another program, writes to a file, or changes what later commands mean.

mod lines;
mod walk;
mod words;
mod wrappers;

use std::collections::HashSet;

use crate::error::quoted;
use lines::Line;
use walk::Reading;
pub use words::quote;

/// A longer line is not looked into.
pub const LINE_LIMIT: usize = 32 << 10;
/// More commands than these are not looked into either.
const MOST_COMMANDS: usize = 1024;
/// Lines in lines, all together.
const MOST_LINES: usize = 256;
/// Commands in commands, by `$(…)`, `eval` and `sh -c`.
const DEEPEST: usize = 12;

/// A line that is nested as deeply as may be takes less than half of it in a debug build.
const STACK: usize = 8 << 20;
const STACK_LEFT: usize = 4 << 20;

/// What stands in front of a command and is none.
const KEYWORDS: [&str; 12] =
    ["if", "then", "elif", "else", "while", "until", "do", "!", "time", "coproc", "function", "in"];

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SimpleCommand {
    /// Its words with one space between them, each quoted where it has to be; a word that is not
    /// known as it was written.
    pub text: String,
    /// Its words, if all are known: the program and its arguments.
    pub argv: Option<Vec<String>>,
    /// Whether no more and nothing else is run than its words say: not where it has variables of its
    /// own, and not where another program decides what becomes of it.
    pub is_exact: bool,
    /// Why only a rule for every command may allow it.
    pub restricted: Option<String>,
}

/// A command line, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Every simple command in it, wherever it stands; each once.
    pub commands: Vec<SimpleCommand>,
    /// Why it is no shell syntax, or not looked into.
    pub unparseable: Option<String>,
}

/// Takes a command line apart. Never fails: what cannot be parsed is one restricted command.
#[must_use]
pub fn parse(line: &str) -> CommandLine {
    let mut found = Found::default();
    found.line(line, 0);
    if found.commands.is_empty() && !line.trim().is_empty() && !is_comment(line) {
        // `>file` and the like are commands too; this is none of those.
        found.whole(line, "is no command");
    }
    CommandLine { commands: found.commands, unparseable: found.unparseable }
}

fn is_comment(line: &str) -> bool {
    line.lines().all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#'))
}

/// What has been found so far.
#[derive(Debug, Default)]
struct Found {
    commands: Vec<SimpleCommand>,
    known: HashSet<SimpleCommand>,
    unparseable: Option<String>,
    /// Lines looked into, the one at hand and those inside it.
    lines: HashSet<String>,
    /// There were more commands than are kept.
    overflowed: bool,
}

impl Found {
    fn push(&mut self, command: SimpleCommand) {
        if self.commands.len() >= MOST_COMMANDS {
            if !self.overflowed {
                self.overflowed = true;
                self.unparseable.get_or_insert_with(|| "it has too many commands".to_owned());
                self.commands.push(restricted("…", "is one of too many commands".to_owned()));
            }
        } else if self.known.insert(command.clone()) {
            self.commands.push(command);
        }
    }

    /// A line, at the top or inside a command.
    fn line(&mut self, line: &str, depth: usize) {
        if !self.lines.insert(line.to_owned()) {
            return;
        }
        if depth > DEEPEST || self.lines.len() > MOST_LINES {
            self.refuse(line, "it is nested too deeply");
            return;
        }
        // The parser is recursive, and nobody knows how much of the stack is left.
        stacker::maybe_grow(STACK_LEFT, STACK, || self.line_here(line, depth));
    }

    fn line_here(&mut self, line: &str, depth: usize) {
        let (bash, plain) = match Line::parse(line) {
            Ok(Line { bash, plain }) => {
                (Reading::of(&bash), plain.as_ref().map(Reading::of).unwrap_or_default())
            }
            Err(reason) => return self.refuse(line, &reason),
        };
        if !bash.agrees(&plain) || words::has_odd_quotes(line) {
            self.whole(line, "is read differently by different shells");
        }
        let mut lines = Vec::new();
        for reading in [bash, plain] {
            for command in reading.commands {
                self.push(command);
            }
            for (text, reason) in reading.unclear {
                self.whole(&text, &reason);
            }
            lines.extend(reading.lines);
        }
        for line in lines {
            self.line(&line, depth + 1);
        }
    }

    fn refuse(&mut self, line: &str, reason: &str) {
        self.unparseable.get_or_insert_with(|| reason.to_owned());
        self.whole(line, &format!("cannot be parsed: {reason}"));
    }

    /// The line as it stands, and what may be commands in it.
    fn whole(&mut self, line: &str, reason: &str) {
        self.push(restricted(line.trim(), reason.to_owned()));
        if line.len() > LINE_LIMIT {
            return;
        }
        let separators = [';', '&', '|', '(', ')', '{', '}', '`', '\n', '\r', '"', '\''];
        for piece in line.split(separators).map(str::trim).filter(|piece| !piece.is_empty()) {
            let words: Vec<&str> = piece.split_whitespace().collect();
            self.push(restricted(&words.join(" "), reason.to_owned()));
            let before_name = |word: &&str| KEYWORDS.contains(word) || word.contains('=');
            let name = words.iter().position(|word| !before_name(word)).unwrap_or(0);
            if name > 0 {
                self.push(restricted(&words[name..].join(" "), reason.to_owned()));
            }
        }
    }
}

fn restricted(text: &str, reason: String) -> SimpleCommand {
    SimpleCommand { text: text.to_owned(), argv: None, is_exact: false, restricted: Some(reason) }
}

impl SimpleCommand {
    /// The name of the program without its directory, and the rest, where that is another text.
    #[must_use]
    pub fn without_directory(&self) -> Option<String> {
        let (name, rest) = match self.text.split_once(' ') {
            Some((name, rest)) => (name, Some(rest)),
            None => (self.text.as_str(), None),
        };
        let (_, base) = name.trim_matches('\'').rsplit_once('/')?;
        Some(rest.map_or_else(|| base.to_owned(), |rest| format!("{base} {rest}")))
    }

    /// How it is called in a message.
    #[must_use]
    pub fn shown(&self) -> String {
        quoted(&self.text)
    }
}

/// Patterns that a user may want to record for a line: one for each of its commands, or none for
/// one that only `*` can allow.
#[must_use]
pub fn suggest(line: &str) -> Vec<String> {
    /// Programs whose first argument says what they do.
    const WITH_SUBCOMMANDS: [&str; 15] = [
        "git", "npm", "pnpm", "yarn", "bun", "cargo", "go", "docker", "kubectl", "gh", "pip",
        "make", "uv", "deno", "dotnet",
    ];
    let parsed = parse(line);
    let mut patterns: Vec<String> = Vec::new();
    for command in &parsed.commands {
        let pattern = match (&command.argv, &command.restricted) {
            (Some(argv), None) => match argv.as_slice() {
                [program, sub, ..]
                    if WITH_SUBCOMMANDS.contains(&program.as_str())
                        && !sub.is_empty()
                        && sub.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
                        && !sub.starts_with('-') =>
                {
                    // With the space, so that `git status` does not allow `git status-x`; and
                    // without arguments by itself.
                    if argv.len() == 2 {
                        command.text.clone()
                    } else {
                        format!("{program} {sub} *")
                    }
                }
                _ => escaped(&command.text),
            },
            _ => return Vec::new(),
        };
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    patterns
}

/// A text that matches nothing but itself.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
