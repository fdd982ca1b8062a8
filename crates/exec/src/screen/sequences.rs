//! What characters and escape sequences do to the screen.

use vte::{Params, Perform};

use super::grid::{FAR, Grid};

impl Perform for Grid {
    fn print(&mut self, character: char) {
        self.has_returned = false;
        if matches!(character, '\u{80}'..='\u{9f}') {
            // The parser tells it from others only where it comes in one piece.
            return self.count(2);
        }
        self.put(character, if is_wide(character) { 2 } else { 1 });
        self.count(character.len_utf8());
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => self.at.column = 0,
            b'\n' => self.break_line(),
            b'\t' => self.tab(),
            0x08 => self.at.column = self.at.column.saturating_sub(1),
            // Nobody sees them. At the end of a line they are in nothing's place, and stay as in other text.
            0..0x20 if self.at.column >= self.row().width() => self.put(char::from(byte), 1),
            _ => {}
        }
        self.has_returned = byte == b'\r';
        self.count(1);
    }

    fn csi_dispatch(&mut self, params: &Params, marks: &[u8], _: bool, action: char) {
        self.has_returned = false;
        let numbers: Vec<usize> =
            params.iter().map(|all| usize::from(all.first().copied().unwrap_or(0))).collect();
        let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
        let count = number(0).max(1);
        let row = self.at.row;
        match (marks, action) {
            (b"?", 'h' | 'l') if numbers.iter().any(|mode| [47, 1047, 1049].contains(mode)) => {
                self.set_other_screen(action == 'h');
            }
            ([], 'A') => self.move_rows(false, count),
            ([], 'B' | 'e') => self.move_rows(true, count),
            // A character is repeated, mostly a space.
            ([], 'C' | 'a' | 'b') => self.move_right(count),
            ([], 'D') => self.at.column = self.at.column.saturating_sub(count),
            ([], 'E' | 'F') => {
                self.move_rows(action == 'E', count);
                self.at.column = 0;
            }
            ([], 'G' | '`') => self.move_to_column(count),
            ([], 'H' | 'f') => self.move_to(count, number(1)),
            ([], 'd') => {
                let column = self.at.column;
                self.move_to(count, 1);
                self.at.column = column;
            }
            ([], 'J') => self.erase_screen(number(0)),
            ([], 'K') => self.erase_row(number(0)),
            ([], 'L') => self.replace_all(count, self.scrolling().1.max(row), row),
            ([], 'M') => self.replace_all(count, row, self.scrolling().1.max(row)),
            ([], 'S') => self.scroll_up(count),
            ([], 'T') => self.replace_all(count, self.scrolling().1, self.scrolling().0),
            ([], '@' | 'P' | 'X') => {
                let (column, count) = (self.at.column, count.min(FAR));
                match action {
                    '@' => self.row().insert(column, count),
                    'P' => self.row().delete(column, count),
                    _ => self.row().erase(column, column + count),
                }
            }
            ([], 'r') => self.set_margins(count, number(1)),
            ([], 's') => self.saved = self.at,
            ([], 'u') => self.at = self.saved,
            _ => {}
        }
        let digits = |number: &usize| number.checked_ilog10().unwrap_or(0) as usize;
        self.count(3 + numbers.iter().map(digits).sum::<usize>());
    }

    fn esc_dispatch(&mut self, marks: &[u8], _: bool, byte: u8) {
        self.has_returned = false;
        match (marks, byte) {
            ([], b'7') => self.saved = self.at,
            ([], b'8') => self.at = self.saved,
            ([], b'D') => self.next_row(),
            ([], b'E') => {
                self.next_row();
                self.at.column = 0;
            }
            ([], b'M') => {
                let (first, last) = self.scrolling();
                if self.at.row == first {
                    self.replace(last, first);
                } else {
                    self.at.row = self.at.row.saturating_sub(1);
                }
            }
            ([], b'c') => {
                self.margins = None;
                self.erase_screen(2);
                self.move_to(1, 1);
            }
            _ => {}
        }
        self.count(2);
    }
}

/// Whether a character takes two cells: those of East Asia, and most pictures.
fn is_wide(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{303e}' | '\u{3041}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}' | '\u{1f680}'..='\u{1f6ff}' | '\u{1f900}'..='\u{1f9ff}' | '\u{20000}'..='\u{3fffd}')
}
