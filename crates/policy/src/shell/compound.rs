//! Compound commands.

use super::bash_only::BashOnly;
use super::cursor::{DOUBTFUL, Parser, UNCLEAR};
use super::grammar::{Closer, INCOMPLETE, MISPLACED, NOT_CLOSED};
use super::syntax::{Group, Keyword, Kind, Parsed};
use super::words::Word;

impl Parser<'_, '_> {
    /// A compound command with its redirections, if one begins here.
    pub(super) fn compound(&mut self) -> Parsed<bool> {
        let parent = self.group;
        let group = self.script.groups.len();
        let keyword = self.keyword();
        let is_bracket = self.peek() == Some(b'(');
        if !is_bracket && !keyword.is_some_and(|(keyword, _)| opens(keyword)) {
            return match keyword {
                Some((keyword, _)) if keyword.closes() => Err(MISPLACED),
                _ => Ok(false),
            };
        }
        self.script.groups.push(Group { parent, redirects: Vec::new() });
        self.group = group;
        if let Some((keyword, end)) = keyword {
            self.at = end;
            self.compound_of(keyword)?;
        } else {
            self.brackets()?;
        }
        self.group = parent;
        loop {
            self.blanks();
            match self.redirect()? {
                Some(redirect) => self.script.groups[group].redirects.push(redirect),
                None => return Ok(true),
            }
        }
    }

    fn compound_of(&mut self, keyword: Keyword) -> Parsed<()> {
        self.script.branches |= keyword != Keyword::OpenBrace;
        match keyword {
            Keyword::Test => self.note(BashOnly::TEST),
            Keyword::Function => self.note(BashOnly::FUNCTION),
            Keyword::Select => self.note(BashOnly::SELECT),
            Keyword::Coproc => self.note(BashOnly::COPROC),
            _ => {}
        }
        match keyword {
            Keyword::OpenBrace => self.list_until(Keyword::CloseBrace),
            Keyword::If => self.if_clause(),
            Keyword::While | Keyword::Until => {
                self.list_until(Keyword::Do)?;
                self.list_until(Keyword::Done)
            }
            Keyword::For | Keyword::Select => self.for_clause(keyword == Keyword::For),
            Keyword::Case => self.case_clause(),
            Keyword::Test => self.test(),
            Keyword::Function => {
                self.blanks();
                self.word()?;
                self.blanks();
                if self.accept(b'(') {
                    self.blanks();
                    if !self.accept(b')') {
                        return Err(NOT_CLOSED);
                    }
                }
                self.function_body()
            }
            Keyword::Coproc => self.coprocess(),
            _ => Err(MISPLACED),
        }
    }

    pub(super) fn function_body(&mut self) -> Parsed<()> {
        self.script.branches = true;
        self.line_breaks()?;
        // A plain shell takes any command for a body.
        if self.is_bash() {
            return self.inside(Self::compound)?.then_some(()).ok_or(INCOMPLETE);
        }
        self.command()
    }

    /// `(…)` and, in bash, `((…))`.
    fn brackets(&mut self) -> Parsed<()> {
        if self.is_bash()
            && self.second() == Some(b'(')
            && let Some(end) = self.arithmetic_end()?
        {
            let start = self.at;
            self.note(BashOnly::ARITHMETIC);
            self.accept_two(b'(', b'(');
            self.arithmetic()?;
            if self.at != end {
                return Err(UNCLEAR);
            }
            let source = Word::unknown(self.since(start));
            self.push(Kind::Arithmetic, vec![source]);
            return Ok(());
        }
        self.bump();
        self.until_bracket()
    }

    fn if_clause(&mut self) -> Parsed<()> {
        self.list_until(Keyword::Then)?;
        loop {
            match self.list()? {
                Closer::Word(Keyword::Elif) => self.list_until(Keyword::Then)?,
                Closer::Word(Keyword::Else) => return self.list_until(Keyword::Fi),
                Closer::Word(Keyword::Fi) => return Ok(()),
                _ => return Err(NOT_CLOSED),
            }
        }
    }

    fn for_clause(&mut self, may_count: bool) -> Parsed<()> {
        self.blanks();
        if may_count && self.is_bash() && self.accept_two(b'(', b'(') {
            self.note(BashOnly::COUNTING);
            let start = self.at;
            self.arithmetic()?;
            let source = Word::unknown(self.since(start));
            self.push(Kind::Arithmetic, vec![source]);
            self.blanks();
            self.accept(b';');
            return self.loop_body();
        }
        let name = self.word()?;
        let mut values = Vec::new();
        self.blanks();
        if !self.accept(b';') {
            self.line_breaks()?;
            if self.accept_keyword(Keyword::In) {
                loop {
                    self.blanks();
                    match self.peek() {
                        Some(b';') => {
                            self.bump();
                            break;
                        }
                        Some(b'\n') => break,
                        _ => values.push(self.word()?),
                    }
                }
            }
        }
        self.push(Kind::Loop(name), values);
        self.loop_body()
    }

    fn loop_body(&mut self) -> Parsed<()> {
        self.line_breaks()?;
        if self.accept_keyword(Keyword::Do) {
            return self.list_until(Keyword::Done);
        }
        if self.is_bash() && self.accept_keyword(Keyword::OpenBrace) {
            return self.list_until(Keyword::CloseBrace);
        }
        Err(INCOMPLETE)
    }

    fn case_clause(&mut self) -> Parsed<()> {
        if self.level > 0 {
            // Older shells take the bracket behind a pattern for the one that closes.
            self.doubt(DOUBTFUL);
        }
        self.blanks();
        self.word()?;
        self.line_breaks()?;
        if !self.accept_keyword(Keyword::In) {
            return Err(INCOMPLETE);
        }
        loop {
            self.line_breaks()?;
            if self.accept_keyword(Keyword::Esac) {
                return Ok(());
            }
            if self.accept(b'(') {
                self.blanks();
            }
            loop {
                self.word()?;
                self.blanks();
                if !self.accept(b'|') {
                    break;
                }
                self.blanks();
            }
            if !self.accept(b')') {
                return Err(NOT_CLOSED);
            }
            match self.list()? {
                Closer::CaseItem => {}
                Closer::Word(Keyword::Esac) => return Ok(()),
                _ => return Err(NOT_CLOSED),
            }
        }
    }

    /// `[[ … ]]`, whose operators are words for this purpose.
    fn test(&mut self) -> Parsed<()> {
        let mut words = vec![Word::plain("[[")];
        loop {
            self.spaces();
            let start = self.at;
            match self.peek() {
                None => return Err(NOT_CLOSED),
                Some(b'\n') => {
                    self.bump();
                    self.read_documents()?;
                }
                // A comment, or not.
                Some(b'#' | b';') => return Err(UNCLEAR),
                Some(b'(' | b')' | b'&' | b'|') => {
                    self.bump();
                    words.push(Word::plain(self.since(start)));
                }
                Some(b'<' | b'>') if self.second() != Some(b'(') => {
                    self.bump();
                    words.push(Word::plain(self.since(start)));
                }
                Some(_) => {
                    let word = self.word()?;
                    let ends = word.source == "]]";
                    words.push(word);
                    if ends {
                        break;
                    }
                }
            }
        }
        self.push(Kind::Test, words);
        Ok(())
    }

    /// `coproc [NAME] COMMAND`, in which only a compound command can have a name.
    fn coprocess(&mut self) -> Parsed<()> {
        self.blanks();
        if self.inside(Self::compound)? {
            return Ok(());
        }
        let start = self.at;
        while self.peek().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
            self.bump();
        }
        self.blanks();
        let named = self.at > start && self.opens_compound();
        if !named {
            self.at = start;
        }
        self.command()
    }

    fn opens_compound(&mut self) -> bool {
        self.peek() == Some(b'(') || self.keyword().is_some_and(|(keyword, _)| opens(keyword))
    }
}

/// Whether a compound command begins with it.
fn opens(keyword: Keyword) -> bool {
    use Keyword::{Case, Coproc, For, Function, If, OpenBrace, Select, Test, Until, While};
    matches!(
        keyword,
        Case | Coproc | For | Function | If | OpenBrace | Select | Test | Until | While
    )
}
