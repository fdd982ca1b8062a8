//! Simple commands: assignments, words, redirections and here-documents.

use super::bash_only::BashOnly;
use super::cursor::{DOUBTFUL, Document, Parser, UNCLEAR, ends_word};
use super::grammar::INCOMPLETE;
use super::syntax::{Kind, Parsed, Problem, Redirect};
use super::words::Word;

const MISPLACED_BRACKET: Problem = "a bracket stands where no command can have one";
/// bash has room for no more.
const MAX_DOCUMENTS: usize = 16;
const UNUSUAL_DOCUMENT: Problem = "it has a here-document of an unusual kind";
const NAMED_DESCRIPTOR: Problem = "has a descriptor by name, which older shells take for a word";
const ODD_DOCUMENT: Problem = "has a here-document of an unusual kind";

/// What stands at the beginning of a word.
enum Beginning {
    /// `NAME=`, of which the value begins here.
    Assignment(usize),
    /// `NAME[`
    Index,
    Other,
}

impl<'s> Parser<'s, '_> {
    pub(super) fn simple(&mut self) -> Parsed<()> {
        let mut command = self.new_command(Kind::Simple, Vec::new());
        loop {
            self.blanks();
            self.count(1)?;
            if let Some(redirect) = self.redirect()? {
                command.redirects.push(redirect);
                continue;
            }
            match self.peek() {
                Some(b'(') => {
                    let is_name = command.words.len() == 1
                        && command.assigned.is_empty()
                        && command.redirects.is_empty();
                    self.bump();
                    self.blanks();
                    if !is_name || !self.accept(b')') {
                        return Err(MISPLACED_BRACKET);
                    }
                    return self.function_body();
                }
                None => break,
                Some(b'<' | b'>') if self.is_bash() => {}
                Some(byte) if ends_word(byte) => break,
                Some(_) => {}
            }
            let before_name = command.words.is_empty();
            let (word, assigns) = self.word_or_assignment(before_name)?;
            if before_name && assigns { &mut command.assigned } else { &mut command.words }
                .push(word);
        }
        if command.words.is_empty() && command.assigned.is_empty() && command.redirects.is_empty() {
            return Err(INCOMPLETE);
        }
        self.script.commands.push(command);
        Ok(())
    }

    /// A word, and whether it can be an assignment.
    fn word_or_assignment(&mut self, before_name: bool) -> Parsed<(Word<'s>, bool)> {
        self.peek();
        let start = self.at;
        match self.beginning() {
            Beginning::Assignment(value) => {
                if before_name && self.text[start..value].contains('+') {
                    self.note(BashOnly::APPENDED);
                }
                self.at = value;
                if self.is_bash() && self.peek() == Some(b'(') {
                    self.note(BashOnly::ARRAY);
                    self.array()?;
                    return Ok((Word::unknown(self.since(start)), true));
                }
                self.at = start;
                let word = self.word()?;
                Ok((word, true))
            }
            Beginning::Index if before_name => {
                let word = self.word()?;
                let assigns = word.source.contains("]=") || word.source.contains("]+=");
                let count = |bracket| word.source.bytes().filter(|byte| *byte == bracket).count();
                // bash reads on to the bracket that closes.
                if word.is_quoted || count(b'[') > count(b']') {
                    return Err(UNCLEAR);
                }
                if assigns {
                    self.note(BashOnly::ARRAY);
                }
                Ok((word, assigns))
            }
            _ => Ok((self.word()?, false)),
        }
    }

    fn beginning(&self) -> Beginning {
        let mut at = self.at;
        let mut is_first = true;
        loop {
            let (byte, place) = self.byte(at);
            match byte {
                Some(b'_') => {}
                Some(byte) if byte.is_ascii_alphabetic() => {}
                Some(byte) if byte.is_ascii_digit() && !is_first => {}
                Some(b'=') if !is_first => return Beginning::Assignment(place + 1),
                Some(b'+') if !is_first && self.is_bash() => {
                    let (next, place) = self.byte(place + 1);
                    return match next {
                        Some(b'=') => Beginning::Assignment(place + 1),
                        _ => Beginning::Other,
                    };
                }
                Some(b'[') if !is_first && self.is_bash() => return Beginning::Index,
                _ => return Beginning::Other,
            }
            is_first = false;
            at = place + 1;
        }
    }

    /// `(a b [c]=d)`
    fn array(&mut self) -> Parsed<()> {
        self.bump();
        loop {
            self.line_breaks()?;
            if self.accept(b')') {
                return Ok(());
            }
            self.word()?;
        }
    }

    /// A redirection with its descriptor, if one stands here.
    pub(super) fn redirect(&mut self) -> Parsed<Option<Redirect<'s>>> {
        let start = self.at;
        if let Some(end) = self.descriptor() {
            self.at = end;
        }
        let Some(operator) = self.redirect_operator() else {
            self.at = start;
            return Ok(None);
        };
        if self.is_bash() && matches!(operator, "<&" | ">&") && self.accept(b'-') {
            // What follows is a word by itself.
            return Ok(Some(Redirect { operator, target: Word::plain("-") }));
        }
        self.spaces();
        if operator == "<<" || operator == "<<-" {
            return self.document_begins(operator).map(Some);
        }
        let target = self.word()?;
        if let Some(syntax) = BashOnly::redirection(operator, &target) {
            self.note(syntax);
        }
        Ok(Some(Redirect { operator, target }))
    }

    /// Where a descriptor in front of a redirection ends: `2>`, and `{name}>` in bash.
    fn descriptor(&mut self) -> Option<usize> {
        self.peek();
        let mut at = self.at;
        let mut number = Some(0i32);
        let is_named = self.is_bash() && self.byte(at).0 == Some(b'{');
        if is_named {
            at = self.byte(at).1 + 1;
        }
        let mut length = 0;
        loop {
            let (byte, place) = self.byte(at);
            match byte {
                Some(byte) if byte.is_ascii_digit() => {
                    let digit = i32::from(byte - b'0');
                    number = number.and_then(|it| it.checked_mul(10)?.checked_add(digit));
                }
                Some(byte) if is_named && (byte == b'_' || byte.is_ascii_alphabetic()) => {}
                Some(b'}') if is_named && length > 0 => {
                    at = place + 1;
                    break;
                }
                _ => break,
            }
            length += 1;
            at = place + 1;
        }
        // A plain shell takes one digit, and more for a word.
        let fits = if self.is_bash() { is_named || number.is_some() } else { length == 1 };
        let (next, place) = self.byte(at);
        let is = length > 0 && fits && matches!(next, Some(b'<' | b'>'));
        if is && is_named {
            // The bash of macOS takes it for a word.
            self.doubt(NAMED_DESCRIPTOR);
            self.note(BashOnly::NAMED_DESCRIPTOR);
        } else if is && length > 1 {
            self.note(BashOnly::HIGH_DESCRIPTOR);
        }
        is.then_some(place)
    }

    fn redirect_operator(&mut self) -> Option<&'static str> {
        const BASH: [&str; 3] = ["&>>", "&>", "<<<"];
        const ALL: [&str; 9] = ["<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">"];
        let first = self.peek()?;
        if !matches!(first, b'<' | b'>' | b'&') {
            return None;
        }
        let is_process = matches!(first, b'<' | b'>') && self.second() == Some(b'(');
        if self.is_bash() && is_process {
            return None;
        }
        let bash: &[&str] = if self.is_bash() { &BASH } else { &[] };
        bash.iter().chain(&ALL).copied().find(|operator| {
            let mut at = self.at;
            for expected in operator.bytes() {
                let (byte, place) = self.byte(at);
                if byte != Some(expected) {
                    return false;
                }
                at = place + 1;
            }
            self.at = at;
            true
        })
    }

    fn document_begins(&mut self, operator: &'static str) -> Parsed<Redirect<'s>> {
        let target = self.word()?;
        let is_odd = target.source.contains(['$', '`']) || target.unquoted.contains('\n');
        if is_odd || target.is_process || self.documents.len() >= MAX_DOCUMENTS {
            return Err(UNUSUAL_DOCUMENT);
        }
        if self.level > 0 {
            // Older shells look for the closing bracket in it.
            self.doubt(DOUBTFUL);
        }
        self.documents.push(Document {
            delimiter: target.unquoted.clone().into_owned(),
            strips_tabs: operator == "<<-",
            expands: !target.is_quoted,
        });
        Ok(Redirect { operator, target })
    }

    /// The here-documents that begin behind a line break.
    pub(super) fn read_documents(&mut self) -> Parsed<()> {
        for document in std::mem::take(&mut self.documents) {
            let start = self.at;
            let end = loop {
                if self.at >= self.end {
                    self.doubt(ODD_DOCUMENT);
                    break self.end;
                }
                let begins = self.at;
                let rest = &self.text.as_bytes()[begins..self.end];
                let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                self.at = begins + length;
                let line = self.since(begins);
                self.at = (self.at + 1).min(self.end);
                let text = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
                if text == document.delimiter {
                    break begins;
                }
                // With the line break, what ends it may be hidden or made.
                if document.expands && line.ends_with('\\') {
                    self.doubt(ODD_DOCUMENT);
                }
            };
            self.count(self.at - start)?;
            if document.expands {
                // The next one is read where this one ends.
                self.inside(|parser| parser.document(start, end))?;
            }
        }
        Ok(())
    }
}
