//! Patches over several files, and the headerless diff of one file.

use crate::applied::Applied;
use crate::encoded::{apply_parsed, is_binary};
use crate::error::{HeaderLine, PatchError};
use crate::excerpt::excerpt;
use crate::files_error::FilesError;
use crate::headers::{PatchText, is_name_pair};
use crate::hunk::Patch;
use crate::{conflicts, envelope, sections, unified};

/// What a patch does to one file.
#[derive(Debug)]
#[non_exhaustive]
pub struct FilePatch<'p> {
    /// The file, as the patch names it: without the `a/` and `b/` of a diff, otherwise unchanged.
    pub path: String,
    /// What happens to it.
    pub change: FileChange,
    /// Whether a file that stands where one is created, or moved, is replaced. It is by an envelope, as
    /// its models expect; a unified diff would refuse that, as git does.
    pub replaces: bool,
    /// The line of the patch that names the file, from 1.
    pub patch_line: usize,
    /// Whether the patch says that it is a symbolic link.
    pub(crate) is_link: bool,
    /// The hunks. A file that the patch updates in several sections has an item for each.
    pub(crate) patches: Vec<Patch<'p>>,
}

/// The kind of a change, and what it needs besides the old content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// The file is created.
    Create {
        /// Its content.
        content: String,
    },
    /// The file is edited, moved, or both.
    Update {
        /// Its new path, written as [`FilePatch::path`] is.
        move_to: Option<String>,
    },
    /// The file is deleted.
    Delete,
}

/// What a headerless diff does to its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffMode {
    /// It edits the file.
    Update,
    /// It is the whole content of a new file, with `+` in front of every line.
    Create,
}

/// Parses a patch for any number of files: the envelope of `apply_patch`, or a unified diff.
///
/// No path is in the result twice, and none is below another. An error that belongs to one file is a
/// [`PatchError::InFile`].
///
/// ```
/// use toolwright_patch::{FileChange, parse_patch};
///
/// let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+1\n*** End Patch\n";
/// let files = parse_patch(patch)?;
/// assert_eq!(files[0].path, "a.txt");
/// assert_eq!(files[0].change, FileChange::Update { move_to: Some("b.txt".to_owned()) });
/// assert_eq!(files[0].apply(b"one\ntwo\n")?.bytes, b"1\ntwo\n");
/// # Ok::<(), toolwright_patch::PatchError>(())
/// ```
pub fn parse_patch(text: &str) -> Result<Vec<FilePatch<'_>>, PatchError> {
    let lines = PatchText::new(text);
    let files = match first_line(&lines) {
        Some((start, Format::Envelope)) => envelope::parse(&lines, start)?,
        Some((start, Format::Unified)) => unified::parse(&lines, start, text.ends_with('\n'))?,
        None => {
            return Err(match lines.rest(0).find(|line| !line.trim().is_empty()) {
                None => PatchError::Empty,
                Some(first) => FilesError::NotAPatch { start: excerpt(first) }.into(),
            });
        }
    };
    conflicts::merge(files)
}

enum Format {
    Envelope,
    Unified,
}

/// Where the patch begins. Lines of one format can be text in a hunk of the other, so the first that
/// is found decides.
fn first_line(lines: &PatchText<'_>) -> Option<(usize, Format)> {
    (0..lines.len()).find_map(|at| {
        let line = lines.text(at)?;
        if envelope::begins(line) {
            Some((at, Format::Envelope))
        } else if unified::begins(lines, at) {
            Some((at, Format::Unified))
        } else {
            None
        }
    })
}

impl FilePatch<'_> {
    /// Applies the change to `old`, the content of the file, or nothing for a file that is created.
    ///
    /// The bytes are those of the file afterwards. A move without hunks leaves them alone. For a
    /// deletion they are empty, and the lines that the patch shows as removed must be all of the file.
    /// Errors do not name the file.
    pub fn apply(&self, old: &[u8]) -> Result<Applied, PatchError> {
        if let FileChange::Create { content } = &self.change {
            return Ok(Applied {
                bytes: content.clone().into_bytes(),
                hunks: 0,
                places: Vec::new(),
                damage: None,
            });
        }
        if !self.patches.is_empty() {
            refuse_binary(old)?;
        }
        let mut all: Option<Applied> = None;
        for patch in &self.patches {
            let applied = apply_parsed(all.as_ref().map_or(old, |all| &all.bytes), patch)?;
            all = Some(match all {
                None => applied,
                Some(before) => Applied {
                    bytes: applied.bytes,
                    hunks: before.hunks + applied.hunks,
                    places: [before.places, applied.places].concat(),
                    damage: None,
                },
            });
        }
        let nothing =
            || Applied { bytes: old.to_vec(), hunks: 0, places: Vec::new(), damage: None };
        let mut applied = all.unwrap_or_else(nothing);
        if self.change == FileChange::Delete {
            let left = applied.bytes.len();
            if left > 0 && !self.patches.is_empty() {
                return Err(FilesError::NotEmptied { left }.into());
            }
            applied.bytes = Vec::new();
        }
        Ok(applied)
    }
}

impl FilePatch<'_> {
    /// The same for a symbolic link with the text `to`, which is moved or deleted itself: its text stays as it
    /// is, and nothing is left of a deleted one.
    ///
    /// The hunks of a deletion can show the file that it leads to. They are compared with the link only
    /// where the patch says that it is one.
    pub fn apply_to_link(&self, to: &[u8]) -> Result<Applied, PatchError> {
        let has_hunks = !self.patches.is_empty();
        match &self.change {
            FileChange::Delete if self.is_link && has_hunks => self.apply(to),
            FileChange::Delete => {
                Ok(Applied { bytes: Vec::new(), hunks: 0, places: Vec::new(), damage: None })
            }
            _ if !has_hunks => self.apply(to),
            _ => Err(FilesError::LinkHasHunks { to: excerpt(&String::from_utf8_lossy(to)) }.into()),
        }
    }
}

/// Applies the diff of one file without file names, as the tool `apply_patch` of the API of
/// `OpenAI` sends it.
///
/// `old` is the content of the file, and is not read for [`DiffMode::Create`]. A new file ends with a
/// newline only if the last line of the diff is an empty `+`.
pub fn apply_diff(old: &[u8], diff: &str, mode: DiffMode) -> Result<Applied, PatchError> {
    let lines = PatchText::new(diff);
    let end = (0..lines.len())
        .find(|&at| lines.text(at).and_then(envelope::marker) == Some(envelope::Marker::End))
        .filter(|&end| lines.rest(end + 1).all(|line| line.trim().is_empty()));
    let lines = end.map_or_else(|| lines.clone(), |end| lines.before(end));
    if mode == DiffMode::Create {
        return create(&lines);
    }
    // The names of a unified diff say nothing that is not known.
    let start = match (lines.text(0), lines.text(1)) {
        (Some(old), Some(new)) if is_name_pair(old, new) => 2,
        _ => 0,
    };
    let (patch, next) = sections::parse(&lines, start)?;
    if let Some(line) = lines.text(next) {
        let header = HeaderLine::new(next, line);
        let names = line.starts_with(sections::MARK);
        let error = if names { FilesError::NamesFile } else { FilesError::StrayLine };
        return Err(error(header).into());
    }
    if patch.hunks.is_empty() {
        return Err(PatchError::Empty);
    }
    patch.refuse_unchanged()?;
    refuse_binary(old)?;
    apply_parsed(old, &patch)
}

fn create(lines: &PatchText<'_>) -> Result<Applied, PatchError> {
    let mut content = String::new();
    let mut ending = "";
    for at in 0..lines.len() {
        let Some(line) = lines.line(at) else { break };
        let Some(text) = line.text.strip_prefix('+') else {
            return Err(FilesError::StrayLine(HeaderLine::new(at, line.text)).into());
        };
        content.push_str(ending);
        content.push_str(text);
        ending = if line.cr { "\r\n" } else { "\n" };
    }
    // What the last line has is its own, and no ending.
    content.push_str(ending.strip_suffix('\n').unwrap_or_default());
    Ok(Applied { bytes: content.into_bytes(), hunks: 0, places: Vec::new(), damage: None })
}

fn refuse_binary(old: &[u8]) -> Result<(), PatchError> {
    if is_binary(old) { Err(PatchError::BinaryFile) } else { Ok(()) }
}
