//! A notebook as text, and the cells of such a text.

use crate::cells::Notebook;
use crate::{NotebookError, outputs};

/// What a header begins with. A line of a cell that begins so has a backslash in front.
const HEADER: &str = "# %%";

/// A cell of a view.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ViewedCell {
    pub(crate) kind: String,
    /// Which cell of the notebook it is, from 0.
    pub(crate) number: Option<usize>,
    pub(crate) source: String,
}

/// The cells of a notebook as text.
///
/// # Errors
///
/// [`NotebookError::NoNotebook`].
pub fn view(content: &[u8]) -> Result<String, NotebookError> {
    let notebook = Notebook::parse(content)?;
    let mut view = String::new();
    for (index, cell) in notebook.cells.iter().enumerate() {
        add(&mut view, &cell.kind, index + 1, &cell.source);
        if let Some(text) = outputs::shown(&cell.outputs) {
            add(&mut view, "output", index + 1, &text);
        }
    }
    Ok(view)
}

fn add(view: &mut String, kind: &str, number: usize, source: &str) {
    let header = format!("{HEADER} [{kind}] {number}\n");
    view.push_str(&header);
    for line in source.split('\n') {
        if line.trim_start_matches('\\').starts_with(HEADER) {
            view.push('\\');
        }
        view.push_str(line);
        view.push('\n');
    }
}

/// The cells of a view of a notebook with so many cells.
pub(crate) fn parse(view: &str, count: usize) -> Result<Vec<ViewedCell>, NotebookError> {
    let mut cells: Vec<ViewedCell> = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    let mut is_output = false;
    let mut named = vec![false; count];
    let end = |cells: &mut Vec<ViewedCell>, lines: &mut Vec<&str>, is_output: bool| {
        let source = std::mem::take(lines).join("\n");
        if let (Some(cell), false) = (cells.last_mut(), is_output) {
            cell.source = source;
        }
    };
    for (index, line) in view.lines().enumerate() {
        let at = index + 1;
        if line.starts_with(HEADER) {
            let header = header(line).ok_or(NotebookError::Header { line: at })?;
            end(&mut cells, &mut lines, is_output);
            is_output = header.0 == "output";
            if is_output {
                continue;
            }
            let number = header.1;
            if let Some(number) = number {
                let cell = number.checked_sub(1).and_then(|number| named.get_mut(number));
                let was = cell.ok_or(NotebookError::NoCell { line: at, number, cells: count })?;
                if std::mem::replace(was, true) {
                    return Err(NotebookError::Twice { line: at, number });
                }
            }
            let number = number.map(|number| number - 1);
            cells.push(ViewedCell { kind: header.0.to_owned(), number, source: String::new() });
        } else if cells.is_empty() && !is_output {
            return Err(NotebookError::BeforeCells { line: at });
        } else {
            lines.push(unescaped(line));
        }
    }
    end(&mut cells, &mut lines, is_output);
    Ok(cells)
}

fn unescaped(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(rest) if rest.trim_start_matches('\\').starts_with(HEADER) => rest,
        _ => line,
    }
}

/// The kind and the number of a header.
fn header(line: &str) -> Option<(&str, Option<usize>)> {
    let (kind, number) = line.strip_prefix(HEADER)?.trim().strip_prefix('[')?.split_once(']')?;
    let is_known = matches!(kind, "code" | "markdown" | "raw" | "output");
    match (number.trim(), is_known) {
        (_, false) => None,
        ("", true) => Some((kind, None)),
        (number, true) => Some((kind, Some(number.parse().ok()?))),
    }
}
