//! The parser's place in the text.

use super::bash_only::BashOnly;
use super::limits::{MAX_DEPTH, Steps, TOO_DEEP};
use super::syntax::{Dialect, Group, Keyword, Parsed, Problem, Script};

/// The reason for refusing a line, and for restricting one.
pub(super) const UNCLEAR: Problem = "it holds an expansion that cannot be told apart";
pub(super) const DOUBTFUL: Problem = "holds an expansion that cannot be told apart";

/// Reads a line from its beginning to its end, in one dialect.
pub(super) struct Parser<'s, 'b> {
    pub(super) text: &'s str,
    /// The next byte to read.
    pub(super) at: usize,
    /// Where the text ends, or the here-document in it.
    pub(super) end: usize,
    pub(super) dialect: Dialect,
    pub(super) script: Script<'s>,
    /// The compound command at hand.
    pub(super) group: usize,
    /// In how many substitutions.
    pub(super) level: usize,
    /// Here-documents that begin behind the next line break.
    pub(super) documents: Vec<Document>,
    /// The first thing that a plain shell does not have.
    pub(super) bash_only: Option<BashOnly>,
    depth: usize,
    steps: &'b mut Steps,
}

/// A here-document that is to come.
pub(super) struct Document {
    pub(super) delimiter: String,
    /// `<<-`: tabs at the beginning of lines do not count.
    pub(super) strips_tabs: bool,
    pub(super) expands: bool,
}

impl<'s, 'b> Parser<'s, 'b> {
    pub(super) fn new(text: &'s str, dialect: Dialect, steps: &'b mut Steps) -> Self {
        let line = Group { parent: 0, redirects: Vec::new() };
        Self {
            text,
            at: 0,
            end: text.len(),
            dialect,
            script: Script { groups: vec![line], ..Script::default() },
            group: 0,
            level: 0,
            documents: Vec::new(),
            bash_only: None,
            depth: 0,
            steps,
        }
    }

    pub(super) fn is_bash(&self) -> bool {
        self.dialect == Dialect::Bash
    }

    /// The byte at a place, without those before it that only continue a line.
    pub(super) fn byte(&self, mut at: usize) -> (Option<u8>, usize) {
        let bytes = &self.text.as_bytes()[..self.end];
        while bytes.get(at) == Some(&b'\\') && bytes.get(at + 1) == Some(&b'\n') {
            at += 2;
        }
        (bytes.get(at).copied(), at)
    }

    /// The next byte. A backslash before a line break is passed over, as the shell does it before
    /// anything else.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let (byte, at) = self.byte(self.at);
        self.at = at;
        byte
    }

    /// The byte behind the next one.
    pub(super) fn second(&mut self) -> Option<u8> {
        self.peek()?;
        self.byte(self.at + 1).0
    }

    /// The next byte where a line break is one even behind a backslash.
    pub(super) fn raw(&self) -> Option<u8> {
        self.text.as_bytes()[..self.end].get(self.at).copied()
    }

    pub(super) fn bump(&mut self) {
        self.at += 1;
    }

    /// Goes past the next byte if it is this one.
    pub(super) fn accept(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    /// The same for two of them.
    pub(super) fn accept_two(&mut self, first: u8, second: u8) -> bool {
        let (one, at) = self.byte(self.at);
        let (two, after) = self.byte(at + 1);
        let is = one == Some(first) && two == Some(second);
        if is {
            self.at = after + 1;
        }
        is
    }

    /// What has been read since `start`.
    pub(super) fn since(&self, start: usize) -> &'s str {
        // Every place is at a character's beginning, since only whole characters are passed over.
        self.text.get(start..self.at).unwrap_or_default()
    }

    pub(super) fn count(&mut self, steps: usize) -> Parsed<()> {
        self.steps.take(steps)
    }

    /// Reads something that stands inside of what is being read. This is all the recursion there is.
    pub(super) fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    pub(super) fn doubt(&mut self, reason: Problem) {
        self.script.ambiguous.get_or_insert(reason);
    }

    /// Notes what a plain shell does not have.
    pub(super) fn note(&mut self, syntax: BashOnly) {
        self.bash_only.get_or_insert(syntax);
    }

    pub(super) fn spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.bump();
        }
    }

    /// Spaces, tabs and a comment.
    pub(super) fn blanks(&mut self) {
        self.spaces();
        if self.peek() == Some(b'#') {
            if self.level > 0 {
                // Older shells look for the closing bracket in comments too.
                self.doubt(DOUBTFUL);
            }
            let rest = &self.text.as_bytes()[self.at..self.end];
            self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        }
    }

    /// Blanks, comments and line breaks.
    pub(super) fn line_breaks(&mut self) -> Parsed<()> {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.bump();
            self.read_documents()?;
        }
    }

    /// The keyword that stands here, and where it ends.
    pub(super) fn keyword(&mut self) -> Option<(Keyword, usize)> {
        let mut word = [0; Keyword::MAX_LENGTH];
        let (mut length, mut at) = (0, self.at);
        loop {
            let (byte, place) = self.byte(at);
            match byte {
                Some(byte) if !ends_word(byte) => {
                    *word.get_mut(length)? = byte;
                    length += 1;
                    at = place + 1;
                }
                _ => break,
            }
        }
        Keyword::of(&word[..length], self.dialect).map(|keyword| (keyword, at))
    }

    /// Goes past a keyword if it stands here.
    pub(super) fn accept_keyword(&mut self, expected: Keyword) -> bool {
        match self.keyword() {
            Some((keyword, end)) if keyword == expected => {
                self.at = end;
                true
            }
            _ => false,
        }
    }
}

/// Whether a word ends before this byte, if it is not quoted.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}
