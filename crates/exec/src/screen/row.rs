//! One row of a screen.

/// A longer line is given on in parts.
pub(super) const MAX_WIDTH: usize = 4096;

/// How a row was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum RowEnd {
    /// The cursor was moved elsewhere, or is still there.
    #[default]
    Open,
    Newline,
    /// A carriage return came before it.
    Return,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    /// Nothing was written there.
    Gap,
    Character(char),
    /// A character before it is wider than one cell.
    Rest,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    cells: Vec<Cell>,
    pub(super) end: RowEnd,
    /// How many bytes have led to what is in it, the way to it included.
    pub(super) credit: usize,
}

impl Row {
    pub(super) fn width(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.cells.iter().all(|cell| *cell == Cell::Gap)
    }

    /// Whether the row is invisible as the last row.
    pub(super) fn is_nothing(&self) -> bool {
        self.end == RowEnd::Open && self.is_blank()
    }

    /// Writes a character over what is there.
    pub(super) fn put(&mut self, at: usize, character: char, width: usize) {
        self.reach(at);
        self.divide(at);
        self.divide(at + width);
        self.cells.resize(self.cells.len().max(at + width), Cell::Gap);
        self.cells[at] = Cell::Character(character);
        self.cells[at + 1..at + width].fill(Cell::Rest);
    }

    /// Takes spaces at the end away.
    pub(super) fn trim(&mut self) {
        let is_seen = |cell: &Cell| !matches!(cell, Cell::Gap | Cell::Character(' '));
        self.cells.truncate(self.cells.iter().rposition(is_seen).map_or(0, |last| last + 1));
    }

    /// Clears all of it.
    pub(super) fn clear(&mut self) {
        self.cells.clear();
        self.end = RowEnd::Open;
    }

    /// Clears the cells from `from` to `to`.
    pub(super) fn erase(&mut self, from: usize, to: usize) {
        let (from, to) = (from.min(self.cells.len()), to.min(self.cells.len()));
        self.divide(from);
        self.divide(to);
        self.cells[from..to.max(from)].fill(Cell::Gap);
        if to == self.cells.len() {
            self.cells.truncate(from);
        }
        self.forget_end();
    }

    /// Moves what follows to the right, and what comes to the edge out.
    pub(super) fn insert(&mut self, at: usize, count: usize) {
        if at < self.cells.len() {
            self.divide(at);
            self.cells.splice(at..at, std::iter::repeat_n(Cell::Gap, count));
            self.divide(MAX_WIDTH);
            self.cells.truncate(MAX_WIDTH);
        }
    }

    /// Takes cells out.
    pub(super) fn delete(&mut self, at: usize, count: usize) {
        let to = (at + count).min(self.cells.len());
        if at < to {
            self.divide(at);
            self.divide(to);
            self.cells.drain(at..to);
        }
        self.forget_end();
    }

    /// Appends the text of it. `is_short` makes one space of each gap.
    pub(super) fn write(&self, text: &mut Vec<u8>, is_short: bool) {
        let end = self.cells.iter().rposition(|cell| *cell != Cell::Gap).map_or(0, |last| last + 1);
        let mut before = Cell::Rest;
        for cell in &self.cells[..end] {
            match cell {
                Cell::Gap if is_short && before == Cell::Gap => {}
                Cell::Gap => text.push(b' '),
                Cell::Character(character) => {
                    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Cell::Rest => {}
            }
            before = *cell;
        }
    }

    fn reach(&mut self, at: usize) {
        if self.cells.len() < at {
            self.cells.resize(at, Cell::Gap);
        }
    }

    /// A wide character on both sides of a border is gone.
    fn divide(&mut self, at: usize) {
        if self.cells.get(at) == Some(&Cell::Rest) {
            let from = self.cells[..at].iter().rposition(|cell| *cell != Cell::Rest).unwrap_or(0);
            let after = self.cells[at..].iter().position(|cell| *cell != Cell::Rest);
            let to = after.map_or(self.cells.len(), |after| at + after);
            self.cells[from..to].fill(Cell::Gap);
        }
    }

    /// Of a row without anything in it nobody sees that it was ended.
    fn forget_end(&mut self) {
        if self.is_blank() {
            self.end = RowEnd::Open;
        }
    }
}
