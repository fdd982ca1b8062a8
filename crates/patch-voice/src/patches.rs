//! Next moves after patches and replacements that do not fit.

use std::borrow::Cow;

use toolwright_patch::{Difference, FilesError, PatchError, Reading, ReplaceError, Stale};

/// After a patch that was refused and is one line, in which line ends are written as escapes; `None` for any other.
#[must_use]
pub fn escaped_hint(patch: &str) -> Option<&'static str> {
    (!patch.trim().contains('\n') && patch.contains("\\n")).then_some(
        "The patch has `\\n` as two characters where lines end, and so is one line: send line ends as they are.",
    )
}

/// After a diff that does not fit its file; `None` where it names that file, or none.
#[must_use]
pub fn other_file_hint(diff: &str, path: &str, error: &PatchError) -> Option<String> {
    if !matches!(error, PatchError::StaleContext(_)) {
        return None;
    }
    let name = diff.lines().find_map(|line| line.strip_prefix("+++ "))?;
    let name = name.split('\t').next().unwrap_or_default().trim();
    let name = name.strip_prefix("b/").unwrap_or(name);
    let is_end_of = |end: &str, whole: &str| {
        whole.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let is_other = !name.is_empty() && !is_end_of(name, path) && !is_end_of(path, name);
    is_other.then(|| {
        let name: String = name.chars().filter(|letter| !letter.is_control()).take(200).collect();
        format!("The diff names `{name}`: if that file is meant, give it as the path.")
    })
}

/// After a patch that was refused.
#[must_use]
pub fn hint(error: &PatchError) -> Cow<'static, str> {
    Cow::Borrowed(match error {
        PatchError::Empty | PatchError::NotADiff { .. } | PatchError::NoHunks { .. } => {
            "Send a unified diff: a header such as `@@ -3,2 +3,3 @@`, then context lines that begin with a space, removed lines with `-` and added lines with `+`."
        }
        PatchError::BareHeader { .. } | PatchError::BadHeader { .. } => {
            "Write the header as `@@ -3,2 +3,3 @@`: first line and number of lines before, then after the change. Read the file for the line numbers."
        }
        PatchError::EmptyHunk { .. } => {
            "Leave the header out, or write the hunk's lines under it: context with a space in front, `-` and `+` lines."
        }
        PatchError::UnsignedLine { .. } => {
            "Begin every context line with one space, before its own indentation, and make the counts in the header those of the lines."
        }
        PatchError::LostSpace { .. } => {
            "Begin every context line with one space, before its own first character; to add the line, write the header with the right line numbers and counts."
        }
        PatchError::WrongCounts { right_header, .. } => {
            return format!("For these lines the header should be `{right_header}`.").into();
        }
        PatchError::CutOff { .. } | PatchError::CutOffHeader(_) => {
            "Send the whole patch again, with a line end after its last line; smaller patches in several calls are safer."
        }
        PatchError::SeveralPlaces { .. } => {
            "Write the header as `@@ -3,2 +3,3 @@` with the line number of the place that is meant, or add context lines that only it has."
        }
        PatchError::MisplacedMarker { .. } | PatchError::NotAtEnd { .. } => {
            "Leave out the line `\\ No newline at end of file`: it is for the last line of the file only."
        }
        PatchError::SeveralFiles { .. } => {
            "Make one call for each file; for one file, put all hunks under one `---`/`+++` header, in the order of the file."
        }
        PatchError::Creation { .. } => "Use the write tool to create a file.",
        PatchError::Deletion { .. } => "Use the bash tool with `rm` to delete a file.",
        PatchError::Rename { .. } => {
            "Use the bash tool with `mv` or `cp`, then edit the file at its new path with a patch that has no rename or copy lines."
        }
        PatchError::Binary { .. } | PatchError::BinaryFile => {
            "Only text can be edited; use the bash tool for a binary file."
        }
        PatchError::ModeOnly { .. } => "Use the bash tool with `chmod` to change a file's mode.",
        PatchError::OtherEncoding { .. } => {
            "Write the line with letters of ASCII, or change the file with a command that knows its encoding."
        }
        PatchError::ReplacementCharacter { .. } => {
            "Add lines without U+FFFD; to keep a line that has it, leave the line as context or out of the patch."
        }
        PatchError::NoChanges => {
            "Mark the lines to change with `-` and `+`; if nothing is to change, no edit is needed."
        }
        PatchError::StaleContext(stale) => return after_stale_context(stale),
        PatchError::Ambiguous { .. } => {
            "Give the line number of the place that is meant in the header, or add context lines that only it has."
        }
        PatchError::OutOfOrder { .. } => {
            "Put the hunks in the order of the file, and join hunks that touch the same lines. All hunks refer to the file before the edit."
        }
        PatchError::InsertionOutside { lines, .. } => {
            return format!(
                    "To append to the file use `@@ -{lines},0 +{},n @@`, with n the number of added lines, or give context lines.",
                    lines.saturating_add(1)
                )
                .into();
        }
        PatchError::NewlineMissing { .. } => {
            "Put `\\ No newline at end of file` after the removed last line too, or leave it out: without it the end of the file stays as it is."
        }
        PatchError::NewlinePresent { .. } => {
            "Leave out `\\ No newline at end of file`: without it the end of the file stays as it is."
        }
        PatchError::InFile { error, .. } if matches!(**error, PatchError::NoHunks { .. }) => {
            "Write hunks under the name of the file: a line `@@`, then context lines that begin with a space, removed lines with `-` and added lines with `+`. Only `*** Move to: path` needs none."
        }
        PatchError::InFile { error, .. } => return hint(error),
        PatchError::Files(error) => files_hint(error),
        PatchError::AnchorMissing { .. } => {
            "Copy the whole line from the file after `@@`, or leave it out and give more context lines."
        }
        PatchError::AboveAnchor { .. } => {
            "Name a line after `@@` that is above the hunk, such as its function or class, or write `@@` alone."
        }
        PatchError::SeveralFits { .. } => {
            "Write a line `@@ ` above the hunk with a line of the file that comes before the meant place and is there only once, such as its class or function (several such lines narrow further), or add context lines that only this place has."
        }
        PatchError::UnplacedInsertion { .. } => {
            "Add the lines above or below as context, with a space in front, or `*** End of File` under the hunk to append."
        }
        PatchError::TooRepetitive { .. } => {
            "Read the file again and give exact line numbers in the headers, or use the write tool for the whole file."
        }
    })
}

/// After a patch that says something about its files that cannot be.
fn files_hint(error: &FilesError) -> &'static str {
    match error {
        FilesError::NotAPatch { .. } | FilesError::NoFiles(_) => {
            "Send `*** Begin Patch`, then for each file `*** Update File: path` with hunks, `*** Add File: path` with `+` lines or `*** Delete File: path`, then `*** End Patch`; or a unified diff with `--- a/path` and `+++ b/path` for each file."
        }
        FilesError::Unfinished(_) => {
            "Send the whole patch again, with `*** End Patch` as its last line; smaller patches in several calls are safer."
        }
        FilesError::SecondPatch(_) => {
            "Put the sections of all files between one `*** Begin Patch` and one `*** End Patch`."
        }
        FilesError::Command(_) => {
            "Send the patch alone, from `*** Begin Patch` to `*** End Patch`, with paths from the root directory."
        }
        FilesError::UnknownMarker(_) => {
            "Begin each section with `*** Add File: path`, `*** Update File: path` or `*** Delete File: path`; `*** Move to: path` is for the line directly under `*** Update File`."
        }
        FilesError::StrayLine(_) => {
            "Begin every line of a new file with `+`, every line of a hunk with a space, `-` or `+`, and every further hunk with a line `@@`."
        }
        FilesError::NoPath(_) => {
            "Name the file: `*** Update File: path`, or `--- a/path` and `+++ b/path` above the hunks."
        }
        FilesError::NamesFile(_) => {
            "Send only the hunks of this file, and change every other file in a call of its own."
        }
        FilesError::NamesDiffer { .. } => {
            "Give the file the same name after `---` and `+++`; to rename it use `*** Move to: path` under `*** Update File`, or `rename from` and `rename to` under a `diff --git` line."
        }
        FilesError::Copy(_) => "Add the copy as a new file with all its lines.",
        FilesError::Mode(_) => {
            "Leave the mode out of the patch, and use the bash tool with `chmod` to change it."
        }
        FilesError::LinkHasHunks { .. } => {
            "Move the link without hunks, and change the file that it leads to by the name of that file."
        }
        FilesError::SamePath { .. } => {
            "Name each path once: put all hunks of a file into one section, and make changes that follow from each other in several calls."
        }
        FilesError::FileAndDirectory { .. } => {
            "Choose another path for one of them, or delete the file in a call of its own first."
        }
        FilesError::OldLineOfNewFile(_) => {
            "Begin every line of a new file with `+`; to change a file that exists, name it after `---` too."
        }
        FilesError::NotEmptied { .. } => {
            "Read the file again; then use `*** Delete File: path`, which needs no lines, or remove all of its lines."
        }
    }
}

fn after_stale_context(stale: &Stale) -> Cow<'static, str> {
    if let Some(line) = stale.done_at {
        return format!(
                "The change seems to have been made already at line {line}: read the file before you repeat it."
            )
            .into();
    }
    if stale.numbered {
        return "Leave out the numbers in front of the lines: they are not in the file.".into();
    }
    if stale.spacing {
        return "Copy the line from the file with exactly its spaces and tabs.".into();
    }
    if let Some((line, text)) = &stale.nearest {
        return format!(
            "Line {line} is like it: {text}. Read the file again there and make the patch from what it holds now, every context and removed line copied exactly."
        )
        .into();
    }
    let line = stale.line.min(stale.lines).max(1);
    format!(
            "Read the file again around line {line} and make the patch from what it holds now, every context and removed line copied exactly."
        )
        .into()
}

/// After a replacement that was refused.
#[must_use]
pub fn replacement_hint(error: &ReplaceError) -> &'static str {
    match error {
        ReplaceError::Empty => "Give the text to replace; use write for a whole file.",
        ReplaceError::Same => "Nothing would change; give another new_string.",
        ReplaceError::Lossy => {
            "The file holds bytes that are not UTF-8 and are shown as U+FFFD; choose texts without it."
        }
        ReplaceError::OtherEncoding { .. } => {
            "Use letters of ASCII, or change the file with a command that knows its encoding."
        }
        ReplaceError::NotFound { reading: Some(Reading { difference, .. }), .. } => {
            unlike(difference)
        }
        ReplaceError::NotFound { made: Some(_), .. } => {
            "Nothing was changed. The change may have been made before: read the file there, and go on if it is."
        }
        // They fail like a file that is too large to hold.
        ReplaceError::TooLarge { .. } | ReplaceError::NoMemory { .. } => "",
        ReplaceError::NotFound { .. } => {
            "Nothing was changed. Read the file again and copy the text exactly, white space included."
        }
        ReplaceError::Ambiguous { overlapping: true, .. } => {
            "Nothing was changed. The places overlap; add surrounding lines to old_string so that only one fits."
        }
        ReplaceError::Ambiguous { .. } => {
            "Nothing was changed. Add surrounding lines to old_string so that only one place fits, or set replace_all."
        }
    }
}

/// After a text that is in the file in another form.
fn unlike(difference: &Difference) -> &'static str {
    match difference {
        Difference::Endings { .. } => {
            "Nothing was changed. Replace one line at a time, without its ending: then each line keeps its own."
        }
        Difference::Character { .. } => {
            "Nothing was changed. Write old_string with the characters of the file, or choose a part of it without them."
        }
        Difference::Numbers => {
            "Nothing was changed. Leave out the numbers in front of the lines, in both texts: they are not in the file."
        }
        Difference::Escapes | Difference::Escaped => {
            "Nothing was changed. Write line ends, tabs, quotes and backslashes in both texts as the file has them."
        }
        Difference::Entities | Difference::InEntities => {
            "Nothing was changed. Write <, >, & and quotes in both texts as the file has them."
        }
    }
}
