//! The encoding that a file names itself.

use std::borrow::Cow;

use encoding_rs::Encoding;
use memchr::memmem;

use crate::label::{Named, encoding_of, is_other};

/// How much of the beginning is looked through, and of the end.
const HEAD_BYTES: usize = 4096;
/// How many lines at either end can have a line for Vim.
const VIM_LINES: usize = 5;
/// The longest name.
const MAX_NAME: usize = 40;

/// The encoding that a file names, and has: all of it can be read in it, and written back the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declared {
    encoding: &'static Encoding,
    /// Letters between 0x80 and 0x9f are not in it.
    is_narrow: bool,
}

impl Declared {
    /// The encoding of a file that names one other than UTF-8. `None` if it names none or two, or is not in it.
    #[must_use]
    pub fn of(file: &[u8]) -> Option<Self> {
        let (encoding, is_narrow) = named_in(file).filter(|(encoding, _)| is_other(encoding))?;
        // Letters of UTF-8 show that the name is wrong.
        if !file.is_ascii() && str::from_utf8(file).is_ok() {
            return None;
        }
        let text = encoding.decode_without_bom_handling_and_without_replacement(file)?;
        let (bytes, _, has_errors) = encoding.encode(&text);
        (!has_errors && *bytes == *file).then_some(Self { encoding, is_narrow })
    }

    /// The name of the encoding.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.encoding.name()
    }

    /// Whether another file names the same encoding.
    #[must_use]
    pub fn is_named_in(self, file: &[u8]) -> bool {
        named_in(file) == Some((self.encoding, self.is_narrow))
    }

    /// A file of this encoding as text. `None` if it has bytes that are no letter.
    #[must_use]
    pub fn decode(self, file: &[u8]) -> Option<Cow<'_, str>> {
        self.encoding.decode_without_bom_handling_and_without_replacement(file)
    }

    /// A text in this encoding. `None` if it has a letter that the encoding does not have.
    #[must_use]
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        let (bytes, _, has_errors) = self.encoding.encode(text);
        // Some letters are written as others that look like them.
        let back = self.encoding.decode_without_bom_handling_and_without_replacement(&bytes);
        let is_within = !self.is_narrow || bytes.iter().all(|byte| !(0x80..0xa0).contains(byte));
        (!has_errors && is_within && back.is_some_and(|back| back == text)).then(|| bytes.into())
    }
}

/// The one encoding that a file names.
fn named_in(file: &[u8]) -> Option<Named> {
    let head = &file[..file.len().min(HEAD_BYTES)];
    let mut names = Vec::new();
    if head.starts_with(b"<?xml") {
        let declaration = &head[..memmem::find(head, b"?>").unwrap_or(0)];
        names.extend(after(declaration, b"encoding").and_then(value));
    }
    if let Some(rest) = head.strip_prefix(b"@charset \"") {
        names.push(name(rest));
    }
    // A program can speak of the encodings of others.
    let is_markup = head.trim_ascii_start().starts_with(b"<");
    let is_catalogue = memmem::find(head, b"msgid \"\"").is_some();
    for (at, line) in head.split(|byte| *byte == b'\n').enumerate() {
        let lower = line.trim_ascii_start().to_ascii_lowercase();
        if (is_markup && memmem::find(&lower, b"<meta").is_some())
            || (is_catalogue && lower.starts_with(b"\"content-type:"))
        {
            names.extend(after(line, b"charset").and_then(value));
        }
        let is_comment = line.trim_ascii_start().starts_with(b"#");
        if at < 2 && (is_comment || memmem::find(line, b"-*-").is_some()) {
            names.extend(after(line, b"coding").and_then(value));
        }
    }
    let tail = &file[file.len().saturating_sub(HEAD_BYTES)..];
    let first = head.split(|byte| *byte == b'\n').take(VIM_LINES);
    let last = tail.trim_ascii_end().rsplit(|byte| *byte == b'\n').take(VIM_LINES);
    names.extend(first.chain(last).filter_map(vim));
    let mut known = names.into_iter().map(encoding_of);
    let one = known.next()??;
    known.all(|other| other == Some(one)).then_some(one)
}

/// What follows a word, in letters of either case.
fn after<'t>(text: &'t [u8], word: &[u8]) -> Option<&'t [u8]> {
    let at = memmem::find(&text.to_ascii_lowercase(), word)?;
    text.get(at + word.len()..)
}

/// The name behind `=` or `:`, with or without quotes.
fn value(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"=").or_else(|| text.strip_prefix(b":"))?.trim_ascii_start();
    let text = text.strip_prefix(b"\"").or_else(|| text.strip_prefix(b"'")).unwrap_or(text);
    Some(name(text))
}

fn name(text: &[u8]) -> &[u8] {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    let length = text.iter().take(MAX_NAME).take_while(|byte| is_of_name(byte)).count();
    &text[..length]
}

/// The name in a line for Vim, such as `vim: set fileencoding=euc-jp :`.
fn vim(line: &[u8]) -> Option<&[u8]> {
    let begins = [&b"vim:"[..], b"vi:", b"ex:"];
    let settings = begins.iter().find_map(|word| after(line, word))?;
    let named = [&b"fileencoding"[..], b"fenc"];
    let text = named.iter().find_map(|word| after(settings, word)).and_then(value)?;
    Some(text.split(|byte| *byte == b':').next().unwrap_or(text))
}
