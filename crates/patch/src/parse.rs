//! Parses the text of a patch, and finds every error that does not depend on the file.

use crate::error::{HeaderLine, PatchError};
use crate::excerpt::excerpt;
use crate::headers::{
    HeaderFault, Headers, PatchLine, PatchText, begins_file, cut_header, is_envelope, is_fence,
    is_hunk_header, is_name_pair, read_hunk_header,
};
use crate::hunk::{
    BodyLine, Counts, HeaderProblem, Hunk, Patch, Ranges, Sign, old_lines, without_blank_end,
};

/// Parses `text` as a unified diff for one file. With `by_content`, a hunk whose header has no line
/// numbers or wrong counts is accepted, and its problem recorded.
pub(crate) fn parse(text: &str, by_content: bool) -> Result<Patch<'_>, PatchError> {
    let wrong_headers = if by_content { WrongHeaders::Placed } else { WrongHeaders::Refused };
    let mut parser = Parser::new(PatchText::new(text), 0, wrong_headers);
    let mut headers = Headers::default();
    while let Some(line) = parser.text(parser.next) {
        let after_hunk = !parser.patch.hunks.is_empty();
        if is_hunk_header(line) {
            headers.refusal(true)?;
            parser.hunk(line)?;
        } else {
            parser.next += headers.read(&parser.lines, parser.next, after_hunk);
        }
    }
    parser.refuse_cut_off(text.ends_with('\n'))?;
    let patch = Patch { is_ascii: text.is_ascii(), ..parser.patch };
    headers.refusal(!patch.hunks.is_empty())?;
    if patch.hunks.is_empty() {
        return Err(match parser.lines.rest(0).find(|line| !line.trim().is_empty()) {
            None => PatchError::Empty,
            Some(first) => PatchError::NotADiff { start: excerpt(first) },
        });
    }
    if text.contains(char::REPLACEMENT_CHARACTER) {
        patch.refuse_replacement()?;
    }
    patch.refuse_unchanged()?;
    Ok(patch)
}

/// Parses the hunks of one file, from line `at` on to the end of `lines`, by content. `complete`
/// tells whether the last line has its end. In a file that the patch `creates` the place of a hunk is
/// clear without old lines.
pub(crate) fn parse_hunks<'p>(
    lines: &PatchText<'p>,
    at: usize,
    complete: bool,
    creates: bool,
) -> Result<Patch<'p>, PatchError> {
    let wrong_headers = if creates { WrongHeaders::Ignored } else { WrongHeaders::Placed };
    let mut parser = Parser::new(lines.clone(), at, wrong_headers);
    while let Some(line) = parser.text(parser.next) {
        if is_hunk_header(line) {
            parser.hunk(line)?;
        } else {
            parser.next += 1;
        }
    }
    parser.refuse_cut_off(complete)?;
    let patch = parser.patch;
    if !creates {
        patch.refuse_replacement()?;
    }
    patch.refuse_unchanged()?;
    Ok(patch)
}

/// What happens to a hunk whose header has no line numbers or wrong counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WrongHeaders {
    /// It is refused.
    Refused,
    /// It is placed by its old lines, and refused if it has none.
    Placed,
    /// It is accepted, because a new file has one place.
    Ignored,
}

struct Parser<'p> {
    lines: PatchText<'p>,
    next: usize,
    patch: Patch<'p>,
    /// Where the body of the last hunk begins.
    first: usize,
    /// The last hunk has fewer lines than its header promises. Only the end of the patch excuses
    /// that.
    short: bool,
    /// The last hunk has a marker for the missing final newline.
    marked: bool,
    wrong_headers: WrongHeaders,
}

impl<'p> Parser<'p> {
    fn new(lines: PatchText<'p>, next: usize, wrong_headers: WrongHeaders) -> Self {
        let patch = Patch { lines: Vec::with_capacity(lines.len() - next), ..Patch::default() };
        Self { lines, next, patch, first: 0, short: false, marked: false, wrong_headers }
    }

    fn by_content(&self) -> bool {
        self.wrong_headers != WrongHeaders::Refused
    }

    /// Whether the last hunk has nothing that shows where it belongs.
    fn has_no_place(&self) -> bool {
        self.wrong_headers != WrongHeaders::Ignored
            && old_lines(self.last_body()).all(|line| line.bare)
    }

    fn text(&self, at: usize) -> Option<&'p str> {
        self.lines.text(at)
    }

    /// Parses the hunk whose header is the next line.
    fn hunk(&mut self, header: &'p str) -> Result<(), PatchError> {
        let patch_line = self.next + 1;
        let (ranges, header, problem) = match read_hunk_header(header) {
            Ok((ranges, header)) => (ranges, header, None),
            Err(HeaderFault::Bare) if self.by_content() => {
                (Ranges::UNKNOWN, header, Some(HeaderProblem::NoNumbers))
            }
            Err(HeaderFault::Bare) => {
                return Err(PatchError::BareHeader(HeaderLine::new(self.next, header)));
            }
            Err(HeaderFault::Unreadable) => {
                return Err(PatchError::BadHeader(HeaderLine::new(self.next, header)));
            }
        };
        if self.short {
            let refusal = self.wrong_counts();
            self.excuse(refusal)?;
        }
        self.unmark();
        self.next += 1;
        self.first = self.patch.lines.len();
        let number = self.patch.hunks.len() + 1;
        let body = self.first..self.first;
        self.patch.hunks.push(Hunk { number, header, patch_line, ranges, body, problem });
        if problem.is_some() {
            return self.unnumbered();
        }

        let mut counts = Counts::default();
        // The counts decide what belongs to the hunk, because `--- x` can be a removed line.
        while counts.old < ranges.old_count || counts.new < ranges.new_count {
            match self.body_line() {
                Some(line) => counts.add(&line),
                None if self.marker() => {}
                None => break,
            }
        }
        while self.marker() {}
        self.close_body();
        self.judge(ranges, counts).or_else(|refusal| self.excuse(refusal))
    }

    /// Parses a hunk whose header does not give its length, up to a line that looks like no part of
    /// one.
    fn unnumbered(&mut self) -> Result<(), PatchError> {
        self.rest_of_body();
        self.incomplete()?;
        let (hunk, header, patch_line) = self.last_hunk();
        if self.last_body().iter().all(|line| line.bare) {
            return Err(PatchError::EmptyHunk { hunk, patch_line, header });
        }
        // Without an old line nothing shows where the hunk belongs.
        if self.has_no_place() {
            return Err(PatchError::BareHeader(HeaderLine { patch_line, header }));
        }
        Ok(())
    }

    /// Accepts the last hunk despite its counts, if its lines show where it belongs.
    fn excuse(&mut self, refusal: PatchError) -> Result<(), PatchError> {
        if !self.by_content() || !matches!(refusal, PatchError::WrongCounts { .. }) {
            return Err(refusal);
        }
        if self.has_no_place() {
            return Err(refusal);
        }
        let counts = Counts::of(self.last_body());
        self.short = false;
        if let Some(hunk) = self.patch.hunks.last_mut() {
            let falls_short =
                counts.old < hunk.ranges.old_count || counts.new < hunk.ranges.new_count;
            hunk.ranges = hunk.ranges.with_counts(counts);
            hunk.problem = Some(HeaderProblem::WrongCounts { falls_short });
        }
        Ok(())
    }

    /// Refuses a patch that ends within a line, before its last hunk does or where another begins: what is missing may
    /// be what matters.
    fn refuse_cut_off(&self, complete: bool) -> Result<(), PatchError> {
        let end = self.patch.lines.last().map_or(0, |line| line.patch_line);
        if let Some(line) = cut_header(&self.lines, end).filter(|_| !complete) {
            return Err(PatchError::CutOffHeader(line));
        }
        let is_last = self.lines.rest(self.next).all(str::is_empty);
        let last = self.patch.hunks.last().and_then(|hunk| hunk.problem);
        let is_short = last == Some(HeaderProblem::WrongCounts { falls_short: true });
        if !(self.short || is_short) || !is_last || complete {
            return Ok(());
        }
        let (hunk, header, _) = self.last_hunk();
        let last = self.last_body().last().map_or("", |line| line.text);
        Err(PatchError::CutOff { hunk, header, text: excerpt(last) })
    }

    /// Adds the next line to the last hunk, if it looks like part of one.
    fn body_line(&mut self) -> Option<BodyLine<'p>> {
        let PatchLine { text, cr } = self.lines.line(self.next)?;
        let mut chars = text.chars();
        let (sign, bare) = match chars.next() {
            Some(' ') => (Sign::Context, false),
            Some('-') => (Sign::Removed, false),
            Some('+') => (Sign::Added, false),
            // Editors and models drop the space of an empty context line. After the end of the file
            // there is none.
            None if !self.last_body_line().is_some_and(|line| line.unterminated) => {
                (Sign::Context, true)
            }
            _ => return None,
        };
        self.next += 1;
        let line = BodyLine {
            sign,
            text: chars.as_str(),
            cr,
            unterminated: false,
            bare,
            patch_line: self.next,
        };
        self.patch.lines.push(line);
        Some(line)
    }

    fn last_body_line(&mut self) -> Option<&mut BodyLine<'p>> {
        self.patch.lines[self.first..].last_mut()
    }

    /// Accepts `\ No newline at end of file`, in any language.
    fn marker(&mut self) -> bool {
        let marker = self.lines.line(self.next).filter(|line| line.text.starts_with('\\'));
        let is_marker = marker.is_some();
        if let Some(marker) = marker {
            self.next += 1;
            if let Some(marked) = self.last_body_line() {
                marked.unterminated = true;
                // The marker is no line of a file, so its carriage return comes from the transport, and so does
                // that of a line without an ending.
                marked.cr &= !marker.cr;
                self.marked = true;
            }
        }
        is_marker
    }

    /// Drops the markers of the last hunk because another one follows. Only the last can reach the
    /// end of the file.
    fn unmark(&mut self) {
        if std::mem::take(&mut self.marked) {
            for line in &mut self.patch.lines[self.first..] {
                line.unterminated = false;
            }
        }
    }

    /// Adds all lines to the last hunk that look like part of one.
    fn rest_of_body(&mut self) {
        while !begins_file(&self.lines, self.next) && (self.body_line().is_some() || self.marker())
        {
        }
        self.close_body();
    }

    fn close_body(&mut self) {
        let end = self.patch.lines.len();
        if let Some(hunk) = self.patch.hunks.last_mut() {
            hunk.body.end = end;
        }
    }

    /// Compares the lines of the last hunk with its header.
    fn judge(&mut self, ranges: Ranges, counts: Counts) -> Result<(), PatchError> {
        let missing =
            ranges.old_count.checked_sub(counts.old).zip(ranges.new_count.checked_sub(counts.new));
        match missing {
            Some((0, 0)) if self.goes_on() => Err(self.wrong_counts()),
            Some((0, 0)) => Ok(()),
            // A model that miscounts writes this, and so does one whose answer is cut off.
            Some((old, new)) if old == new => {
                self.incomplete()?;
                self.short = true;
                if self.last_body().iter().all(|line| line.bare) {
                    let (hunk, header, patch_line) = self.last_hunk();
                    return Err(PatchError::EmptyHunk { hunk, patch_line, header });
                }
                // Without an old line nothing shows where the hunk belongs.
                if counts.old == 0 { Err(self.wrong_counts()) } else { Ok(()) }
            }
            _ => {
                self.incomplete()?;
                Err(self.wrong_counts())
            }
        }
    }

    /// Whether a complete hunk is followed by lines that look like its own. They must not be
    /// dropped silently.
    fn goes_on(&self) -> bool {
        let mut at = self.next;
        while self.text(at).is_some_and(|line| line.trim().is_empty()) {
            at += 1;
        }
        let Some(line) = self.text(at) else { return false };
        if begins_file(&self.lines, at) || self.is_mail_signature(at) {
            return false;
        }
        if is_hunk_header(line) {
            return self.text(self.next).is_some_and(|line| line.starts_with(' '));
        }
        line.starts_with([' ', '+', '-'])
    }

    /// The end of a mailed patch: `-- ` and the version of Git.
    fn is_mail_signature(&self, at: usize) -> bool {
        let mut rest = self.lines.rest(at).filter(|line| !line.is_empty());
        rest.next().is_some_and(|line| line.trim_end() == "--")
            && rest.next().is_none_or(|line| line.starts_with(|char: char| char.is_ascii_digit()))
            && rest.next().is_none()
    }

    /// Determines why a hunk ended before it had all its lines.
    fn incomplete(&self) -> Result<(), PatchError> {
        let Some(line) = self.text(self.next) else { return Ok(()) };
        if is_hunk_header(line) {
            // Two lines that were counted in may be the names of another file.
            let at = self.next.saturating_sub(2);
            let (old, new) = (self.text(at).unwrap_or(""), self.text(at + 1).unwrap_or(""));
            if is_name_pair(old, new) {
                return Err(PatchError::SeveralFiles(HeaderLine::new(at, old)));
            }
            return Ok(());
        }
        if begins_file(&self.lines, self.next) {
            return Err(PatchError::SeveralFiles(HeaderLine::new(self.next, line)));
        }
        let blank_before = self.next.checked_sub(1).and_then(|at| self.text(at)) == Some("");
        let prose = || {
            let rest = self.lines.rest(self.next);
            !rest.take_while(|line| !is_fence(line)).any(|line| line.starts_with(['+', '-']))
        };
        if line.trim().is_empty()
            || line.starts_with([' ', '+', '-'])
            || is_fence(line)
            || (self.by_content() && is_envelope(line))
            || (blank_before && prose())
        {
            return Ok(());
        }
        let (hunk, header, _) = self.last_hunk();
        let text = excerpt(line);
        Err(PatchError::UnsignedLine { hunk, header, patch_line: self.next + 1, text })
    }

    /// The error for the last hunk, with the header that its lines require.
    fn wrong_counts(&mut self) -> PatchError {
        if !self.short {
            self.rest_of_body();
        }
        let counts = Counts::of(without_blank_end(self.last_body()));
        let (hunk, header, patch_line) = self.last_hunk();
        PatchError::WrongCounts {
            hunk,
            patch_line,
            header,
            old_lines: counts.old,
            new_lines: counts.new,
            right_header: self
                .patch
                .hunks
                .last()
                .map_or_else(String::new, |hunk| hunk.ranges.with_counts(counts).to_string()),
        }
    }

    fn last_body(&self) -> &[BodyLine<'p>] {
        self.patch.hunks.last().map_or(&[], |hunk| self.patch.body(hunk))
    }

    /// Number, header and line of the last hunk, for a message.
    fn last_hunk(&self) -> (usize, String, usize) {
        self.patch.hunks.last().map_or((0, String::new(), 0), |hunk| {
            (hunk.number, excerpt(hunk.header), hunk.patch_line)
        })
    }
}
