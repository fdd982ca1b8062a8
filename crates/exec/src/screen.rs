//! The text that a person would see at the end of an output: the last state of a progress bar, the screen of a
//! program that draws one, and no escape sequences.
//!
//! Text in which nothing moves the cursor is never changed. The width of a terminal is not known, so lines are
//! not wrapped; the height is what the program uses of it. The main screen is followed as far as its last
//! [`HELD_ROWS`] rows, so the memory is bounded and what has left them is final.

mod grid;
mod row;
mod sequences;

use std::borrow::Cow;

use toolwright_fs::whole_characters;

use grid::Grid;

/// How many rows can still be drawn over.
const HELD_ROWS: usize = 200;
/// How much text before the first movement of the cursor can still be drawn over.
pub(crate) const HELD_BYTES: usize = 64 << 10;

/// What a program has drawn.
#[derive(Default)]
pub(crate) struct Screen {
    parser: vte::Parser,
    grid: Grid,
    /// The beginning of a character whose rest has not come. The parser loses others with it.
    begun: Vec<u8>,
}

impl Screen {
    /// Takes the next bytes, and appends to `text` what can no longer change.
    pub(crate) fn push(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        let joined;
        let bytes = if self.begun.is_empty() {
            bytes
        } else {
            joined = [&self.begun, bytes].concat();
            &joined
        };
        let (whole, begun) = bytes.split_at(whole_characters(bytes));
        self.parser.advance(&mut self.grid, whole);
        self.begun = begun.to_vec();
        text.append(&mut self.grid.text);
    }

    /// Appends what is on the screen.
    pub(crate) fn finish(mut self, text: &mut Vec<u8>) {
        if !self.begun.is_empty() {
            let none = char::REPLACEMENT_CHARACTER.to_string();
            self.parser.advance(&mut self.grid, none.as_bytes());
        }
        self.grid.finish();
        text.append(&mut self.grid.text);
    }
}

#[cfg(test)]
impl Screen {
    /// How many cells it has.
    fn size(&self) -> usize {
        self.grid.size()
    }
}

/// The text of a whole output.
#[must_use]
pub fn text(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !draws(bytes) {
        return Cow::Borrowed(bytes);
    }
    let (mut screen, mut text) = (Screen::default(), Vec::new());
    screen.push(bytes, &mut text);
    screen.finish(&mut text);
    Cow::Owned(text)
}

/// Whether something moves the cursor other than the next character and the next line, or may once more comes.
pub(crate) fn draws(bytes: &[u8]) -> bool {
    // Most blocks have none of these, and this loop takes many bytes at once.
    let may = |block: &[u8]| {
        block.iter().fold(false, |found, byte| found | matches!(byte, 0x08 | b'\r' | 0x1b | 0xc2))
    };
    let draws_at = |at: usize| match (bytes[at], bytes.get(at + 1)) {
        (0x08 | 0x1b, _) | (b'\r' | 0xc2, None) => true,
        (b'\r', Some(next)) => *next != b'\n',
        // The controls that have two bytes in UTF-8.
        (0xc2, Some(next)) => *next < 0xa0,
        _ => false,
    };
    bytes
        .chunks(128)
        .enumerate()
        .any(|(block, part)| may(part) && (block * 128..block * 128 + part.len()).any(draws_at))
}

/// Where the part of a text begins that can still be drawn over: at a line, if one begins there.
pub(crate) fn held_from(text: &[u8]) -> usize {
    let from = text.len().saturating_sub(HELD_BYTES);
    if from == 0 {
        return 0;
    }
    match text[from..].iter().position(|byte| *byte == b'\n') {
        Some(newline) => from + newline + 1,
        None => whole_characters(&text[..from]),
    }
}

#[cfg(test)]
mod tests;
