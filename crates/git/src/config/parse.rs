//! The syntax, as `config.c` of git has it.

use std::collections::HashMap;
use std::ops::Range;

/// The value of a setting. `None` is a name without an equals sign, which counts as true.
pub type Value = Option<Vec<u8>>;

/// One line, or several that are continued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// `section.key` or `section.subsection.key`. Only the subsection has capitals.
    pub name: Vec<u8>,
    /// Its value.
    pub value: Value,
    /// The key as it is written.
    pub(super) spelled: Range<usize>,
    /// From the key to the end of the line, the line's break included.
    pub(super) span: Range<usize>,
}

/// The head of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// `section` or `section.subsection`.
    pub(super) name: Vec<u8>,
    pub(super) span: Range<usize>,
    /// The settings below this head, as a range of all settings.
    pub(super) settings: Range<usize>,
}

/// A configuration that git would read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    pub(super) text: Vec<u8>,
    pub(super) sections: Vec<Section>,
    settings: Vec<Setting>,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl Config {
    /// Reads a file. `None` where git would refuse it, and for a setting before the first section.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut config = Self { text: text.to_vec(), ..Self::default() };
        let mut at = Cursor { text, at: 0, is_over: false };
        if text.starts_with(BOM) {
            at.at = BOM.len();
        }
        loop {
            let start = at.at;
            match at.next() {
                b'\n' if at.is_over => break,
                byte if is_space(byte) => {}
                b'#' | b';' => at.skip_line(),
                b'[' => {
                    let name = at.section()?;
                    let settings = config.settings.len()..config.settings.len();
                    config.sections.push(Section { name, span: start..at.at, settings });
                }
                first if first.is_ascii_alphabetic() => {
                    let section = config.sections.last_mut()?;
                    let mut name = section.name.clone();
                    name.push(b'.');
                    let (spelled, value) = at.setting(start, &mut name)?;
                    section.settings.end += 1;
                    let span = start..at.at;
                    config.settings.push(Setting { name, value, spelled, span });
                }
                _ => return None,
            }
        }
        Some(config)
    }

    /// All settings, in their order.
    #[must_use]
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// The values of one setting, in their order.
    pub fn values<'c>(&'c self, name: &'c [u8]) -> impl Iterator<Item = &'c Value> + 'c {
        self.settings.iter().filter(move |one| one.name == name).map(|one| &one.value)
    }

    /// All values of each setting.
    #[must_use]
    pub fn by_name(&self) -> HashMap<&[u8], Vec<&Value>> {
        let mut all: HashMap<&[u8], Vec<&Value>> = HashMap::new();
        for one in &self.settings {
            all.entry(&one.name).or_default().push(&one.value);
        }
        all
    }

    /// The last value of one setting, which counts.
    #[must_use]
    pub fn last(&self, name: &[u8]) -> Option<&[u8]> {
        self.settings.iter().rfind(|one| one.name == name)?.value.as_deref()
    }
}

struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
    /// The end has been read, as the break of a last line.
    is_over: bool,
}

impl Cursor<'_> {
    fn next(&mut self) -> u8 {
        let Some(&byte) = self.text.get(self.at) else {
            self.is_over = true;
            return b'\n';
        };
        self.at += 1;
        if byte == b'\r' && self.text.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return b'\n';
        }
        byte
    }

    fn skip_line(&mut self) {
        while self.next() != b'\n' {}
        // The loop that called this sees the end by itself.
        self.is_over = false;
    }

    /// What follows the opening bracket.
    fn section(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            match self.next() {
                _ if self.is_over => return None,
                b']' => return Some(name),
                byte if is_space(byte) => break self.subsection(name, byte),
                byte if is_of_key(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return None,
            }
        }
    }

    fn subsection(&mut self, mut name: Vec<u8>, mut byte: u8) -> Option<Vec<u8>> {
        while is_space(byte) {
            if byte == b'\n' {
                return None;
            }
            byte = self.next();
        }
        if byte != b'"' {
            return None;
        }
        name.push(b'.');
        loop {
            match self.next() {
                b'\n' | 0 => return None,
                b'"' => break,
                b'\\' => match self.next() {
                    b'\n' | 0 => return None,
                    escaped => name.push(escaped),
                },
                byte => name.push(byte),
            }
        }
        (self.next() == b']').then_some(name)
    }

    /// A setting that begins at `start`, of which one byte has been read.
    fn setting(&mut self, start: usize, name: &mut Vec<u8>) -> Option<(Range<usize>, Value)> {
        name.extend(self.text.get(start).map(u8::to_ascii_lowercase));
        let mut end = self.at;
        let mut byte = self.next();
        while !self.is_over && is_of_key(byte) {
            name.push(byte.to_ascii_lowercase());
            end = self.at;
            byte = self.next();
        }
        while byte == b' ' || byte == b'\t' {
            byte = self.next();
        }
        let value = match byte {
            b'\n' => None,
            b'=' => Some(self.value()?),
            _ => return None,
        };
        self.is_over = false;
        Some((start..end, value))
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let (mut is_quoted, mut is_comment) = (false, false);
        // Where the spaces begin that count only if something follows them.
        let mut trimmed: Option<usize> = None;
        loop {
            let byte = self.next();
            match byte {
                b'\n' if is_quoted => return None,
                b'\n' => {
                    value.truncate(trimmed.unwrap_or(value.len()));
                    return Some(value);
                }
                _ if is_comment => continue,
                0 => return None,
                byte if is_space(byte) && !is_quoted => {
                    if !value.is_empty() {
                        trimmed.get_or_insert(value.len());
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !is_quoted => {
                    is_comment = true;
                    continue;
                }
                _ => trimmed = None,
            }
            match byte {
                b'\\' => match self.next() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    escaped @ (b'\\' | b'"') => value.push(escaped),
                    _ => return None,
                },
                b'"' => is_quoted = !is_quoted,
                byte => value.push(byte),
            }
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

pub(super) fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}
