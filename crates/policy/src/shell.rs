//! What a command line would run.
//!
//! The line is parsed twice, as bash reads it and as a plain POSIX shell does, since which of the
//! two `sh` is depends on the system. Where the two disagree, or where the line is no shell syntax
//! at all, its pieces count too: a shell runs the first part of a line before it finds that the
//! rest is nonsense.
//!
//! Nothing is expanded. A command whose words are not all known beforehand says so, and so does one
//! that runs another program, writes to a file, or changes what later commands mean.
//!
//! A line comes from a model. However it is made, it is answered without recursion beyond a limit,
//! in time and memory that grow with its length: see `limits`.

mod bash_only;
mod compound;
mod cursor;
mod expansions;
mod grammar;
mod limits;
mod sequence;
mod simple;
mod suggest;
mod syntax;
mod walk;
mod words;
mod wrappers;

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

pub use bash_only::{BashOnly, bash_only};
pub use limits::LINE_LIMIT;
use limits::{MAX_LINE_BYTES, MAX_LINE_DEPTH, MAX_LINES, Steps, TOO_DEEP};
pub use sequence::{Step, sequence};
pub use suggest::suggest;
pub use syntax::Dialect;
use syntax::Script;
use walk::Collected;
use wrappers::NestedLine;

use crate::error::quoted;

/// Words that can precede the name of a command.
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
    /// Files that it is connected to by itself or by what stands around it, outermost first.
    pub redirects: Vec<Redirection>,
    /// Whether no more and nothing else is run than its words say: not where it has variables of its
    /// own, and not where another program decides what becomes of it.
    pub is_exact: bool,
    /// Why only a rule for every command may allow it.
    pub restricted: Option<String>,
}

/// A redirection from or to a file. Redirections between descriptors and here-documents are left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Redirection {
    /// `<`, `>`, `>>`, `>|`, `<>`, `>&`, `<&`, `&>` or `&>>`.
    pub operator: &'static str,
    /// The path as the shell makes it out, if it is known.
    pub path: Option<String>,
}

/// A command line, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Every simple command in it, wherever it stands; each once.
    pub commands: Vec<SimpleCommand>,
    /// Why it is no shell syntax, or not looked into.
    pub unparseable: Option<String>,
}

/// Takes a command line apart, for a shell of this dialect, or for one that may be bash or a plain
/// one. Never fails: what cannot be parsed is one restricted command.
#[must_use]
pub fn parse(line: &str, dialect: Option<Dialect>) -> CommandLine {
    Analysis { dialect, ..Analysis::default() }.all(line)
}

/// How many lines each thread caches: calls run in parallel.
const MAX_RECENT: usize = 4;

/// A line that was parsed, for a dialect.
type Recent = (String, Option<Dialect>, Rc<CommandLine>);

thread_local! {
    static RECENT: RefCell<Vec<Recent>> = const { RefCell::new(Vec::new()) };
}

/// As [`parse`], and caches the last lines: one call asks several times what its line would run, for
/// its capabilities, its rules, its watchdog and its prompt.
#[must_use]
pub fn parse_once(line: &str, dialect: Option<Dialect>) -> Rc<CommandLine> {
    RECENT.with_borrow_mut(|recent| {
        if let Some((.., parsed)) = recent.iter().find(|(of, by, _)| *by == dialect && of == line) {
            return Rc::clone(parsed);
        }
        let parsed = Rc::new(parse(line, dialect));
        if recent.len() >= MAX_RECENT {
            recent.remove(0);
        }
        recent.push((line.to_owned(), dialect, Rc::clone(&parsed)));
        parsed
    })
}

fn is_comment(line: &str) -> bool {
    line.lines().all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#'))
}

/// What a line comes to, as far as it has been read.
#[derive(Debug, Default)]
struct Analysis {
    /// The shell that reads the line, if it is known.
    dialect: Option<Dialect>,
    commands: Collected,
    unparseable: Option<String>,
    /// Lines looked into, the one at hand and those inside it.
    lines: HashSet<NestedLine>,
    line_bytes: usize,
    steps: Steps,
}

impl Analysis {
    fn all(mut self, line: &str) -> CommandLine {
        self.inside(NestedLine::SameShell(line.to_owned()), 0);
        if self.commands.is_empty() && !line.trim().is_empty() && !is_comment(line) {
            // `>file` and the like are commands too; this is none of those.
            self.whole(line, "is no command");
        }
        let is_full = self.commands.is_full;
        let mut commands = self.commands.into_commands();
        if is_full {
            self.unparseable.get_or_insert_with(|| "it has too many commands".to_owned());
            commands.push(restricted("…", "is one of too many commands".to_owned()));
        }
        CommandLine { commands, unparseable: self.unparseable }
    }

    /// A line, at the top or inside a command.
    fn inside(&mut self, inside: NestedLine, depth: usize) {
        if self.commands.is_full || self.lines.contains(&inside) {
            return;
        }
        let text = inside.text().to_owned();
        let dialect = if matches!(inside, NestedLine::OtherShell(_)) { None } else { self.dialect };
        let expands = matches!(inside, NestedLine::Expanded(_));
        self.line_bytes += text.len();
        self.lines.insert(inside);
        let is_much = depth > 0 && self.line_bytes > MAX_LINE_BYTES;
        if depth > MAX_LINE_DEPTH || self.lines.len() > MAX_LINES || is_much {
            return self.refuse(&text, TOO_DEEP);
        }
        if let Err(reason) = check(&text) {
            return self.refuse(&text, &reason);
        }
        let script = if expands {
            grammar::read_document(&text, &mut self.steps)
        } else {
            grammar::read(&text, dialect.unwrap_or(Dialect::Bash), &mut self.steps)
        };
        let other = (!expands && dialect.is_none())
            .then(|| grammar::read(&text, Dialect::Posix, &mut self.steps))
            .filter(|other| *other != script);
        if let Some(reason) = script.problem {
            self.refuse(&text, reason);
        } else if other.is_some() {
            self.whole(&text, "is read differently by different shells");
        } else if let Some(reason) = script.ambiguous {
            self.whole(&text, reason);
        }
        self.collect(&[Some(script), other], depth);
    }

    fn collect(&mut self, scripts: &[Option<Script<'_>>], depth: usize) {
        let mut lines = Vec::new();
        for script in scripts.iter().flatten() {
            let nested = walk::collect(script, &mut self.commands);
            for (text, reason) in nested.unclear {
                self.whole(&text, &reason);
            }
            lines.extend(script.lines.iter().map(|line| NestedLine::SameShell(line.to_string())));
            lines.extend(nested.lines);
        }
        for line in lines {
            self.inside(line, depth + 1);
        }
    }

    fn refuse(&mut self, line: &str, reason: &str) {
        self.unparseable.get_or_insert_with(|| reason.to_owned());
        self.whole(line, &format!("cannot be parsed: {reason}"));
    }

    /// The line as it stands, and what may be commands in it.
    fn whole(&mut self, line: &str, reason: &str) {
        self.commands.push(restricted(line.trim(), reason.to_owned()));
        if line.len() > LINE_LIMIT {
            return;
        }
        let separators = [';', '&', '|', '(', ')', '{', '}', '`', '\n', '\r', '"', '\''];
        let mut seen = HashSet::new();
        for piece in line.split(separators).map(str::trim).filter(|piece| !piece.is_empty()) {
            if self.commands.is_full {
                return;
            }
            if !seen.insert(piece) {
                continue;
            }
            let words: Vec<&str> = piece.split_whitespace().collect();
            self.commands.push(restricted(&words.join(" "), reason.to_owned()));
            let before_name = |word: &&str| KEYWORDS.contains(word) || word.contains('=');
            let name = words.iter().position(|word| !before_name(word)).unwrap_or(0);
            if name > 0 {
                self.commands.push(restricted(&words[name..].join(" "), reason.to_owned()));
            }
        }
    }
}

/// Refuses lines that are too long, and characters that shells treat differently.
fn check(line: &str) -> Result<(), String> {
    if line.len() > LINE_LIMIT {
        return Err(format!("it is longer than {LINE_LIMIT} bytes"));
    }
    if line.contains('\0') {
        return Err("it holds a NUL byte".to_owned());
    }
    // What separates words is not the same for every shell.
    if let Some(odd) = line.chars().find(|c| is_odd_space(*c)) {
        return Err(format!("it holds the character U+{:04X}", u32::from(odd)));
    }
    Ok(())
}

fn is_odd_space(c: char) -> bool {
    match c {
        ' ' | '\t' | '\n' => false,
        c => c.is_whitespace() || c.is_control(),
    }
}

fn restricted(text: &str, reason: String) -> SimpleCommand {
    SimpleCommand {
        text: text.to_owned(),
        argv: None,
        redirects: Vec::new(),
        is_exact: false,
        restricted: Some(reason),
    }
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

    /// The command in a message.
    #[must_use]
    pub fn display(&self) -> String {
        quoted(&self.text)
    }
}
