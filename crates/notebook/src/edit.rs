//! A notebook with other cells.

use std::collections::HashSet;

use serde_json::Value;

use crate::NotebookError;
use crate::cells::{Cell, Notebook};
use crate::view::{ViewedCell, parse};

/// The notebook with the cells of a view. Cells that are the same keep their text; of a cell whose source alone is another,
/// nothing else changes.
///
/// # Errors
///
/// See [`NotebookError`].
pub fn with_view(content: &[u8], view: &str) -> Result<Vec<u8>, NotebookError> {
    let notebook = Notebook::parse(content)?;
    let cells = parse(view, notebook.cells.len())?;
    let array = &notebook.text[notebook.array.clone()];
    let (before, between, after) = joints(&notebook);
    let ids: HashSet<&str> = notebook.cells.iter().filter_map(|cell| cell.id.as_deref()).collect();
    let style = Style { indent: indent_of(between), has_ids: notebook.has_ids, ids: &ids };
    let texts: Vec<String> = cells
        .iter()
        .enumerate()
        .map(|(index, cell)| match cell.number.and_then(|number| notebook.cells.get(number)) {
            Some(was) if was.kind == cell.kind => changed(&notebook, was, cell, &style),
            _ => style.new_cell(cell, index),
        })
        .collect();
    let joined = if texts.is_empty() {
        "[]".to_owned()
    } else {
        format!("{before}{}{after}", texts.join(between))
    };
    if joined == array {
        return Ok(content.to_vec());
    }
    let text = notebook.text;
    Ok([&text[..notebook.array.start], &joined, &text[notebook.array.end..]].concat().into_bytes())
}

/// The texts before, between and after cells.
fn joints<'a>(notebook: &Notebook<'a>) -> (&'a str, &'a str, &'a str) {
    let (text, array) = (notebook.text, &notebook.array);
    let (Some(first), Some(last)) = (notebook.cells.first(), notebook.cells.last()) else {
        return ("[\n  ", ",\n  ", "\n ]");
    };
    let before = &text[array.start..first.place.start];
    let between = match notebook.cells.get(1) {
        Some(second) => &text[first.place.end..second.place.start],
        None if before.contains('\n') => ",\n  ",
        None => ",",
    };
    (before, between, &text[last.place.end..array.end])
}

/// The spaces of one level in a text between cells, which are on the second; none in a notebook on one line.
fn indent_of(between: &str) -> Option<usize> {
    let (_, spaces) = between.rsplit_once('\n')?;
    Some(spaces.len() / 2)
}

fn changed(notebook: &Notebook<'_>, was: &Cell, cell: &ViewedCell, style: &Style<'_>) -> String {
    let text = notebook.text;
    if was.source == cell.source {
        return text[was.place.clone()].to_owned();
    }
    let old = &text[was.source_place.clone()];
    let new = if old.starts_with('"') {
        Value::from(&*cell.source).to_string()
    } else {
        style.lines(&cell.source, 3)
    };
    let (start, end) =
        (was.place.start..was.source_place.start, was.source_place.end..was.place.end);
    [&text[start], &new, &text[end]].concat()
}

/// How new parts are written.
struct Style<'a> {
    /// The spaces of one level; everything is on one line without it.
    indent: Option<usize>,
    has_ids: bool,
    ids: &'a HashSet<&'a str>,
}

impl Style<'_> {
    fn break_at(&self, level: usize) -> String {
        self.indent.map_or_else(String::new, |indent| format!("\n{}", " ".repeat(indent * level)))
    }

    /// A source as an array of its lines.
    fn lines(&self, source: &str, level: usize) -> String {
        if source.is_empty() {
            return "[]".to_owned();
        }
        let lines: Vec<String> =
            source.split_inclusive('\n').map(|line| Value::from(line).to_string()).collect();
        let (inner, outer) = (self.break_at(level + 1), self.break_at(level));
        format!("[{inner}{}{outer}]", lines.join(&format!(",{inner}")))
    }

    fn new_cell(&self, cell: &ViewedCell, index: usize) -> String {
        let colon = if self.indent.is_some() { ": " } else { ":" };
        let is_code = cell.kind == "code";
        let fields = [
            Some(("cell_type", Value::from(&*cell.kind).to_string())),
            is_code.then(|| ("execution_count", "null".to_owned())),
            self.has_ids.then(|| ("id", Value::from(self.new_id(cell, index)).to_string())),
            Some(("metadata", "{}".to_owned())),
            is_code.then(|| ("outputs", "[]".to_owned())),
            Some(("source", self.lines(&cell.source, 3))),
        ];
        let (inner, outer) = (self.break_at(3), self.break_at(2));
        let fields: Vec<String> = fields
            .into_iter()
            .flatten()
            .map(|(name, value)| format!("\"{name}\"{colon}{value}"))
            .collect();
        format!("{{{inner}{}{outer}}}", fields.join(&format!(",{inner}")))
    }

    /// An id that no cell has: FNV-1a over the place and the source.
    fn new_id(&self, cell: &ViewedCell, index: usize) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let place = index.to_le_bytes();
        loop {
            for byte in place.iter().chain(cell.source.as_bytes()) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
            let id = format!("{:08x}", hash >> 32);
            if !self.ids.contains(&*id) {
                return id;
            }
        }
    }
}
