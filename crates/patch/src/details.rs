//! The facts of a refusal, for a program.

use crate::error::{HeaderLine, PatchError};

/// One value of [`PatchError::details`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A count or a line number, lines counted from one.
    Number(u64),
    /// A word or a piece of a line, cut to a few hundred bytes.
    Text(String),
}

impl PatchError {
    /// What a program can use: `reason`, a stable word for the kind of error, and then, where they
    /// are known, `hunk`, `line` (in the file), `patchLine`, `expected`, `found` and the like.
    #[must_use]
    pub fn details(&self) -> Vec<(&'static str, Detail)> {
        let mut out = Facts(vec![("reason", Detail::Text(self.reason().to_owned()))]);
        match self {
            Self::Empty | Self::NoChanges | Self::BinaryFile => {}
            Self::NotADiff { start } => out.text("found", start),
            Self::NoHunks { patch_line } => out.number("patchLine", *patch_line),
            Self::BareHeader(line)
            | Self::BadHeader(line)
            | Self::CutOffHeader(line)
            | Self::SeveralFiles(line)
            | Self::Creation(line)
            | Self::Deletion(line)
            | Self::Rename(line)
            | Self::Binary(line)
            | Self::ModeOnly(line) => out.line(line),
            Self::EmptyHunk { hunk, patch_line, header }
            | Self::UnplacedInsertion { hunk, header, patch_line } => {
                out.hunk(*hunk, header);
                out.number("patchLine", *patch_line);
            }
            Self::UnsignedLine { hunk, header, patch_line, text } => {
                out.hunk(*hunk, header);
                out.number("patchLine", *patch_line);
                out.text("found", text);
            }
            Self::LostSpace { hunk, header, patch_line, text, line } => {
                out.hunk(*hunk, header);
                out.number("line", *line);
                out.number("patchLine", *patch_line);
                out.text("found", text);
            }
            Self::WrongCounts { hunk, patch_line, header, right_header, .. } => {
                out.hunk(*hunk, header);
                out.number("patchLine", *patch_line);
                out.text("rightHeader", right_header);
            }
            Self::CutOff { hunk, header, text } => {
                out.hunk(*hunk, header);
                out.text("found", text);
            }
            Self::ReplacementCharacter { hunk, patch_line, text }
            | Self::OtherEncoding { hunk, patch_line, text, .. } => {
                out.number("hunk", *hunk);
                out.number("patchLine", *patch_line);
                out.text("found", text);
            }
            Self::StaleContext(stale) => {
                out.hunk(stale.hunk, &stale.header);
                out.number("line", stale.line);
                out.number("patchLine", stale.patch_line);
                out.text("expected", &stale.expected);
                if let Some(actual) = &stale.actual {
                    out.text("found", actual);
                }
            }
            Self::Ambiguous { hunk, header, first, second, .. }
            | Self::SeveralPlaces { hunk, header, first, second }
            | Self::SeveralFits { hunk, header, first, second } => {
                out.hunk(*hunk, header);
                out.number("line", *first);
                out.number("otherLine", *second);
            }
            Self::OutOfOrder { hunk, header, line, .. }
            | Self::AboveAnchor { hunk, header, line, .. } => {
                out.hunk(*hunk, header);
                out.number("line", *line);
            }
            Self::InsertionOutside { hunk, header, after, .. } => {
                out.hunk(*hunk, header);
                out.number("line", *after);
            }
            Self::MisplacedMarker { hunk, patch_line }
            | Self::NewlineMissing { hunk, patch_line }
            | Self::NewlinePresent { hunk, patch_line } => {
                out.number("hunk", *hunk);
                out.number("patchLine", *patch_line);
            }
            Self::NotAtEnd { hunk, patch_line, line, .. } => {
                out.number("hunk", *hunk);
                out.number("line", *line);
                out.number("patchLine", *patch_line);
            }
            Self::TooRepetitive { hunk, header } => out.hunk(*hunk, header),
            Self::Files(error) => error.details(&mut out),
            Self::AnchorMissing { hunk, patch_line, anchor, similar, .. } => {
                out.number("hunk", *hunk);
                out.number("patchLine", *patch_line);
                out.text("expected", anchor);
                if let Some((line, similar_line)) = similar {
                    out.number("line", *line);
                    out.text("found", similar_line);
                }
            }
            Self::InFile { path, error } => {
                out.0 = error.details();
                out.text("path", path);
            }
        }
        out.0
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NotADiff { .. } => "not_a_diff",
            Self::NoHunks { .. } => "no_hunks",
            Self::BareHeader { .. } => "bare_header",
            Self::BadHeader { .. } => "bad_header",
            Self::EmptyHunk { .. } => "empty_hunk",
            Self::UnsignedLine { .. } => "unsigned_line",
            Self::LostSpace { .. } => "lost_space",
            Self::WrongCounts { .. } => "wrong_counts",
            Self::CutOff { .. } | Self::CutOffHeader(_) => "cut_off",
            Self::SeveralPlaces { .. } => "several_places",
            Self::MisplacedMarker { .. } => "misplaced_marker",
            Self::SeveralFiles { .. } => "several_files",
            Self::Creation { .. } => "creation",
            Self::Deletion { .. } => "deletion",
            Self::Rename { .. } => "rename",
            Self::Binary { .. } => "binary",
            Self::BinaryFile => "binary_file",
            Self::ModeOnly { .. } => "mode_only",
            Self::ReplacementCharacter { .. } => "replacement_character",
            Self::OtherEncoding { .. } => "other_encoding",
            Self::NoChanges => "no_changes",
            Self::StaleContext(_) => "stale_context",
            Self::Ambiguous { .. } => "ambiguous",
            Self::OutOfOrder { .. } => "out_of_order",
            Self::InsertionOutside { .. } => "insertion_outside",
            Self::NewlineMissing { .. } => "newline_missing",
            Self::NewlinePresent { .. } => "newline_present",
            Self::NotAtEnd { .. } => "not_at_end",
            Self::TooRepetitive { .. } => "too_repetitive",
            Self::Files(error) => error.reason(),
            Self::AnchorMissing { .. } => "anchor_missing",
            Self::AboveAnchor { .. } => "above_anchor",
            Self::SeveralFits { .. } => "several_fits",
            Self::UnplacedInsertion { .. } => "unplaced_insertion",
            Self::InFile { error, .. } => error.reason(),
        }
    }
}

/// The list that [`PatchError::details`] gives, while it grows.
pub(crate) struct Facts(Vec<(&'static str, Detail)>);

impl Facts {
    fn hunk(&mut self, number: usize, header: &str) {
        self.number("hunk", number);
        self.text("header", header);
    }

    pub(crate) fn line(&mut self, line: &HeaderLine) {
        self.number("patchLine", line.patch_line);
        self.text("header", &line.header);
    }

    pub(crate) fn number(&mut self, name: &'static str, value: usize) {
        self.0.push((name, Detail::Number(value as u64)));
    }

    pub(crate) fn text(&mut self, name: &'static str, value: &str) {
        self.0.push((name, Detail::Text(value.to_owned())));
    }
}
