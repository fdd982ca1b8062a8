//! What begins with `$` or a backquote.

use std::borrow::Cow;

use super::bash_only::BashOnly;
use super::cursor::{DOUBTFUL, Parser, UNCLEAR};
use super::grammar::INCOMPLETE;
use super::syntax::Parsed;
use super::words::Value;

pub(super) const ODD_QUOTES: &str = "is read differently by different shells";

impl Parser<'_, '_> {
    /// An expansion, or a `$` that is none.
    pub(super) fn dollar(&mut self, quoted: bool, value: &mut Value) -> Parsed<()> {
        self.bump();
        match self.peek() {
            Some(b'(') => {
                value.is_known = false;
                self.bump();
                if self.peek() != Some(b'(') {
                    return self.substitution();
                }
                self.bump();
                self.arithmetic_or_commands()
            }
            Some(b'{') => {
                value.is_known = false;
                self.bump();
                self.inside(|parser| parser.braces(quoted, value))
            }
            // bash computes what stands in it, other shells do not.
            Some(b'[') => {
                value.is_known = false;
                self.doubt(ODD_QUOTES);
                if self.is_bash() { Err(UNCLEAR) } else { Ok(()) }
            }
            Some(quote @ (b'\'' | b'"')) if !quoted => {
                value.is_known = false;
                value.is_quoted = true;
                self.doubt(ODD_QUOTES);
                self.note(if quote == b'"' { BashOnly::TRANSLATED } else { BashOnly::ESCAPED });
                if self.is_bash() && quote == b'\'' { self.escaped_quotes() } else { Ok(()) }
            }
            Some(byte) if byte.is_ascii_alphanumeric() || b"_@*#?-$!".contains(&byte) => {
                value.is_known = false;
                self.bump();
                Ok(())
            }
            next => {
                // Which letters belong to a name is not the same everywhere.
                value.is_known &= next.is_none_or(|byte| byte.is_ascii());
                value.bytes.push(b'$');
                Ok(())
            }
        }
    }

    /// `$'…'`, in which a backslash is one.
    fn escaped_quotes(&mut self) -> Parsed<()> {
        self.bump();
        loop {
            self.count(1)?;
            let byte = self.raw().ok_or(INCOMPLETE)?;
            self.bump();
            if byte == b'\'' {
                return Ok(());
            }
            if byte == b'\\' {
                self.raw().ok_or(INCOMPLETE)?;
                self.bump();
            }
        }
    }

    /// `${…}`, behind its opening brace.
    fn braces(&mut self, quoted: bool, value: &mut Value) -> Parsed<()> {
        // `${ a; }` and `${|a; }` are commands to some shells.
        if matches!(self.peek(), None | Some(b' ' | b'\t' | b'\n' | b'|' | b'(')) {
            return Err(UNCLEAR);
        }
        if let Some(syntax) = BashOnly::expansion(&self.text[self.at..self.end]) {
            self.note(syntax);
        }
        loop {
            self.count(1)?;
            let byte = self.peek().ok_or(INCOMPLETE)?;
            match byte {
                b'$' => {
                    self.dollar(quoted, value)?;
                    continue;
                }
                b'`' => {
                    self.backquoted(quoted)?;
                    continue;
                }
                b'<' | b'>' if self.is_bash() && self.second() == Some(b'(') => {
                    self.doubt(DOUBTFUL);
                    if !quoted {
                        self.accept_two(byte, b'(');
                        self.substitution()?;
                        continue;
                    }
                }
                // Within double quotes, quotes may count or not.
                b'\'' | b'"' if quoted => self.doubt(DOUBTFUL),
                _ => {}
            }
            self.bump();
            match byte {
                b'}' => return Ok(()),
                b'\\' => {
                    self.raw().ok_or(INCOMPLETE)?;
                    self.bump();
                }
                b'\'' if !quoted => {
                    self.single_quoted()?;
                }
                b'"' => self.double_quoted(value)?,
                _ => {}
            }
        }
    }

    /// `$((…))`, behind its opening brackets.
    fn arithmetic_or_commands(&mut self) -> Parsed<()> {
        let start = self.at;
        // What is no arithmetic in the end may be commands, as in `$((a); (b))`: not to all shells.
        self.arithmetic()?;
        let inside = self.since(start);
        if !inside.strip_suffix("))").is_some_and(is_arithmetic) {
            // Also what looks like arithmetic.
            let line = format!("({}", self.since(start));
            let line = line.strip_suffix(')').unwrap_or(&line).to_owned();
            self.count(line.len())?;
            self.script.lines.push(Cow::Owned(line));
        }
        Ok(())
    }

    /// Arithmetic up to the `))` that ends it.
    pub(super) fn arithmetic(&mut self) -> Parsed<()> {
        self.inside(|parser| {
            let mut open = 0usize;
            let mut value = Value::new();
            loop {
                parser.count(1)?;
                match parser.peek().ok_or(INCOMPLETE)? {
                    b'$' => {
                        parser.dollar(true, &mut value)?;
                        continue;
                    }
                    b'`' => {
                        parser.backquoted(true)?;
                        continue;
                    }
                    b'(' => open += 1,
                    b')' if open > 0 => open -= 1,
                    b')' => return parser.accept_two(b')', b')').then_some(()).ok_or(UNCLEAR),
                    // Some shells look into quotes, and others do not.
                    b'\'' | b'"' | b'\\' => return Err(UNCLEAR),
                    _ => {}
                }
                parser.bump();
            }
        })
    }

    /// Where `((…))` ends, looked at beforehand: `None` for brackets that are only brackets.
    pub(super) fn arithmetic_end(&mut self) -> Parsed<Option<usize>> {
        let bytes = &self.text.as_bytes()[..self.end];
        let start = self.at;
        let (mut at, mut open, mut has_quotes) = (start, 0usize, false);
        let end = loop {
            match bytes.get(at) {
                None => break None,
                Some(b'(') => open += 1,
                Some(b')') => {
                    open -= 1;
                    if open == 1 {
                        let closes = bytes.get(at + 1) == Some(&b')');
                        break closes.then_some(at + 2);
                    }
                }
                Some(b'\'' | b'"' | b'\\' | b'#' | b'`') => has_quotes = true,
                Some(_) => {}
            }
            at += 1;
        };
        self.count(at - start)?;
        // A bracket in quotes is none, and which quotes count depends on what it is.
        if has_quotes { Err(UNCLEAR) } else { Ok(end) }
    }

    /// A command line in backquotes: a text by itself, to be read when they are opened.
    pub(super) fn backquoted(&mut self, quoted: bool) -> Parsed<()> {
        self.bump();
        let start = self.at;
        let bytes = &self.text.as_bytes()[..self.end];
        let mut inside: Vec<u8> = Vec::new();
        loop {
            match bytes.get(self.at).ok_or(INCOMPLETE)? {
                b'`' => break,
                b'\\' => {
                    self.bump();
                    match bytes.get(self.at).ok_or(INCOMPLETE)? {
                        byte @ (b'`' | b'\\' | b'$') => inside.push(*byte),
                        b'"' if quoted => inside.push(b'"'),
                        byte => inside.extend([b'\\', *byte]),
                    }
                }
                byte => inside.push(*byte),
            }
            self.bump();
        }
        self.count(self.at - start)?;
        self.bump();
        let inside = String::from_utf8(inside).map_err(|_| UNCLEAR)?;
        self.script.lines.push(Cow::Owned(inside));
        Ok(())
    }
}

/// Whether what stands in `$((…))` is arithmetic beyond doubt: numbers, names and signs, and no two
/// words side by side, as a command has them.
fn is_arithmetic(inside: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut last_was_word = false;
    inside.chars().all(|c| is_word(c) || "+-*/% ".contains(c))
        && inside.contains(['+', '-', '*', '/', '%'])
        && inside.split_whitespace().all(|part| {
            let begins = part.starts_with(is_word);
            let fine = !(last_was_word && begins);
            last_was_word = part.ends_with(is_word);
            fine
        })
}
