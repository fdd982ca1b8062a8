//! What a model reads about changes of others that it has not been shown.

use toolwright_fs::is_binary;
use toolwright_ledger::Difference;

/// The next move once all of the difference has been shown.
pub(crate) const SHOWN: &str = "Nothing was changed. Merge the parts that should stay into your version. If you make the same call again, it is accepted, because you have seen the changes.";

/// The next move where not all of it has been shown.
pub(crate) const READ_AGAIN: &str =
    "Nothing was changed. Read the file again first: the call is refused until then.";

/// Before the next move of a change whose text was not found.
pub(crate) const CHANGED_SINCE: &str = "The file has changed since you read it.";

/// After a line that stands for others was written.
pub(crate) fn placeholder(line: &str) -> String {
    format!(
        "(The placeholder line `{}` was written literally. Send the text that it stands for, or edit only the other lines.)",
        line.replace('`', "'")
    )
}

/// The difference, before the next move.
pub(crate) fn since_the_read(difference: Option<&Difference>) -> String {
    let Some(difference) = difference else {
        return "What it held then is no longer known, so the difference cannot be shown."
            .to_owned();
    };
    let Difference { text, is_complete, added, removed } = difference;
    if *is_complete {
        return format!("The changes since then, which this call would undo:\n{text}");
    }
    format!(
        "The changes since then ({added} lines added, {removed} removed) begin so:\n{text}(not all of them)\n"
    )
}

/// After a write whose host lets it undo the changes of others.
pub(crate) fn undone(path: &str, difference: Option<&Difference>) -> String {
    match difference {
        Some(difference) if difference.is_complete => format!(
            "(`{path}` had changed since it was read. This call has undone these changes:\n{})",
            difference.text
        ),
        Some(Difference { text, added, removed, .. }) => format!(
            "(`{path}` had changed since it was read. This call has undone these changes, {added} lines added and {removed} removed, which begin so:\n{text})"
        ),
        None => {
            format!(
                "(`{path}` had changed since it was read, and this call has replaced all of it.)"
            )
        }
    }
}

/// After an edit near changes of others.
pub(crate) fn near(path: &str, difference: &Difference) -> String {
    let end = if difference.is_complete {
        ""
    } else {
        "(not all of them: read the file before you write all of it)\n"
    };
    format!(
        "(`{path}` has changed since it was read. Near this edit, and kept:\n{}{end})",
        difference.text
    )
}

/// After an edit of a file that others have changed, where it is not known what.
pub(crate) fn outdated(path: &str) -> String {
    format!("(`{path}` has changed since it was read. Read it before you write all of it.)")
}

/// After a write over a file that was never read.
pub(crate) fn never_read(path: &str, old: &[u8], has_checkpoint: bool) -> Option<String> {
    if old.is_empty() {
        return None;
    }
    let lines =
        if is_binary(old) { String::new() } else { format!("{}, ", count(lines_of(old), "line")) };
    let bytes = count(old.len(), "byte");
    Some(format!(
        "(`{path}` was replaced. It held {lines}{bytes}, and had not been read.{})",
        checkpoint(has_checkpoint)
    ))
}

/// After a write over a file that was too large to be compared.
pub(crate) fn not_compared(path: &str, bytes: u64, has_checkpoint: bool) -> String {
    format!(
        "(`{path}` was replaced. It held {bytes} bytes, which could not be compared with what was read.{})",
        checkpoint(has_checkpoint)
    )
}

/// After a write over a file of which only a part was read.
pub(crate) fn partly_read(
    path: &str,
    (unseen, lines): (usize, usize),
    has_checkpoint: bool,
) -> String {
    format!(
        "(`{path}` was replaced. Of its {}, {unseen} had not been read.{})",
        count(lines, "line"),
        checkpoint(has_checkpoint)
    )
}

fn checkpoint(has_one: bool) -> &'static str {
    if has_one { " A checkpoint keeps it." } else { "" }
}

fn lines_of(text: &[u8]) -> usize {
    let ends = text.split(|byte| *byte == b'\n').count() - 1;
    ends + usize::from(text.last().is_some_and(|last| *last != b'\n'))
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
