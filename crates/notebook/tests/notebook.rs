//! Views of notebooks, and notebooks with an edited view.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use toolwright_notebook::{NotebookError, view, with_view};

fn notebook() -> String {
    let notebook = json!({
        "cells": [
            { "cell_type": "markdown", "id": "aa", "metadata": {}, "source": ["# Title\n", "\n", "text"] },
            {
                "cell_type": "code", "execution_count": 3, "id": "bb", "metadata": { "tags": ["x"] },
                "outputs": [
                    { "output_type": "stream", "name": "stdout", "text": ["42\n"] },
                    { "output_type": "display_data", "data": { "image/png": "A".repeat(200), "text/plain": ["<Figure>"] }, "metadata": {} },
                    { "output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u{1b}[31mE\u{1b}[0m: v"] }
                ],
                "source": "print(6 * 7)\n# %% no header"
            }
        ],
        "metadata": { "kernelspec": { "name": "python3" } },
        "nbformat": 4,
        "nbformat_minor": 5
    });
    format!("{}\n", serde_json::to_string_pretty(&notebook).unwrap())
}

#[test]
fn a_view_has_cells_and_texts_of_outputs_and_no_media() {
    assert_eq!(
        view(notebook().as_bytes()).unwrap(),
        "# %% [markdown] 1\n# Title\n\ntext\n# %% [code] 2\nprint(6 * 7)\n\\# %% no header\n# %% [output] 2\n42\n<Figure>\n\
         (image/png, 200 bytes, left out)\nE: v\n"
    );
}

#[test]
fn an_unchanged_view_changes_no_byte() {
    let notebook = notebook();
    let same = with_view(notebook.as_bytes(), &view(notebook.as_bytes()).unwrap()).unwrap();
    assert_eq!(same, notebook.as_bytes());
}

#[test]
fn only_the_source_of_a_changed_cell_changes() {
    let notebook = notebook();
    let edited = view(notebook.as_bytes()).unwrap().replace("6 * 7", "7 * 6");
    let changed = with_view(notebook.as_bytes(), &edited).unwrap();
    assert_eq!(String::from_utf8(changed).unwrap(), notebook.replace("6 * 7", "7 * 6"));
    let edited = view(notebook.as_bytes()).unwrap().replace("text\n", "one\ntwo\n");
    let changed = with_view(notebook.as_bytes(), &edited).unwrap();
    let lines = "\"one\\n\",\n\"two\"\n";
    let changed: String = String::from_utf8(changed).unwrap().split_whitespace().collect();
    let expected: String = notebook.replace("\"text\"\n", lines).split_whitespace().collect();
    assert_eq!(changed, expected);
}

#[test]
fn cells_are_added_removed_and_moved() {
    let notebook = notebook();
    let edited =
        "# %% [code] 2\nprint(6 * 7)\n\\# %% no header\n# %% [code]\nnew()\n# %% [markdown]\n";
    let changed: Value =
        serde_json::from_slice(&with_view(notebook.as_bytes(), edited).unwrap()).unwrap();
    let was: Value = serde_json::from_str(&notebook).unwrap();
    assert_eq!(changed["cells"].as_array().unwrap().len(), 3);
    assert_eq!(changed["cells"][0], was["cells"][1]);
    let new = &changed["cells"][1];
    assert_eq!((&new["source"], &new["outputs"]), (&json!(["new()"]), &json!([])));
    assert_eq!(new["id"].as_str().unwrap().len(), 8);
    assert_eq!(changed["cells"][2]["source"], json!([]));
    assert!(changed["cells"][2].get("outputs").is_none());
    assert_eq!(changed["metadata"], was["metadata"]);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let notebook = notebook();
    let refused = |view: &str| with_view(notebook.as_bytes(), view).unwrap_err();
    assert_eq!(refused("x\n# %% [code] 1\n"), NotebookError::BeforeCells { line: 1 });
    assert_eq!(refused("# %% [code] 1\nx\n# %% [python]\n"), NotebookError::Header { line: 3 });
    assert_eq!(refused("# %% [code] 3\n"), NotebookError::NoCell { line: 1, number: 3, cells: 2 });
    assert_eq!(refused("# %% [code] 0\n"), NotebookError::NoCell { line: 1, number: 0, cells: 2 });
    assert_eq!(
        refused("# %% [code] 2\n# %% [code] 2\n"),
        NotebookError::Twice { line: 2, number: 2 }
    );
    for none in [
        "",
        "[]",
        "{\"cells\":[]}",
        "{\"cells\":[{}],\"nbformat\":4}",
        "{\"cells\":[],\"nbformat\":3}",
    ] {
        assert!(matches!(view(none.as_bytes()), Err(NotebookError::NoNotebook(_))), "{none}");
    }
    assert!(view(b"\xff").is_err());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(view(format!("{{\"cells\":{deep},\"nbformat\":4}}").as_bytes()).is_err());
}

fn sources() -> impl Strategy<Value = Vec<(bool, String)>> {
    let line = prop_oneof![
        "[a-z \\\\#%]{0,12}",
        Just("# %% [code] 1".to_owned()),
        Just("\\# %%".to_owned()),
        "\\PC{0,6}"
    ];
    let source = vec(line, 0..5).prop_map(|lines| lines.join("\n"));
    vec((any::<bool>(), source), 0..6)
}

fn notebook_of(cells: &[(bool, String)], indent: bool) -> String {
    let cells: Vec<Value> = cells
        .iter()
        .map(|(is_code, source)| {
            let lines: Vec<&str> = source.split_inclusive('\n').collect();
            if *is_code {
                json!({ "cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1, "source": lines })
            } else {
                json!({ "cell_type": "markdown", "metadata": {}, "source": source })
            }
        })
        .collect();
    let notebook = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4 });
    if indent { serde_json::to_string_pretty(&notebook).unwrap() } else { notebook.to_string() }
}

proptest! {
    /// A view loses nothing of a source, whatever is in it; and a notebook whose view is that of another has its cells.
    #[test]
    fn views_come_back(old in sources(), new in sources(), indent in any::<bool>()) {
        let (old, new) = (notebook_of(&old, indent), notebook_of(&new, indent));
        let same = with_view(old.as_bytes(), &view(old.as_bytes()).unwrap()).unwrap();
        prop_assert_eq!(String::from_utf8(same).unwrap(), old.clone());
        // Without numbers, all its cells are new.
        let other = view(new.as_bytes()).unwrap();
        let unnumbered: String = other
            .split_inclusive('\n')
            .map(|line| if line.starts_with("# %% [") { format!("{}]\n", line.split(']').next().unwrap()) } else { line.to_owned() })
            .collect();
        let put = with_view(old.as_bytes(), &unnumbered).unwrap();
        prop_assert_eq!(view(&put).unwrap(), other);
    }
}
