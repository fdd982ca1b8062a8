//! The envelope of `apply_patch`: `*** Begin Patch`, a section for each file, `*** End Patch`.
//!
//! Text before and after the envelope is ignored, and so are code fences. A here-document around it
//! is ignored if the command does nothing but apply the patch.

use crate::error::{HeaderLine, PatchError};
use crate::files::{FileChange, FilePatch};
use crate::files_error::FilesError;
use crate::headers::{PatchText, is_fence, is_hunk_header, is_name_pair};
use crate::hunk::Patch;
use crate::sections::{self, MARK};

/// A line of the envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker<'p> {
    Begin,
    End,
    Add(&'p str),
    Update(&'p str),
    Delete(&'p str),
    MoveTo(&'p str),
    /// Another line that begins with three asterisks.
    Unknown,
}

/// Makes a marker with a path.
type Named<'p> = fn(&'p str) -> Marker<'p>;

/// Reads a line of the envelope, whose words may be in any case and followed by asterisks.
pub(crate) fn marker(line: &str) -> Option<Marker<'_>> {
    let rest = line.trim_end().strip_prefix(MARK)?;
    let words = rest.trim_matches([' ', '\t', '*']);
    if words.eq_ignore_ascii_case("begin patch") {
        return Some(Marker::Begin);
    }
    if words.eq_ignore_ascii_case("end patch") {
        return Some(Marker::End);
    }
    let Some((words, path)) = rest.trim_start().split_once(':') else {
        return Some(Marker::Unknown);
    };
    let path = path.trim();
    let path = path.strip_suffix(" ***").map_or(path, str::trim_end);
    let kinds: [(&str, Named<'_>); 4] = [
        ("add file", |path| Marker::Add(path)),
        ("update file", |path| Marker::Update(path)),
        ("delete file", |path| Marker::Delete(path)),
        ("move to", |path| Marker::MoveTo(path)),
    ];
    let kind = kinds.into_iter().find(|(name, _)| words.trim_end().eq_ignore_ascii_case(name));
    Some(kind.map_or(Marker::Unknown, |(_, marker)| marker(path)))
}

/// Whether a line begins the envelope, or one of its sections if the envelope is left out.
pub(crate) fn begins(line: &str) -> bool {
    let named = |marker| matches!(marker, Marker::Add(_) | Marker::Update(_) | Marker::Delete(_));
    marker(line.trim_start()) == Some(Marker::Begin) || marker(line).is_some_and(named)
}

/// Parses the envelope that begins at line `start`.
pub(crate) fn parse<'p>(
    lines: &PatchText<'p>,
    start: usize,
) -> Result<Vec<FilePatch<'p>>, PatchError> {
    refuse_command(lines, start)?;
    let first = lines.text(start).unwrap_or_default();
    let begun = marker(first.trim_start()) == Some(Marker::Begin);
    // The last line may be indented, which makes other lines context.
    let last = (start..lines.len())
        .rev()
        .find(|&at| lines.text(at).is_some_and(|line| !line.trim().is_empty()))
        .filter(|&at| is_end(lines.text(at).unwrap_or_default().trim_start()));
    let body = last.map_or_else(|| lines.clone(), |last| lines.before(last));
    let mut parser = Parser { lines: &body, files: Vec::new(), next: start + usize::from(begun) };
    match parser.files()? {
        End::Marked => refuse_second(lines, parser.next)?,
        // A patch that has begun also says where it ends. Without that its rest may be missing.
        End::Text if begun && last.is_none() => {
            return Err(FilesError::Unfinished(HeaderLine::new(start, first)).into());
        }
        End::Closed | End::Text => {}
    }
    if parser.files.is_empty() {
        return Err(FilesError::NoFiles(HeaderLine::new(start, first)).into());
    }
    Ok(parser.files)
}

fn is_end(line: &str) -> bool {
    marker(line) == Some(Marker::End)
}

/// Refuses a patch in a command that does more than apply it: in another directory, for one.
fn refuse_command(lines: &PatchText<'_>, start: usize) -> Result<(), PatchError> {
    let mut above = (0..start).rev().filter_map(|at| lines.text(at).map(|line| (at, line.trim())));
    let Some((at, line)) = above.find(|(_, line)| !line.is_empty() && !is_fence(line)) else {
        return Ok(());
    };
    let command = line.strip_prefix("$ ").unwrap_or(line);
    let refused = || Err(FilesError::Command(HeaderLine::new(at, line)).into());
    let Some((command, word)) = command.split_once("<<") else {
        return if command.starts_with("cd ") { refused() } else { Ok(()) };
    };
    let word = word.trim_start_matches('-').trim().trim_matches(['\'', '"']);
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let program = command.trim();
    // A here-document that begins with the text itself comes from a command that was cut off.
    let applies = plain && matches!(program, "apply_patch" | "applypatch" | "");
    if applies { Ok(()) } else { refused() }
}

/// Refuses a second patch after the end of the first.
fn refuse_second(lines: &PatchText<'_>, end: usize) -> Result<(), PatchError> {
    let second = (end..lines.len())
        .find_map(|at| lines.text(at).filter(|line| begins(line)).map(|line| (at, line)));
    second
        .map_or(Ok(()), |(at, line)| Err(FilesError::SecondPatch(HeaderLine::new(at, line)).into()))
}

/// How an envelope ended.
enum End {
    /// With its last line.
    Marked,
    /// With the end of what is around it.
    Closed,
    /// With the text.
    Text,
}

struct Parser<'t, 'p> {
    lines: &'t PatchText<'p>,
    files: Vec<FilePatch<'p>>,
    next: usize,
}

impl<'p> Parser<'_, 'p> {
    fn files(&mut self) -> Result<End, PatchError> {
        while let Some(line) = self.lines.text(self.next) {
            let (at, trimmed) = (self.next, line.trim_start());
            let header = || HeaderLine::new(at, line);
            self.next += 1;
            let marker = match marker(trimmed) {
                Some(marker) => marker,
                None if trimmed.is_empty() => continue,
                None if !self.files.is_empty() && self.closes(at) => return Ok(End::Closed),
                None => return Err(FilesError::StrayLine(header()).into()),
            };
            let (path, kind) = match marker {
                Marker::End => return Ok(End::Marked),
                Marker::Begin => return Err(FilesError::SecondPatch(header()).into()),
                Marker::MoveTo(_) | Marker::Unknown => {
                    return Err(FilesError::UnknownMarker(header()).into());
                }
                Marker::Add(path) | Marker::Update(path) | Marker::Delete(path) => (path, marker),
            };
            if path.is_empty() {
                return Err(FilesError::NoPath(header()).into());
            }
            let section = match kind {
                Marker::Add(_) => Ok(self.add()),
                Marker::Update(_) => self.update(path),
                _ => Ok((FileChange::Delete, Vec::new())),
            };
            let (change, patches) = section.map_err(|error| error.in_file(path))?;
            self.files.push(FilePatch {
                path: path.to_owned(),
                change,
                replaces: true,
                is_link: false,
                patch_line: at + 1,
                patches,
            });
        }
        Ok(End::Text)
    }

    /// Whether nothing but the end of what was around the patch follows: a code fence, or the last
    /// word of a here-document.
    fn closes(&self, at: usize) -> bool {
        let line = self.lines.text(at).unwrap_or_default().trim();
        let is_word = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_uppercase());
        let mut rest = self.lines.rest(at + 1);
        is_fence(line) || (is_word && rest.all(|line| line.trim().is_empty() || is_fence(line)))
    }

    /// The content of a new file: all lines with `+`.
    fn add(&mut self) -> (FileChange, Vec<Patch<'p>>) {
        let mut content = String::new();
        // Where the line that names the file has a carriage return too, they come from the transport.
        let above = self.next.checked_sub(1).and_then(|at| self.lines.line(at));
        let literal = above.is_some_and(|line| !line.cr);
        while let Some(line) = self.lines.line(self.next)
            && let Some(text) = line.text.strip_prefix('+')
        {
            content.push_str(text);
            content.push_str(if literal && line.cr { "\r\n" } else { "\n" });
            self.next += 1;
        }
        (FileChange::Create { content }, Vec::new())
    }

    fn update(&mut self, path: &str) -> Result<(FileChange, Vec<Patch<'p>>), PatchError> {
        let header = self.next;
        let mut move_to = None;
        if let Some(line) = self.lines.text(self.next)
            && let Some(Marker::MoveTo(target)) = marker(line)
        {
            if target.is_empty() {
                return Err(FilesError::NoPath(HeaderLine::new(self.next, line)).into());
            }
            move_to = Some(target.to_owned());
            self.next += 1;
        }
        if self.repeats_names(path) {
            self.next += 2;
        }
        let (mut hunks, next) = sections::parse(self.lines, self.next)?;
        self.next = next;
        if hunks.hunks.is_empty() {
            return match move_to {
                Some(_) => Ok((FileChange::Update { move_to }, Vec::new())),
                None => Err(PatchError::NoHunks { patch_line: header }),
            };
        }
        hunks.refuse_unchanged()?;
        if let [scope] = hunks.scopes.as_mut_slice() {
            scope.appends = true;
        }
        Ok((FileChange::Update { move_to }, vec![hunks]))
    }

    /// Whether the names of a unified diff follow, for the file that is updated.
    fn repeats_names(&self, path: &str) -> bool {
        let text = |at: usize| self.lines.text(at).unwrap_or_default();
        let (old, new) = (text(self.next), text(self.next + 1));
        is_name_pair(old, new)
            && is_hunk_header(text(self.next + 2))
            && [old, new].iter().all(|name| name.trim_end().ends_with(path))
    }
}
