//! Lists of commands and pipelines.

use super::bash_only::BashOnly;
use super::cursor::{Parser, UNCLEAR};
use super::limits::Steps;
use super::syntax::{Command, Dialect, Keyword, Kind, Parsed, Problem, Script};
use super::words::Word;

pub(super) const INCOMPLETE: Problem = "it ends where something is still to come";
pub(super) const MISPLACED: Problem = "an operator or keyword stands where a command should be";
pub(super) const NOT_CLOSED: Problem =
    "a compound command or bracket is not closed by what belongs to it";

/// What ended a list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closer {
    End,
    Bracket,
    /// `;;`, and `;&` and `;;&` in bash.
    CaseItem,
    Word(Keyword),
}

/// Reads a line in one dialect. Of one that cannot be read, what stands before the place where that
/// shows: a shell may have run it by then.
pub(super) fn read<'s>(line: &'s str, dialect: Dialect, steps: &mut Steps) -> Script<'s> {
    read_noting(line, dialect, steps).0
}

/// Also returns the first thing in the line that a plain shell does not have.
pub(super) fn read_noting<'s>(
    line: &'s str,
    dialect: Dialect,
    steps: &mut Steps,
) -> (Script<'s>, Option<BashOnly>) {
    let mut parser = Parser::new(line, dialect, steps);
    let problem = match parser.list() {
        Ok(Closer::End) => None,
        Ok(_) => Some(MISPLACED),
        Err(problem) => Some(problem),
    };
    let bash_only = parser.bash_only;
    (parser.done(problem), bash_only)
}

/// Reads a text in which only `$` and backquotes mean something, as in a here-document.
pub(super) fn read_document<'s>(text: &'s str, steps: &mut Steps) -> Script<'s> {
    let mut parser = Parser::new(text, Dialect::Bash, steps);
    let problem = parser.document(0, text.len()).err();
    parser.done(problem)
}

impl<'s> Parser<'s, '_> {
    fn done(self, problem: Option<Problem>) -> Script<'s> {
        let mut script = Script { problem, ..self.script };
        // A substitution is part of a command, and is listed after it.
        script.commands.sort_by_key(|command| command.level);
        script
    }

    /// Commands up to what ends them.
    pub(super) fn list(&mut self) -> Parsed<Closer> {
        loop {
            self.line_breaks()?;
            match self.peek() {
                None => return Ok(Closer::End),
                Some(b')') => {
                    self.bump();
                    return Ok(Closer::Bracket);
                }
                Some(b';') if self.case_item_ends() => return Ok(Closer::CaseItem),
                _ => {}
            }
            if let Some((keyword, end)) = self.keyword()
                && keyword.closes()
            {
                self.at = end;
                return Ok(Closer::Word(keyword));
            }
            self.and_or()?;
            self.blanks();
            match self.peek() {
                Some(b';') if matches!(self.second(), Some(b';' | b'&')) => {}
                Some(b';' | b'&') => self.bump(),
                None | Some(b'\n' | b')') => {}
                Some(_) => return Err(MISPLACED),
            }
        }
    }

    pub(super) fn list_until(&mut self, keyword: Keyword) -> Parsed<()> {
        (self.list()? == Closer::Word(keyword)).then_some(()).ok_or(NOT_CLOSED)
    }

    fn case_item_ends(&mut self) -> bool {
        if self.accept_two(b';', b';') {
            if self.is_bash() && self.accept(b'&') {
                self.note(BashOnly::FALLS_THROUGH);
            }
            return true;
        }
        if self.is_bash() && self.accept_two(b';', b'&') {
            self.note(BashOnly::FALLS_THROUGH);
            return true;
        }
        false
    }

    fn and_or(&mut self) -> Parsed<()> {
        loop {
            self.pipeline()?;
            self.blanks();
            if !self.accept_two(b'&', b'&') {
                if !self.accept_two(b'|', b'|') {
                    return Ok(());
                }
                self.script.branches = true;
            }
            self.line_breaks()?;
        }
    }

    fn pipeline(&mut self) -> Parsed<()> {
        if self.not_and_time()? {
            return Ok(());
        }
        loop {
            self.count(1)?;
            self.command()?;
            self.blanks();
            if self.peek() != Some(b'|') || self.second() == Some(b'|') {
                return Ok(());
            }
            self.bump();
            if self.is_bash() && self.accept(b'&') {
                self.note(BashOnly::BOTH_PIPED);
            }
            self.line_breaks()?;
            while self.accept_keyword(Keyword::Not) {
                self.script.branches = true;
                self.blanks();
            }
        }
    }

    /// `!` and `time` in front of a pipeline. True: `time` stands alone, which is a command too.
    fn not_and_time(&mut self) -> Parsed<bool> {
        loop {
            self.count(1)?;
            if self.accept_keyword(Keyword::Not) {
                self.script.branches = true;
                self.blanks();
            } else if self.accept_keyword(Keyword::Time) {
                self.blanks();
                for option in ["-p", "--"] {
                    let rest = &self.text[self.at..self.end];
                    if let Some(after) = rest.strip_prefix(option)
                        && !after.starts_with(|c: char| !c.is_ascii_whitespace())
                    {
                        self.at += option.len();
                        self.blanks();
                    }
                }
                if matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b')')) {
                    self.push(Kind::Simple, vec![Word::plain("time")]);
                    return Ok(true);
                }
            } else {
                return Ok(false);
            }
        }
    }

    pub(super) fn command(&mut self) -> Parsed<()> {
        self.inside(|parser| if parser.compound()? { Ok(()) } else { parser.simple() })
    }

    pub(super) fn until_bracket(&mut self) -> Parsed<()> {
        (self.list()? == Closer::Bracket).then_some(()).ok_or(NOT_CLOSED)
    }

    /// The commands of `$(…)`, behind its opening bracket.
    pub(super) fn substitution(&mut self) -> Parsed<()> {
        let group = std::mem::take(&mut self.group);
        let documents = std::mem::take(&mut self.documents);
        self.level += 1;
        self.inside(Self::until_bracket)?;
        self.level -= 1;
        if !self.documents.is_empty() {
            return Err(UNCLEAR);
        }
        self.documents = documents;
        self.group = group;
        Ok(())
    }

    pub(super) fn new_command(&self, kind: Kind<'s>, words: Vec<Word<'s>>) -> Command<'s> {
        let (group, level) = (self.group, self.level);
        Command { kind, words, assigned: Vec::new(), redirects: Vec::new(), group, level }
    }

    pub(super) fn push(&mut self, kind: Kind<'s>, words: Vec<Word<'s>>) {
        let command = self.new_command(kind, words);
        self.script.commands.push(command);
    }
}
