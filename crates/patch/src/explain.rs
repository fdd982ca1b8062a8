//! The difference between a hunk and the file.

use std::fmt;

use crate::excerpt::{difference, excerpt, quoted};
use crate::hunk::{BodyLine, Hunk, old_lines};
use crate::lines::{Lines, reads_as};
use crate::nearest::similar_line;
use crate::numbered::without_number;
use crate::spacing::Spacing;

/// A hunk whose context or removed lines are not in the file, compared with the most similar place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The number of the hunk, from 1.
    pub hunk: usize,
    /// Its header.
    pub header: String,
    /// The first file line that differs, from 1.
    pub line: usize,
    /// The line of the patch that was expected there.
    pub patch_line: usize,
    /// The expected line, cut around the difference.
    pub expected: String,
    /// The line in the file. `None` if the file ends before it.
    pub actual: Option<String>,
    /// The column of the first difference, in characters from 1.
    pub column: usize,
    /// The number of lines of the hunk that match at this place.
    pub matching: usize,
    /// The number of lines of the hunk that must be in the file.
    pub old_lines: usize,
    /// The number of lines in the file.
    pub lines: usize,
    /// Whether the two lines differ in white space only.
    pub spacing: bool,
    /// Whether the file has the expected line without the number that is in front of it.
    pub numbered: bool,
    /// Another line of the file that is most like the expected one: its number from 1, and what it holds, in quotes.
    pub nearest: Option<(usize, String)>,
    /// The file line at which the new lines of the hunk already are.
    pub done_at: Option<usize>,
}

impl Stale {
    /// Compares `body` with the file at `at`. The search began at `near`, and ignored `spacing`.
    pub(crate) fn new(
        file: &Lines<'_>,
        hunk: &Hunk<'_>,
        body: &[BodyLine<'_>],
        near: usize,
        at: usize,
        spacing: Spacing,
    ) -> Self {
        let same = |(line, at): &(&BodyLine<'_>, usize)| {
            file.get(*at).is_some_and(|file_line| spacing.reads_as(file_line.text, line.text))
        };
        let pairs = || old_lines(body).zip(at..);
        let differing = pairs().find(|pair| !same(pair)).or_else(|| pairs().last());
        let (text, patch_line, line) = differing
            .map_or(("", hunk.patch_line, at), |(line, at)| (line.text, line.patch_line, at));
        let actual = file.get(line).map(|line| line.decoded());
        let (expected, excerpted, column) = match &actual {
            Some(actual) => difference(text, actual),
            None => (excerpt(text), String::new(), 1),
        };
        let spacing = actual
            .as_ref()
            .is_some_and(|actual| text.split_whitespace().eq(actual.split_whitespace()));
        let ahead = hunk.ranges.new_start.saturating_sub(1);
        let done_at = [near, at, ahead].into_iter().find(|&at| is_done(file, body, at));
        let has = |text: &str| {
            (0..file.len()).any(|at| file.get(at).is_some_and(|line| reads_as(line.text, text)))
        };
        let decoded = (0..file.len()).filter_map(|at| Some(file.get(at)?.decoded()));
        let nearest = similar_line(decoded, text)
            .filter(|(nearest, _)| *nearest != line + 1)
            .map(|(nearest, text)| (nearest, quoted(&text)));
        // A listing may change the blanks after its numbers.
        let has_bare = |line: &str| {
            let bare = line.trim();
            !bare.is_empty()
                && (0..file.len())
                    .any(|at| file.get(at).is_some_and(|line| line.decoded().trim() == bare))
        };
        Self {
            hunk: hunk.number,
            nearest,
            header: excerpt(hunk.header),
            line: line + 1,
            patch_line,
            expected,
            actual: actual.map(|_| excerpted),
            column,
            matching: pairs().filter(same).count(),
            old_lines: old_lines(body).count(),
            lines: file.len(),
            spacing,
            numbered: without_number(text).is_some_and(|line| has(line) || has_bare(line)),
            done_at: done_at.or_else(|| only_done(file, body)).map(|at| at + 1),
        }
    }
}

/// Whether the file at `at` already has the new lines of the hunk.
fn is_done(file: &Lines<'_>, body: &[BodyLine<'_>], at: usize) -> bool {
    body.iter().any(|line| !line.is_old())
        && body.iter().filter(|line| line.is_new()).zip(at..).all(|(line, at)| {
            file.get(at).is_some_and(|file_line| reads_as(file_line.text, line.text))
        })
}

/// The only place of the new lines of the hunk. A few letters are anywhere.
fn only_done(file: &Lines<'_>, body: &[BodyLine<'_>]) -> Option<usize> {
    const MIN: usize = 8;
    /// The most lines that are compared.
    const MAX_WORK: usize = 200_000;
    let has_changed = body.iter().any(|line| line.is_new() && !line.is_old());
    let letters: usize =
        body.iter().filter(|line| line.is_new()).map(|line| line.text.trim().len()).sum();
    if !has_changed || letters < MIN {
        return None;
    }
    let new: Vec<&str> = body.iter().filter(|line| line.is_new()).map(|line| line.text).collect();
    let (mut only, mut work) = (None, MAX_WORK);
    for at in 0..(file.len() + 1).saturating_sub(new.len()) {
        let same = |(line, text): &(usize, &&str)| {
            file.get(*line).is_some_and(|line| reads_as(line.text, text))
        };
        let matching = (at..).zip(&new).take_while(same).count();
        work = work.checked_sub(matching + 1)?;
        if matching == new.len() && only.replace(at).is_some() {
            return None;
        }
    }
    only
}

impl fmt::Display for Stale {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hunk, header, line, patch_line, expected, matching, old_lines, .. } = self;
        write!(
            out,
            "hunk {hunk} ({header}) does not fit the file: line {line} should be {}",
            quoted(expected)
        )?;
        match &self.actual {
            Some(actual) => {
                write!(out, " (line {patch_line} of the patch) but is {}", quoted(actual))?;
                if self.spacing {
                    out.write_str(", which differs in white space only")?;
                }
                if self.column > 40 {
                    write!(out, "; the first difference is at column {}", self.column)?;
                }
            }
            None if self.lines == 0 => {
                write!(out, " (line {patch_line} of the patch) but the file is empty")?;
            }
            None => write!(
                out,
                " (line {patch_line} of the patch) but the file ends at line {}",
                self.lines
            )?,
        }
        if *old_lines > 1 {
            write!(
                out,
                "; {matching} of the {old_lines} context and removed lines match there, and no place matches all"
            )?;
        }
        Ok(())
    }
}
