//! The reasons for refusing a patch that do not concern its hunks: its format, and the files it names.

use thiserror::Error;

use crate::details::Facts;
use crate::error::HeaderLine;
use crate::excerpt::quoted;

/// Why a patch for several files, or its part for one of them, was not read.
///
/// The display says what is wrong and where. Lines are counted in the patch, from one.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FilesError {
    /// Text without anything that belongs to a patch for several files.
    #[error("the text is no patch: it has neither `*** Begin Patch` nor the file names of a unified diff, and it begins {}", quoted(.start))]
    NotAPatch {
        /// The first line that is not blank.
        start: String,
    },
    /// `*** Begin Patch` without `*** End Patch`.
    #[error("the patch has no last line `*** End Patch` ({0}), so its end may be missing")]
    Unfinished(HeaderLine),
    /// A second patch in the same text.
    #[error("a second patch begins at {0}")]
    SecondPatch(HeaderLine),
    /// A patch within a command that does more than apply it.
    #[error("the patch is within a command ({0}) that does more than apply it")]
    Command(HeaderLine),
    /// An envelope without a file.
    #[error("the patch has no file section ({0})")]
    NoFiles(HeaderLine),
    /// A line with asterisks that means nothing, or not here.
    #[error("{0}, cannot be read as a line of a patch at this place")]
    UnknownMarker(HeaderLine),
    /// A line between the sections, or after the last hunk.
    #[error("{0}, belongs to no hunk and no new file")]
    StrayLine(HeaderLine),
    /// A section without the name of its file.
    #[error("{0}, does not name a file")]
    NoPath(HeaderLine),
    /// A headerless diff with the name of a file.
    #[error(
        "{0}, names a file or ends a patch, but this diff is for one file, which is named beside it"
    )]
    NamesFile(HeaderLine),
    /// The two names of a file differ, and nothing says that it is renamed.
    #[error("the patch has two names for a file (line {patch_line} of the patch), {} and {}, and no lines `rename from` and `rename to`", quoted(.old), quoted(.new))]
    NamesDiffer {
        /// Where the headers of the file begin.
        patch_line: usize,
        /// The name after `---`.
        old: String,
        /// The name after `+++`.
        new: String,
    },
    /// The patch copies a file.
    #[error("the patch copies a file ({0})")]
    Copy(HeaderLine),
    /// The patch sets the mode of a file.
    #[error("the patch sets the mode of a file ({0}), which is not supported")]
    Mode(HeaderLine),
    /// Hunks for a link that is moved or deleted, which is no file.
    #[error("it is a symbolic link to {}, and a patch that moves a link moves the link itself, without hunks", quoted(.to))]
    LinkHasHunks {
        /// Where it leads to.
        to: String,
    },
    /// A path that the patch names twice.
    #[error(
        "the patch names `{path}` twice, at line {first} and at line {second} of the patch, and it depends on their order what that means"
    )]
    SamePath {
        /// The path.
        path: String,
        /// The line of one section.
        first: usize,
        /// The line of the other.
        second: usize,
    },
    /// A path of the patch below another.
    #[error(
        "`{path}` cannot be a file (line {first} of the patch) and the directory of `{below}` (line {second})"
    )]
    FileAndDirectory {
        /// The upper path.
        path: String,
        /// The path below it.
        below: String,
        /// The line of one section.
        first: usize,
        /// The line of the other.
        second: usize,
    },
    /// A context or removed line in a file that the patch creates.
    #[error("the patch creates the file, so it has only added lines, but {0}, is another one")]
    OldLineOfNewFile(HeaderLine),
    /// A deletion that does not remove all lines of the file.
    #[error(
        "the patch deletes the file, but the lines that it removes are not all: {left} bytes would be left"
    )]
    NotEmptied {
        /// What would be left.
        left: usize,
    },
}

impl FilesError {
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::NotAPatch { .. } => "not_a_patch",
            Self::Unfinished(_) => "unfinished",
            Self::SecondPatch(_) => "second_patch",
            Self::Command(_) => "command",
            Self::NoFiles(_) => "no_files",
            Self::UnknownMarker(_) => "unknown_marker",
            Self::StrayLine(_) => "stray_line",
            Self::NoPath(_) => "no_path",
            Self::NamesFile(_) => "names_file",
            Self::NamesDiffer { .. } => "names_differ",
            Self::Copy(_) => "copy",
            Self::Mode(_) => "mode",
            Self::LinkHasHunks { .. } => "link_has_hunks",
            Self::SamePath { .. } => "same_path",
            Self::FileAndDirectory { .. } => "file_and_directory",
            Self::OldLineOfNewFile(_) => "old_line_of_new_file",
            Self::NotEmptied { .. } => "not_emptied",
        }
    }

    pub(crate) fn details(&self, out: &mut Facts) {
        match self {
            Self::NotAPatch { start } => out.text("found", start),
            Self::Unfinished(line)
            | Self::SecondPatch(line)
            | Self::Command(line)
            | Self::NoFiles(line)
            | Self::UnknownMarker(line)
            | Self::StrayLine(line)
            | Self::NoPath(line)
            | Self::NamesFile(line)
            | Self::Copy(line)
            | Self::Mode(line)
            | Self::OldLineOfNewFile(line) => out.line(line),
            Self::NamesDiffer { patch_line, old, new } => {
                out.number("patchLine", *patch_line);
                out.text("expected", old);
                out.text("found", new);
            }
            Self::SamePath { path, second, .. } => {
                out.text("path", path);
                out.number("patchLine", *second);
            }
            Self::FileAndDirectory { path, below, second, .. } => {
                out.text("path", path);
                out.text("below", below);
                out.number("patchLine", *second);
            }
            Self::LinkHasHunks { to } => out.text("found", to),
            Self::NotEmptied { left } => out.number("bytesLeft", *left),
        }
    }
}
