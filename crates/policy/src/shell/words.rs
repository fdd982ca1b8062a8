//! One word of a command: what it says, and what it would run.

/// A word as the shell reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// What it stands for, if nothing in it is expanded.
    pub(super) value: Option<String>,
    /// As it was written.
    pub(super) source: String,
    /// Command lines inside it.
    pub(super) substitutions: Vec<String>,
    /// A substitution in it is not closed, or not where it seems to be.
    pub(super) odd: bool,
}

impl Word {
    pub(super) fn parse(source: &str) -> Self {
        let mut scan = Scan {
            rest: source,
            value: String::with_capacity(source.len()),
            known: true,
            substitutions: Vec::new(),
            odd: false,
        };
        scan.unquoted();
        let known = scan.known && !is_expanded(source);
        Self {
            value: known.then_some(scan.value),
            source: source.to_owned(),
            substitutions: scan.substitutions,
            odd: scan.odd,
        }
    }

    /// The text of a here-document, in which quotes are ordinary characters.
    pub(super) fn parse_document(source: &str) -> Self {
        let mut scan = Scan {
            rest: source,
            value: String::new(),
            known: true,
            substitutions: Vec::new(),
            odd: false,
        };
        scan.quoted_until(None);
        let value = scan.known.then_some(scan.value);
        Self { value, source: source.to_owned(), substitutions: scan.substitutions, odd: scan.odd }
    }

    /// How it stands in the text of its command.
    pub(super) fn text(&self) -> String {
        self.value.as_deref().map_or_else(|| self.source.clone(), quote)
    }
}

/// A word as a shell would have to be given it: as it is, or in single quotes.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-^".contains(c) || !c.is_ascii();
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Quoting that only some shells know.
pub(super) fn has_odd_quotes(line: &str) -> bool {
    let mut characters = line.chars().peekable();
    let mut double = false;
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                characters.next();
            }
            '"' => double = !double,
            '\'' if !double => {
                for c in characters.by_ref() {
                    if c == '\'' {
                        break;
                    }
                }
            }
            '$' => match characters.peek() {
                Some('\'' | '"') if !double => return true,
                Some('[') => return true,
                _ => {}
            },
            _ => {}
        }
    }
    false
}

/// Expansions that show in the text: names of files, braces, home directories.
fn is_expanded(source: &str) -> bool {
    if source.starts_with('~') {
        return true;
    }
    let mut characters = source.char_indices();
    let (mut bracket, mut brace) = (false, false);
    let mut quote = None;
    while let Some((at, c)) = characters.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => {
                characters.next();
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '*' | '?') => return true,
            (None, '[') => bracket = true,
            (None, ']') if bracket => return true,
            (None, '{') => brace = true,
            (None, '}') if brace => return true,
            // After `=` and `:` a tilde is expanded in some places.
            (None, '~') if source[..at].ends_with(['=', ':']) => return true,
            _ => {}
        }
    }
    // `{}` is what `find` and `xargs` replace, and no shell.
    false
}

struct Scan<'s> {
    rest: &'s str,
    value: String,
    known: bool,
    substitutions: Vec<String>,
    odd: bool,
}

impl<'s> Scan<'s> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn unquoted(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(c) => self.value.push(c),
                    None => self.odd = true,
                },
                '\'' => match self.rest.split_once('\'') {
                    Some((inside, rest)) => {
                        self.value.push_str(inside);
                        self.rest = rest;
                    }
                    None => self.odd = true,
                },
                '"' => self.quoted_until(Some('"')),
                '$' => self.dollar(false),
                '`' => self.backquoted(),
                c => self.value.push(c),
            }
        }
    }

    /// As in double quotes: up to `end`, or to the end of the text.
    fn quoted_until(&mut self, end: Option<char>) {
        while let Some(c) = self.next() {
            match c {
                c if Some(c) == end => return,
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(c @ ('$' | '`' | '\\')) => self.value.push(c),
                    Some('"') if end.is_some() => self.value.push('"'),
                    Some(c) => {
                        self.value.push('\\');
                        self.value.push(c);
                    }
                    None => self.odd = true,
                },
                '$' => self.dollar(true),
                '`' => self.backquoted(),
                c => self.value.push(c),
            }
        }
        self.odd |= end.is_some();
    }

    fn dollar(&mut self, quoted: bool) {
        match self.rest.chars().next() {
            Some('(') => {
                self.known = false;
                self.next();
                let inside = self.until_closed('(', ')');
                if let Some(arithmetic) =
                    inside.strip_prefix('(').and_then(|inside| inside.strip_suffix(')'))
                {
                    self.inner(arithmetic);
                }
                // Also what looks like arithmetic: `$((a); (b))` is two commands.
                if !is_arithmetic(inside) {
                    self.substitutions.push(inside.to_owned());
                }
            }
            Some('{') => {
                self.known = false;
                self.next();
                let inside = self.until_closed('{', '}');
                self.inner(inside);
            }
            Some('[') => self.known = false,
            Some('\'' | '"') if !quoted => self.known = false,
            Some(c) if c.is_alphanumeric() || "_@*#?-$!".contains(c) => self.known = false,
            _ => self.value.push('$'),
        }
    }

    /// Substitutions inside an expansion.
    fn inner(&mut self, inside: &str) {
        if inside.contains(['$', '`']) {
            let word = Word::parse_document(inside);
            self.substitutions.extend(word.substitutions);
            // In `${x:-'$(a)'}` quotes may count or not; both readings are taken.
            self.substitutions.extend(Word::parse(inside).substitutions);
        }
    }

    /// What stands before the bracket that closes; quotes count.
    fn until_closed(&mut self, open: char, close: char) -> &'s str {
        let text = self.rest;
        let (mut depth, mut quote) = (1usize, None);
        while let Some(c) = self.next() {
            match (quote, c) {
                (None | Some('"'), '\\') => {
                    self.next();
                }
                (None, '\'' | '"') => quote = Some(c),
                (Some(end), c) if end == c => quote = None,
                (Some('\''), _) => {}
                (_, c) if c == open => depth += 1,
                (_, c) if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        let inside = &text[..text.len() - self.rest.len() - 1];
                        // In a comment, a pattern of `case` or a here-document, a bracket is none.
                        self.odd |= ["#", "case", "<<"].iter().any(|sign| inside.contains(sign));
                        return inside;
                    }
                }
                _ => {}
            }
        }
        self.odd = true;
        text
    }

    fn backquoted(&mut self) {
        self.known = false;
        let mut inside = String::new();
        while let Some(c) = self.next() {
            match c {
                '`' => {
                    self.substitutions.push(inside);
                    return;
                }
                '\\' => match self.next() {
                    Some(c @ ('`' | '\\' | '$')) => inside.push(c),
                    Some(c) => {
                        inside.push('\\');
                        inside.push(c);
                    }
                    None => self.odd = true,
                },
                c => inside.push(c),
            }
        }
        self.odd = true;
        self.substitutions.push(inside);
    }
}

/// Whether `(…)` inside `$(…)` is arithmetic beyond doubt: numbers, names and signs, and no two
/// words side by side, as a command has them.
fn is_arithmetic(inside: &str) -> bool {
    let Some(inner) = inside.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')) else {
        return false;
    };
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut last_was_word = false;
    inner.chars().all(|c| is_word(c) || "+-*/% ".contains(c))
        && inner.split_whitespace().all(|part| {
            let begins = part.starts_with(is_word);
            let fine = !(last_was_word && begins);
            last_was_word = part.ends_with(is_word);
            fine
        })
        && inner.contains(['+', '-', '*', '/', '%'])
}
