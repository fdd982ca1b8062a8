//! The hunks of one file in the format of `apply_patch`.

use crate::error::{HeaderLine, PatchError};
use crate::excerpt::excerpt;
use crate::files_error::FilesError;
use crate::headers::{HeaderFault, PatchText, read_hunk_header};
use crate::hunk::{BodyLine, HeaderProblem, Hunk, Patch, Ranges, Scope, Sign};

/// What lines of this format that are neither hunks nor file names begin with.
pub(crate) const MARK: &str = "***";

/// The lines from `at` on that belong to hunks, and the line after them.
///
/// A hunk begins with `@@`, or with its first line if it is the first of its file. Lines that begin
/// with `***` end the hunks, except for the one that says that the file ends here.
pub(crate) fn parse<'p>(
    lines: &PatchText<'p>,
    at: usize,
) -> Result<(Patch<'p>, usize), PatchError> {
    // Where the line above has a carriage return too, or every line has one, they come from the transport.
    let literal = match at.checked_sub(1) {
        Some(above) => lines.line(above).is_none_or(|line| !line.cr),
        None => !(0..lines.len()).all(|at| lines.line(at).is_some_and(|line| line.cr)),
    };
    let mut parser =
        Parser { patch: Patch::default(), headers: 0, next: at, ended: false, literal };
    while let Some(whole) = lines.line(parser.next) {
        let line = whole.text;
        if line.starts_with("@@") {
            parser.header(line)?;
        } else if is_end_of_file(line) {
            parser.end_of_file(line)?;
        } else if line.starts_with(MARK) {
            break;
        } else if !parser.body_line(line, whole.cr)? {
            parser.refuse_unsigned(line)?;
            break;
        }
        parser.next += 1;
    }
    parser.close()?;
    let Parser { patch, next, .. } = parser;
    patch.refuse_replacement()?;
    Ok((patch, next))
}

fn is_end_of_file(line: &str) -> bool {
    line.strip_prefix(MARK)
        .is_some_and(|rest| rest.trim_matches([' ', '\t', '*']).eq_ignore_ascii_case("end of file"))
}

struct Parser<'p> {
    patch: Patch<'p>,
    /// The number of `@@` lines directly above.
    headers: usize,
    next: usize,
    /// The last hunk was closed by the marker for the end of the file.
    ended: bool,
    /// Carriage returns belong to the lines.
    literal: bool,
}

impl<'p> Parser<'p> {
    fn header(&mut self, line: &'p str) -> Result<(), PatchError> {
        if self.headers == 0 {
            self.close()?;
            self.begin(line);
        }
        self.headers += 1;
        let rest = line.strip_prefix("@@").unwrap_or(line);
        let refused = || PatchError::BadHeader(HeaderLine::new(self.next, line));
        let (Some(hunk), Some(scope)) = (self.patch.hunks.last_mut(), self.patch.scopes.last_mut())
        else {
            return Ok(());
        };
        hunk.header = line;
        scope.required = self.headers > 1;
        match read_hunk_header(line) {
            Ok((ranges, header)) => {
                hunk.header = header;
                hunk.ranges = ranges;
                scope.stated = Some(ranges.old_start);
                return Ok(());
            }
            Err(HeaderFault::Unreadable) => return Err(refused()),
            Err(HeaderFault::Bare) => {}
        }
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return Err(refused());
        }
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        let anchor = match rest.trim_end().strip_suffix("@@") {
            Some("") => "",
            Some(closed) if closed.ends_with(' ') => closed.trim_end(),
            _ => rest,
        };
        if !anchor.trim().is_empty() {
            scope.anchors.push(anchor);
        }
        Ok(())
    }

    fn begin(&mut self, header: &'p str) {
        let first = self.patch.lines.len();
        self.ended = false;
        self.patch.scopes.push(Scope::default());
        self.patch.hunks.push(Hunk {
            number: self.patch.hunks.len() + 1,
            header,
            patch_line: self.next + 1,
            ranges: Ranges::UNKNOWN,
            body: first..first,
            problem: Some(HeaderProblem::NoNumbers),
        });
    }

    fn end_of_file(&mut self, line: &str) -> Result<(), PatchError> {
        let has_lines = self.headers == 0 && !self.patch.hunks.is_empty() && !self.ended;
        match self.patch.scopes.last_mut() {
            Some(scope) if has_lines => scope.at_end = true,
            _ => return Err(FilesError::StrayLine(HeaderLine::new(self.next, line)).into()),
        }
        self.ended = true;
        Ok(())
    }

    /// Adds a line to the last hunk. Returns whether it looks like a part of one.
    fn body_line(&mut self, line: &'p str, cr: bool) -> Result<bool, PatchError> {
        let mut chars = line.chars();
        let (sign, bare) = match chars.next() {
            Some(' ') => (Sign::Context, false),
            Some('-') => (Sign::Removed, false),
            Some('+') => (Sign::Added, false),
            None => (Sign::Context, true),
            Some(_) => return Ok(false),
        };
        let idle = self.patch.hunks.is_empty() || self.ended;
        if idle && bare {
            return Ok(true);
        }
        if self.ended {
            return Err(FilesError::StrayLine(HeaderLine::new(self.next, line)).into());
        }
        if self.patch.hunks.is_empty() {
            self.begin("@@");
        }
        self.headers = 0;
        self.patch.lines.push(BodyLine {
            sign,
            text: chars.as_str(),
            cr: cr && self.literal,
            unterminated: false,
            bare,
            patch_line: self.next + 1,
        });
        Ok(true)
    }

    /// A hunk that ends before it has a line has lost the space of its first one.
    fn refuse_unsigned(&self, line: &str) -> Result<(), PatchError> {
        let Some(hunk) = self.patch.hunks.last().filter(|_| self.headers > 0) else {
            return Ok(());
        };
        let (header, text) = (excerpt(hunk.header), excerpt(line));
        let patch_line = self.next + 1;
        Err(PatchError::UnsignedLine { hunk: hunk.number, header, patch_line, text })
    }

    /// Ends the last hunk.
    fn close(&mut self) -> Result<(), PatchError> {
        let end = self.patch.lines.len();
        let Some(hunk) = self.patch.hunks.last_mut() else { return Ok(()) };
        if !self.ended || hunk.body.end < end {
            hunk.body.end = end;
        }
        if self.patch.lines[hunk.body.clone()].iter().all(|line| line.bare) {
            let (hunk, patch_line, header) = (hunk.number, hunk.patch_line, excerpt(hunk.header));
            return Err(PatchError::EmptyHunk { hunk, patch_line, header });
        }
        Ok(())
    }
}
