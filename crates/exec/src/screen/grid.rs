//! What is on the screen, and what moves there.

use std::collections::VecDeque;

use super::HELD_ROWS;
use super::row::{MAX_WIDTH, Row, RowEnd};

/// What programs believe that do not find out.
const HEIGHT: usize = 24;
const WIDTH: usize = 80;
/// Who moves further wants the edge.
pub(super) const FAR: usize = 500;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) column: usize,
}

pub(super) struct Grid {
    /// Text that can no longer change.
    pub(super) text: Vec<u8>,
    /// The screen, and rows above it.
    rows: VecDeque<Row>,
    pub(super) at: Place,
    pub(super) saved: Place,
    height: usize,
    width: usize,
    /// The first and the last row of the screen that scroll.
    pub(super) margins: Option<(usize, usize)>,
    /// The main screen, while another one is shown.
    main: Option<(VecDeque<Row>, Place)>,
    pub(super) has_returned: bool,
    /// Of the bytes that came, how many no row has for itself. What is skipped in a row becomes spaces only within
    /// its credit and these, so that the text is never longer than what came. It can lack one for a line break, which
    /// the next row has.
    spare: isize,
    /// Line breaks that come before the next text.
    owed: usize,
}

impl Default for Grid {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            rows: VecDeque::from([Row::default()]),
            at: Place::default(),
            saved: Place::default(),
            height: HEIGHT,
            width: WIDTH,
            margins: None,
            main: None,
            has_returned: false,
            spare: 0,
            owed: 0,
        }
    }
}

impl Grid {
    /// Gives on all that is there. A program that was stopped has not put the main screen back.
    pub(super) fn finish(&mut self) {
        if let Some((mut rows, _)) = self.main.take() {
            while rows.back().is_some_and(Row::is_nothing) {
                rows.pop_back();
            }
            // Editors write rows to their ends.
            self.rows.iter_mut().for_each(Row::trim);
            rows.append(&mut self.rows);
            self.rows = rows;
        }
        while self.give_first() {}
    }

    /// Gives on the first row, and says whether there was one.
    fn give_first(&mut self) -> bool {
        let Some(row) = self.rows.pop_front() else { return false };
        self.spare += row.credit.cast_signed();
        if row.is_nothing() {
            self.owed += 1;
            return true;
        }
        let start = self.text.len();
        self.write(&row, self.owed, false);
        let is_ended = row.end != RowEnd::Open;
        let length = |text: &[u8]| (text.len() - start).cast_signed();
        if length(&self.text) - isize::from(is_ended) > self.spare {
            self.text.truncate(start);
            self.write(&row, self.owed.min(1), true);
        }
        self.spare -= length(&self.text);
        self.owed = usize::from(!is_ended);
        true
    }

    fn write(&mut self, row: &Row, breaks: usize, is_short: bool) {
        self.text.extend(std::iter::repeat_n(b'\n', breaks));
        row.write(&mut self.text, is_short);
        self.text.extend_from_slice(match row.end {
            RowEnd::Open => b"",
            RowEnd::Newline => b"\n",
            RowEnd::Return => b"\r\n",
        });
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.rows.iter().map(|row| row.width() + 1).sum()
    }

    /// Counts bytes for the row that they have led to.
    pub(super) fn count(&mut self, bytes: usize) {
        self.row().credit += bytes;
    }

    /// The first row of the screen.
    fn top(&self) -> usize {
        self.rows.len().saturating_sub(self.height)
    }

    /// The first and the last row that scroll.
    pub(super) fn scrolling(&self) -> (usize, usize) {
        let (first, last) = self.margins.unwrap_or((0, self.height - 1));
        (self.top() + first, self.top() + last)
    }

    /// There are at most so many rows below that this is on the screen.
    fn reach(&mut self, row: usize) {
        while self.rows.len() <= row {
            self.rows.push_back(Row::default());
        }
        let most = if self.main.is_some() { self.height } else { HELD_ROWS.max(self.height) };
        while self.rows.len() > most {
            if self.main.is_none() {
                self.give_first();
            } else if let Some(row) = self.rows.pop_front() {
                self.drop_row(&row);
            }
            self.at.row = self.at.row.saturating_sub(1);
            self.saved.row = self.saved.row.saturating_sub(1);
        }
    }

    pub(super) fn row(&mut self) -> &mut Row {
        self.reach(self.at.row);
        let at = self.at.row;
        &mut self.rows[at]
    }

    /// A line that is too long is given on as far as it goes.
    fn give_line(&mut self) {
        for _ in 0..=self.at.row {
            self.give_first();
        }
        self.owed = 0;
        self.rows.push_front(Row::default());
        self.saved.row = self.saved.row.saturating_sub(self.at.row);
        self.at = Place::default();
    }

    pub(super) fn put(&mut self, character: char, width: usize) {
        if self.at.column + width > MAX_WIDTH {
            if self.main.is_some() {
                return;
            }
            self.reach(self.at.row);
            self.give_line();
        }
        let column = self.at.column;
        self.row().put(column, character, width);
        self.at.column += width;
    }

    pub(super) fn next_row(&mut self) {
        let (_, last) = self.scrolling();
        if self.margins.is_some() && self.at.row == last {
            self.scroll_up(1);
        } else {
            self.at.row += 1;
            self.reach(self.at.row);
        }
    }

    pub(super) fn break_line(&mut self) {
        let end = if self.has_returned { RowEnd::Return } else { RowEnd::Newline };
        self.row().end = end;
        self.next_row();
        self.at.column = 0;
    }

    pub(super) fn tab(&mut self) {
        let to = (self.at.column / 8 + 1) * 8;
        if self.at.column >= self.row().width() {
            self.put('\t', to - self.at.column);
        } else {
            self.at.column = to;
        }
    }

    /// Has rows that scroll leave at the top. Of the main screen they stay above it.
    pub(super) fn scroll_up(&mut self, count: usize) {
        for _ in 0..count.min(self.height) {
            let (first, last) = self.scrolling();
            self.reach(last);
            if self.main.is_none() && first == self.top() {
                self.rows.insert(last + 1, Row::default());
                self.at.row += 1;
                self.reach(self.at.row);
            } else {
                self.replace(first, last);
            }
        }
    }

    /// Takes a row out and puts an empty one in.
    pub(super) fn replace(&mut self, out: usize, into: usize) {
        self.reach(out.max(into));
        if let Some(row) = self.rows.remove(out) {
            self.drop_row(&row);
        }
        self.rows.insert(into, Row::default());
        if into == 0 && self.spare > 0 {
            // The first row has become the second, and nothing has led to it.
            self.spare -= 1;
            self.rows[1].credit += 1;
        }
    }

    fn drop_row(&mut self, row: &Row) {
        self.spare += row.credit.cast_signed();
    }

    pub(super) fn replace_all(&mut self, count: usize, out: usize, into: usize) {
        (0..count.min(self.height)).for_each(|_| self.replace(out, into));
    }

    pub(super) fn move_rows(&mut self, down: bool, count: usize) {
        let lowest = self.top() + self.height - 1;
        let to = if down { self.at.row + count } else { self.at.row.saturating_sub(count) };
        self.at.row = if down { to.min(lowest.max(self.at.row)) } else { to };
        self.reach(self.at.row);
    }

    pub(super) fn move_right(&mut self, count: usize) {
        let edge = (self.width - 1).max(self.at.column);
        let to = if count >= FAR { edge } else { self.at.column + count };
        self.at.column = to.min(MAX_WIDTH - 1);
    }

    /// A row and a column of the screen, from 1 on.
    pub(super) fn move_to(&mut self, row: usize, column: usize) {
        if row <= HELD_ROWS {
            self.height = self.height.max(row);
        }
        self.at.row = self.top() + (row.max(1) - 1).min(self.height - 1);
        self.reach(self.at.row);
        self.move_to_column(column);
    }

    pub(super) fn move_to_column(&mut self, column: usize) {
        if column <= FAR {
            self.width = self.width.max(column);
        }
        self.at.column = (column.max(1) - 1).min(self.width - 1);
    }

    pub(super) fn erase_screen(&mut self, how: usize) {
        self.reach(self.at.row);
        let at = self.at.row;
        let rows = match how {
            0 => at + 1..self.rows.len(),
            1 => self.top().min(at)..at,
            2 => self.top()..self.rows.len(),
            _ => return,
        };
        self.rows.range_mut(rows).for_each(Row::clear);
        if how < 2 {
            self.erase_row(how);
        }
    }

    pub(super) fn erase_row(&mut self, how: usize) {
        let column = self.at.column;
        match how {
            0 => self.row().erase(column, usize::MAX),
            1 => self.row().erase(0, column + 1),
            2 => self.row().erase(0, usize::MAX),
            _ => {}
        }
    }

    pub(super) fn set_other_screen(&mut self, is_shown: bool) {
        if is_shown && self.main.is_none() {
            let rows = std::mem::replace(&mut self.rows, VecDeque::from([Row::default()]));
            self.main = Some((rows, self.at));
            self.at = Place::default();
        } else if !is_shown && let Some((rows, at)) = self.main.take() {
            let shown = std::mem::replace(&mut self.rows, rows);
            for row in &shown {
                self.drop_row(row);
            }
            self.at = at;
        }
        self.margins = None;
    }

    pub(super) fn set_margins(&mut self, first: usize, last: usize) {
        let last = if last == 0 || last > HELD_ROWS { self.height } else { last };
        self.height = self.height.max(last);
        self.margins =
            (first < last && (first, last) != (1, self.height)).then(|| (first - 1, last - 1));
        self.move_to(1, 1);
    }
}
