//! A unified diff of several files, as `git diff` and `diff -u` write it.

use crate::error::{HeaderLine, PatchError};
use crate::files::{FileChange, FilePatch};
use crate::files_error::FilesError;
use crate::headers::{
    HeaderFault, PatchText, begins_file, is_hunk_header, is_name_pair, read_hunk_header,
};
use crate::hunk::{Patch, Sign};
use crate::parse::parse_hunks;
use crate::unified_names::{Header, Role};

/// Whether a diff begins at line `at`.
pub(crate) fn begins(lines: &PatchText<'_>, at: usize) -> bool {
    let text = |at: usize| lines.text(at).unwrap_or_default();
    text(at).starts_with("diff --git ")
        || is_name_pair(text(at), text(at + 1))
        || (is_hunk_header(text(at))
            && !matches!(read_hunk_header(text(at)), Err(HeaderFault::Bare)))
}

/// Parses the diff that begins at line `start`. `complete` tells whether the text ends with a line
/// end.
pub(crate) fn parse<'p>(
    lines: &PatchText<'p>,
    start: usize,
    complete: bool,
) -> Result<Vec<FilePatch<'p>>, PatchError> {
    let parts = split(lines, start);
    let mut files = Vec::with_capacity(parts.len());
    for (number, part) in (1..).zip(&parts) {
        let complete = complete || number < parts.len();
        files.push(part.parse(lines, complete)?);
    }
    Ok(files)
}

/// The lines of one file.
struct Part {
    start: usize,
    /// The first hunk header, or the end if there is none.
    hunks: usize,
    end: usize,
    /// Whether the names of the file were found.
    named: bool,
}

/// Finds where the lines of each file begin. Counts decide which lines are those of a hunk, because
/// removed and added lines can look like names.
fn split(lines: &PatchText<'_>, start: usize) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut at = start;
    while let Some(line) = lines.text(at) {
        let is_names =
            begins_file(lines, at) || is_name_pair(line, lines.text(at + 1).unwrap_or_default());
        let git = line.starts_with("diff --git ");
        let current = parts.last_mut();
        let has_hunks = current.as_ref().is_some_and(|part| part.hunks < usize::MAX);
        let is_full = current.as_ref().is_none_or(|part| part.named || part.hunks < usize::MAX);
        // Behind a hunk a pair of names is one only if a hunk follows, or nothing.
        let is_names = is_names && (!has_hunks || begins_file(lines, at));
        if git || (is_names && is_full) {
            let named = is_names && !git;
            parts.push(Part { start: at, hunks: usize::MAX, end: 0, named });
            at += if named && is_pair(lines, at) { 2 } else { 1 };
        } else if is_names {
            if let Some(part) = current {
                part.named = true;
            }
            at += if is_pair(lines, at) { 2 } else { 1 };
        } else if is_hunk_header(line) {
            if let Some(part) = current {
                part.hunks = part.hunks.min(at);
            } else {
                parts.push(Part { start: at, hunks: at, end: 0, named: false });
            }
            at = skip_hunk(lines, at);
        } else {
            at += 1;
        }
    }
    let mut end = lines.len();
    for part in parts.iter_mut().rev() {
        part.end = end;
        part.hunks = part.hunks.min(end);
        end = part.start;
    }
    parts
}

fn is_pair(lines: &PatchText<'_>, at: usize) -> bool {
    is_name_pair(lines.text(at).unwrap_or_default(), lines.text(at + 1).unwrap_or_default())
}

/// The line after the hunk whose header is at `header`.
fn skip_hunk(lines: &PatchText<'_>, header: usize) -> usize {
    let mut at = header + 1;
    let is_body = |line: &str| line.is_empty() || line.starts_with([' ', '+', '-', '\\']);
    let Some(Ok((ranges, _))) = lines.text(header).map(read_hunk_header) else {
        while lines.text(at).is_some_and(is_body) && !begins_file(lines, at) {
            at += 1;
        }
        return at;
    };
    let (mut old, mut new) = (0, 0);
    while old < ranges.old_count || new < ranges.new_count {
        let Some(line) = lines.text(at).filter(|line| is_body(line)) else { break };
        old += usize::from(!line.starts_with(['+', '\\']));
        new += usize::from(!line.starts_with(['-', '\\']));
        at += 1;
    }
    // A header that counts too many lines counts the names of the next file in.
    let is_short = old < ranges.old_count || new < ranges.new_count;
    if is_short
        && at > header + 2
        && lines.text(at).is_some_and(is_hunk_header)
        && is_pair(lines, at - 2)
    {
        at -= 2;
    }
    at
}

impl Part {
    fn parse<'p>(
        &self,
        lines: &PatchText<'p>,
        complete: bool,
    ) -> Result<FilePatch<'p>, PatchError> {
        let header = Header::read(lines, self.start..self.hunks)?;
        let has_hunks = self.hunks < self.end;
        let is_link = header.is_link;
        let (path, role) = header.role(lines, self.start, has_hunks)?;
        let part = lines.before(self.end);
        let change = self.change(&part, role, complete);
        let (change, patches) = change.map_err(|error| error.in_file(&path))?;
        Ok(FilePatch {
            path,
            change,
            replaces: false,
            is_link,
            patch_line: self.start + 1,
            patches,
        })
    }

    fn change<'p>(
        &self,
        part: &PatchText<'p>,
        role: Role,
        complete: bool,
    ) -> Result<(FileChange, Vec<Patch<'p>>), PatchError> {
        let creates = role == Role::Create;
        let hunks = (self.hunks < self.end)
            .then(|| parse_hunks(part, self.hunks, complete, creates))
            .transpose()?;
        match role {
            Role::Create => {
                let content = hunks.as_ref().map_or(Ok(String::new()), |patch| {
                    // Line ends of the whole patch come from its transport.
                    let literal = part.line(self.hunks).is_some_and(|header| !header.cr);
                    content(patch, literal)
                })?;
                Ok((FileChange::Create { content }, Vec::new()))
            }
            Role::Update { move_to } => {
                Ok((FileChange::Update { move_to }, hunks.into_iter().collect()))
            }
            Role::Delete => Ok((FileChange::Delete, hunks.into_iter().collect())),
        }
    }
}

/// The content of a new file.
fn content(patch: &Patch<'_>, literal: bool) -> Result<String, PatchError> {
    let mut content = String::new();
    for line in patch.lines.iter().filter(|line| !line.bare) {
        if line.sign != Sign::Added {
            let line = HeaderLine::new(line.patch_line - 1, line.text);
            return Err(FilesError::OldLineOfNewFile(line).into());
        }
        content.push_str(line.text);
        if literal && line.cr {
            content.push('\r');
        }
        if !line.unterminated {
            content.push('\n');
        }
    }
    Ok(content)
}
