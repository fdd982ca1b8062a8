//! Jupyter notebooks as text.
//!
//! A view has the cells of a notebook with their text outputs, and no media:
//!
//! ```text
//! # %% [markdown] 1
//! # A title
//! # %% [code] 2
//! print(6 * 7)
//! # %% [output] 2
//! 42
//! ```
//!
//! A view that was edited is put back into the notebook: of the JSON text, only what belongs to changed cells changes. The
//! number of a header says which cell of the notebook is meant; a header without one begins a new cell. Outputs are shown, and
//! not put back.
//!
//! ```
//! let notebook = br#"{"cells":[{"cell_type":"code","metadata":{},"outputs":[],"source":["1 + 1"]}],"nbformat":4}"#;
//! let view = toolwright_notebook::view(notebook)?;
//! assert_eq!(view, "# %% [code] 1\n1 + 1\n");
//! let edited = toolwright_notebook::with_view(notebook, &view.replace("1 + 1", "2 + 2"))?;
//! assert!(String::from_utf8_lossy(&edited).contains(r#""source":["2 + 2"]"#));
//! # Ok::<(), toolwright_notebook::NotebookError>(())
//! ```

mod cells;
mod edit;
mod outputs;
mod view;

pub use edit::with_view;
pub use view::view;

/// Why a text is no notebook, or a view cannot be put back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotebookError {
    /// The file is not the JSON of a notebook in format 4.
    #[error("it is no notebook in format 4: {0}")]
    NoNotebook(String),
    /// A line of the view before its first header.
    #[error("line {line} of the cells stands before the first header `# %% [code]`")]
    BeforeCells {
        /// From 1.
        line: usize,
    },
    /// A header that is none.
    #[error(
        "line {line} of the cells is no header: it is `# %% [code]`, `# %% [markdown]` or `# %% [raw]`, with the number of a cell if it is not new"
    )]
    Header {
        /// From 1.
        line: usize,
    },
    /// A number that no cell has.
    #[error(
        "line {line} of the cells names cell {number}, and the notebook has {cells}; a new cell has no number"
    )]
    NoCell {
        /// From 1.
        line: usize,
        /// The number of the header.
        number: usize,
        /// How many cells there are.
        cells: usize,
    },
    /// Two headers for one cell.
    #[error("line {line} of the cells names cell {number} again; a new cell has no number")]
    Twice {
        /// From 1.
        line: usize,
        /// The number of the header.
        number: usize,
    },
}
