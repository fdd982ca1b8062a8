//! Parses the text of a patch, and finds every error that does not depend on the file.

use crate::error::PatchError;
use crate::excerpt::excerpt;
use crate::headers::{
    HeaderFault, Headers, PatchLine, PatchText, begins_file, is_envelope, is_fence, is_hunk_header,
    is_name_pair, read_hunk_header,
};
use crate::hunk::{BodyLine, HeaderProblem, Hunk, Patch, Ranges, Sign, old_lines};
use crate::lines::REPLACEMENT;

/// Parses `text` as a unified diff for one file. With `by_content`, a hunk whose header has no line
/// numbers or wrong counts is accepted, and its problem recorded.
pub(crate) fn parse(text: &str, by_content: bool) -> Result<Patch<'_>, PatchError> {
    let mut parser = Parser::new(text, by_content);
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
    parser.refuse_cut_off(text)?;
    let patch = parser.patch;
    headers.refusal(!patch.hunks.is_empty())?;
    if patch.hunks.is_empty() {
        return Err(match parser.lines.rest(0).find(|line| !line.trim().is_empty()) {
            None => PatchError::Empty,
            Some(first) => PatchError::NotADiff { start: excerpt(first) },
        });
    }
    if text.contains(REPLACEMENT) {
        refuse_replacement(&patch)?;
    }
    if patch.lines.iter().all(|line| line.sign == Sign::Context) {
        return Err(PatchError::NoChanges);
    }
    Ok(patch)
}

fn refuse_replacement(patch: &Patch<'_>) -> Result<(), PatchError> {
    for hunk in &patch.hunks {
        for line in patch.body(hunk) {
            if line.sign == Sign::Added && line.text.contains(REPLACEMENT) {
                return Err(PatchError::ReplacementCharacter {
                    hunk: hunk.number,
                    patch_line: line.patch_line,
                    text: excerpt(line.text),
                });
            }
        }
    }
    Ok(())
}

/// The old and new lines of a hunk.
#[derive(Clone, Copy, Default)]
struct Counts {
    old: u64,
    new: u64,
}

impl Counts {
    fn add(&mut self, line: &BodyLine<'_>) {
        self.old += u64::from(line.is_old());
        self.new += u64::from(line.is_new());
    }
}

struct Parser<'p> {
    lines: PatchText<'p>,
    next: usize,
    patch: Patch<'p>,
    /// The last hunk has fewer lines than its header promises. Only the end of the patch excuses
    /// that.
    short: bool,
    /// The last hunk has a marker for the missing final newline.
    marked: bool,
    /// Whether wrong headers are accepted.
    by_content: bool,
}

impl<'p> Parser<'p> {
    fn new(text: &'p str, by_content: bool) -> Self {
        let lines = PatchText::new(text);
        let patch = Patch { hunks: Vec::new(), lines: Vec::with_capacity(lines.len()) };
        Self { lines, next: 0, patch, short: false, marked: false, by_content }
    }

    fn text(&self, at: usize) -> Option<&'p str> {
        self.lines.text(at)
    }

    /// Parses the hunk whose header is the next line.
    fn hunk(&mut self, header: &'p str) -> Result<(), PatchError> {
        let patch_line = self.next + 1;
        let (ranges, header, problem) = match read_hunk_header(header) {
            Ok((ranges, header)) => (ranges, header, None),
            Err(HeaderFault::Bare) if self.by_content => {
                (Ranges::UNKNOWN, header, Some(HeaderProblem::NoNumbers))
            }
            Err(fault) => {
                let header = excerpt(header);
                return Err(match fault {
                    HeaderFault::Bare => PatchError::BareHeader { patch_line, header },
                    HeaderFault::Unreadable => PatchError::BadHeader { patch_line, header },
                });
            }
        };
        if self.short {
            let refusal = self.wrong_counts();
            self.excuse(refusal)?;
        }
        self.unmark();
        self.next += 1;
        let first = self.patch.lines.len();
        let number = self.patch.hunks.len() + 1;
        self.patch.hunks.push(Hunk {
            number,
            header,
            patch_line,
            ranges,
            body: first..first,
            problem,
        });
        if problem.is_some() {
            return self.unnumbered(first);
        }

        let mut counts = Counts::default();
        // The counts decide what belongs to the hunk, because `--- x` can be a removed line.
        while counts.old < ranges.old_count || counts.new < ranges.new_count {
            match self.body_line(first) {
                Some(line) => counts.add(&line),
                None if self.marker(first) => {}
                None => break,
            }
        }
        while self.marker(first) {}
        self.close_body();
        self.judge(ranges, counts).or_else(|refusal| self.excuse(refusal))
    }

    /// Parses a hunk whose header does not give its length, up to a line that looks like no part of
    /// one.
    fn unnumbered(&mut self, first: usize) -> Result<(), PatchError> {
        while !begins_file(&self.lines, self.next)
            && (self.body_line(first).is_some() || self.marker(first))
        {}
        self.close_body();
        self.incomplete()?;
        let (hunk, header, patch_line) = self.last_hunk();
        if self.last_body().iter().all(|line| line.bare) {
            return Err(PatchError::EmptyHunk { hunk, patch_line, header });
        }
        // Without an old line nothing shows where the hunk belongs.
        if old_lines(self.last_body()).all(|line| line.bare) {
            return Err(PatchError::BareHeader { patch_line, header });
        }
        Ok(())
    }

    /// Accepts the last hunk despite its counts, if its lines show where it belongs.
    fn excuse(&mut self, refusal: PatchError) -> Result<(), PatchError> {
        if !self.by_content || !matches!(refusal, PatchError::WrongCounts { .. }) {
            return Err(refusal);
        }
        let body = self.last_body();
        if old_lines(body).all(|line| line.bare) {
            return Err(refusal);
        }
        let (old, new) = (
            body.iter().filter(|line| line.is_old()).count(),
            body.iter().filter(|line| line.is_new()).count(),
        );
        let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        self.short = false;
        if let Some(hunk) = self.patch.hunks.last_mut() {
            let falls_short =
                wide(old) < hunk.ranges.old_count || wide(new) < hunk.ranges.new_count;
            hunk.ranges = hunk.ranges.with_counts(wide(old), wide(new));
            hunk.problem = Some(HeaderProblem::WrongCounts { falls_short });
        }
        Ok(())
    }

    /// Refuses a patch that ends before its last hunk does and in the middle of a line: the answer
    /// was cut off, and the missing part may be what matters.
    fn refuse_cut_off(&self, text: &str) -> Result<(), PatchError> {
        let is_last = self.lines.rest(self.next).all(str::is_empty);
        let problem = self.patch.hunks.last().and_then(|hunk| hunk.problem);
        let falls_short =
            self.short || problem == Some(HeaderProblem::WrongCounts { falls_short: true });
        if !self.by_content || !falls_short || !is_last || text.ends_with('\n') {
            return Ok(());
        }
        let (hunk, header, _) = self.last_hunk();
        let last = self.last_body().last().map_or("", |line| line.text);
        Err(PatchError::CutOff { hunk, header, text: excerpt(last) })
    }

    /// Adds the next line to the hunk that begins at `first`, if it looks like part of one.
    fn body_line(&mut self, first: usize) -> Option<BodyLine<'p>> {
        let PatchLine { text, cr } = self.lines.line(self.next)?;
        let mut chars = text.chars();
        let (sign, bare) = match chars.next() {
            Some(' ') => (Sign::Context, false),
            Some('-') => (Sign::Removed, false),
            Some('+') => (Sign::Added, false),
            // Editors and models drop the space of an empty context line. After the end of the file
            // there is none.
            None if !self.ends_file(first) => (Sign::Context, true),
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

    fn ends_file(&self, first: usize) -> bool {
        self.patch.lines.get(first..).and_then(<[_]>::last).is_some_and(|line| line.unterminated)
    }

    /// Accepts `\ No newline at end of file`, in any language.
    fn marker(&mut self, first: usize) -> bool {
        let found = self.text(self.next).is_some_and(|line| line.starts_with('\\'));
        if found {
            self.next += 1;
            if let Some(marked) = self.patch.lines.get_mut(first..).and_then(<[_]>::last_mut) {
                marked.unterminated = true;
                self.marked = true;
            }
        }
        found
    }

    /// Drops the markers of the last hunk because another one follows. Only the last can reach the
    /// end of the file.
    fn unmark(&mut self) {
        if self.marked
            && let Some(hunk) = self.patch.hunks.last()
            && let Some(body) = self.patch.lines.get_mut(hunk.body.clone())
        {
            for line in body {
                line.unterminated = false;
            }
            self.marked = false;
        }
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
            Some((0, 0)) => {
                if self.goes_on() {
                    Err(self.wrong_counts())
                } else {
                    Ok(())
                }
            }
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
                return Err(PatchError::SeveralFiles { patch_line: at + 1, header: excerpt(old) });
            }
            return Ok(());
        }
        if begins_file(&self.lines, self.next) {
            let (patch_line, header) = (self.next + 1, excerpt(line));
            return Err(PatchError::SeveralFiles { patch_line, header });
        }
        let blank_before = self.next.checked_sub(1).and_then(|at| self.text(at)) == Some("");
        let prose = || {
            let rest = self.lines.rest(self.next);
            !rest.take_while(|line| !is_fence(line)).any(|line| line.starts_with(['+', '-']))
        };
        if line.trim().is_empty()
            || line.starts_with([' ', '+', '-'])
            || is_fence(line)
            || (self.by_content && is_envelope(line))
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
        let first = self.patch.hunks.last().map_or(0, |hunk| hunk.body.start);
        if !self.short {
            while !begins_file(&self.lines, self.next)
                && (self.body_line(first).is_some() || self.marker(first))
            {}
            self.close_body();
        }
        let body = self.last_body();
        let blank = body.iter().rev().take_while(|line| line.bare).count();
        let lines = body.get(..body.len() - blank).unwrap_or_default();
        let old_lines = lines.iter().filter(|line| line.is_old()).count();
        let new_lines = lines.iter().filter(|line| line.is_new()).count();
        let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let right_header = self.patch.hunks.last().map_or_else(String::new, |hunk| {
            hunk.ranges.with_counts(wide(old_lines), wide(new_lines)).to_string()
        });
        let (hunk, header, patch_line) = self.last_hunk();
        PatchError::WrongCounts { hunk, patch_line, header, old_lines, new_lines, right_header }
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
