//! One word of a command: what it says, and what it would run.

use std::borrow::Cow;

use super::bash_only::BashOnly;
use super::cursor::{Parser, ends_word};
use super::grammar::INCOMPLETE;
use super::syntax::Parsed;

/// A word as the shell reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'s> {
    /// As it was written.
    pub(super) source: &'s str,
    /// Without its quotes. Says nothing where it is not known.
    pub(super) unquoted: Cow<'s, str>,
    /// Nothing in it is expanded.
    pub(super) is_known: bool,
    pub(super) is_quoted: bool,
    /// It is, or holds, `<(…)` or `>(…)`.
    pub(super) is_process: bool,
}

impl<'s> Word<'s> {
    pub(super) fn plain(source: &'s str) -> Self {
        Self {
            source,
            unquoted: Cow::Borrowed(source),
            is_known: true,
            is_quoted: false,
            is_process: false,
        }
    }

    pub(super) fn unknown(source: &'s str) -> Self {
        Self { is_known: false, ..Self::plain(source) }
    }

    /// What it stands for, if nothing in it is expanded.
    pub(super) fn value(&self) -> Option<&str> {
        self.is_known.then_some(self.unquoted.as_ref())
    }

    /// How it stands in the text of its command.
    pub(super) fn text(&self) -> Cow<'_, str> {
        self.value().map_or(Cow::Borrowed(self.source), quoted)
    }
}

/// A word as a shell has to be given it: as it is, or in single quotes.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-^".contains(c) || !c.is_ascii();
    if !word.is_empty() && word.chars().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
    }
}

/// Expansions that show in the text: names of files, braces, home directories.
fn is_expanded(source: &str) -> bool {
    if source.starts_with('~') {
        return true;
    }
    let mut bytes = source.bytes();
    let (mut bracket, mut brace) = (false, false);
    let mut quote = None;
    let mut before = b' ';
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (None | Some(b'"'), b'\\') => {
                before = bytes.next().unwrap_or(byte);
                continue;
            }
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            (None, b'*' | b'?') => return true,
            (None, b'[') => bracket = true,
            (None, b']') if bracket => return true,
            (None, b'{') => brace = true,
            (None, b'}') if brace => return true,
            // After `=` and `:` a tilde is expanded in some places.
            (None, b'~') if matches!(before, b'=' | b':') => return true,
            _ => {}
        }
        before = byte;
    }
    // `{}` is what `find` and `xargs` replace, and no shell.
    false
}

/// A word as it is put together.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) bytes: Vec<u8>,
    pub(super) is_known: bool,
    pub(super) is_quoted: bool,
    pub(super) is_process: bool,
}

impl Value {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), is_known: true, is_quoted: false, is_process: false }
    }

    fn word(self, source: &str) -> Word<'_> {
        let Self { bytes, is_known, is_quoted, is_process } = self;
        // Only whole characters are put in.
        let unquoted = String::from_utf8(bytes);
        Word {
            source,
            is_known: is_known && unquoted.is_ok() && !is_expanded(source),
            unquoted: Cow::Owned(unquoted.unwrap_or_default()),
            is_quoted,
            is_process,
        }
    }
}

impl<'s> Parser<'s, '_> {
    pub(super) fn word(&mut self) -> Parsed<Word<'s>> {
        self.peek();
        let start = self.at;
        self.word_since(start)
    }

    /// The rest of a word of which the beginning has been read, and is ordinary characters.
    pub(super) fn word_since(&mut self, start: usize) -> Parsed<Word<'s>> {
        let bytes = self.text.as_bytes();
        let special =
            |byte: u8| ends_word(byte) || matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`');
        let begins = self.at;
        while self.at < self.end && !special(bytes[self.at]) {
            self.at += 1;
        }
        self.count(self.at - begins + 1)?;
        let plain = self.since(start);
        let is_over = self.raw().is_none_or(|byte| ends_word(byte) && !matches!(byte, b'<' | b'>'));
        if is_over {
            if plain.is_empty() {
                return Err(INCOMPLETE);
            }
            let is_known = !is_expanded(plain);
            return Ok(Word { is_known, ..Word::plain(plain) });
        }
        let mut value = Value { bytes: plain.as_bytes().to_vec(), ..Value::new() };
        self.unquoted(&mut value)?;
        if self.at == start {
            return Err(INCOMPLETE);
        }
        Ok(value.word(self.since(start)))
    }

    fn unquoted(&mut self, value: &mut Value) -> Parsed<()> {
        while let Some(byte) = self.peek() {
            self.count(1)?;
            match byte {
                b'<' | b'>' if self.is_bash() && self.second() == Some(b'(') => {
                    self.note(BashOnly::PROCESS);
                    self.accept_two(byte, b'(');
                    value.is_known = false;
                    value.is_process = true;
                    self.substitution()?;
                }
                byte if ends_word(byte) => return Ok(()),
                b'\\' => {
                    value.is_quoted = true;
                    self.bump();
                    // What is behind the last backslash is not here to be seen.
                    value.bytes.push(self.raw().ok_or(INCOMPLETE)?);
                    self.bump();
                }
                b'\'' => {
                    self.bump();
                    let inside = self.single_quoted()?;
                    value.bytes.extend_from_slice(inside.as_bytes());
                    value.is_quoted = true;
                }
                b'"' => {
                    self.bump();
                    value.is_quoted = true;
                    self.double_quoted(value)?;
                }
                b'$' => self.dollar(false, value)?,
                b'`' => {
                    value.is_known = false;
                    self.backquoted(false)?;
                }
                byte => {
                    value.bytes.push(byte);
                    self.bump();
                }
            }
        }
        Ok(())
    }

    /// What stands in single quotes, behind the first of them.
    pub(super) fn single_quoted(&mut self) -> Parsed<&'s str> {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..self.end];
        let length = rest.iter().position(|byte| *byte == b'\'').ok_or(INCOMPLETE)?;
        self.count(length)?;
        self.at = start + length;
        let inside = self.since(start);
        self.bump();
        Ok(inside)
    }

    /// What stands in double quotes, behind the first of them.
    pub(super) fn double_quoted(&mut self, value: &mut Value) -> Parsed<()> {
        loop {
            if self.peek().ok_or(INCOMPLETE)? == b'"' {
                self.bump();
                return Ok(());
            }
            self.quoted_character(b"$`\\\"", value)?;
        }
    }

    /// The text of a here-document from `start` to `end`, in which quotes are ordinary characters.
    pub(super) fn document(&mut self, start: usize, end: usize) -> Parsed<()> {
        let outer = (self.at, self.end);
        (self.at, self.end) = (start, end);
        let mut value = Value::new();
        while self.peek().is_some() {
            self.quoted_character(b"$`\\", &mut value)?;
        }
        (self.at, self.end) = outer;
        Ok(())
    }

    /// One character, or one expansion, of a text in quotes.
    fn quoted_character(&mut self, escaped: &[u8], value: &mut Value) -> Parsed<()> {
        self.count(1)?;
        match self.peek() {
            Some(b'\\') => {
                self.bump();
                match self.raw() {
                    Some(byte) if escaped.contains(&byte) => {
                        value.bytes.push(byte);
                        self.bump();
                    }
                    _ => value.bytes.push(b'\\'),
                }
            }
            Some(b'$') => self.dollar(true, value)?,
            Some(b'`') => {
                value.is_known = false;
                self.backquoted(true)?;
            }
            Some(byte) => {
                value.bytes.push(byte);
                self.bump();
            }
            None => {}
        }
        Ok(())
    }
}
