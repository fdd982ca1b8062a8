//! The cells of a notebook, and where they are in its text.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::NotebookError;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    nbformat: u64,
    #[serde(default)]
    nbformat_minor: u64,
}

#[derive(Deserialize)]
struct Parsed<'a> {
    #[serde(borrow)]
    cell_type: Cow<'a, str>,
    #[serde(borrow)]
    source: &'a RawValue,
    #[serde(default)]
    outputs: Vec<Value>,
    #[serde(default)]
    id: Option<Value>,
}

/// A notebook.
#[derive(Debug)]
pub(crate) struct Notebook<'a> {
    pub(crate) text: &'a str,
    /// Where the array of cells is, with its brackets.
    pub(crate) array: Range<usize>,
    pub(crate) cells: Vec<Cell>,
    /// Whether cells have ids.
    pub(crate) has_ids: bool,
}

/// A cell.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) kind: String,
    pub(crate) source: String,
    pub(crate) outputs: Vec<Value>,
    pub(crate) id: Option<String>,
    /// Where it is in the text, and where its source is.
    pub(crate) place: Range<usize>,
    pub(crate) source_place: Range<usize>,
}

impl<'a> Notebook<'a> {
    pub(crate) fn parse(content: &'a [u8]) -> Result<Self, NotebookError> {
        let no_notebook = |error: &dyn ToString| NotebookError::NoNotebook(error.to_string());
        let text = std::str::from_utf8(content).map_err(|error| no_notebook(&error))?;
        let document: Document<'_> = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| no_notebook(&error))?;
        if document.nbformat != 4 {
            return Err(no_notebook(&format!("its nbformat is {}", document.nbformat)));
        }
        let array = place_of(text, document.cells.get());
        let raw: Vec<&RawValue> =
            serde_json::from_str(document.cells.get()).map_err(|error| no_notebook(&error))?;
        let cells = raw
            .into_iter()
            .map(|raw| {
                let parsed: Parsed<'_> =
                    serde_json::from_str(raw.get()).map_err(|error| no_notebook(&error))?;
                Ok(Cell {
                    source: source_text(parsed.source.get()).ok_or_else(|| {
                        NotebookError::NoNotebook("the source of a cell is no text".to_owned())
                    })?,
                    source_place: place_of(text, parsed.source.get()),
                    place: place_of(text, raw.get()),
                    kind: parsed.cell_type.into_owned(),
                    outputs: parsed.outputs,
                    id: parsed.id.and_then(|id| id.as_str().map(str::to_owned)),
                })
            })
            .collect::<Result<_, NotebookError>>()?;
        let has_ids = document.nbformat_minor >= 5;
        Ok(Self { text, array, cells, has_ids })
    }
}

/// Where a part of a text is.
fn place_of(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// A source is a text, or an array of its lines.
fn source_text(raw: &str) -> Option<String> {
    text_of(&serde_json::from_str(raw).ok()?)
}

/// A text, or an array of its parts.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.iter().map(Value::as_str).collect(),
        _ => None,
    }
}
