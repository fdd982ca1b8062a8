//! Changes by a model that is shown notebooks as cells: whatever makes them, the rest of the JSON stays as it was.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tempfile::TempDir;
use toolwright_core::apply_patch::{ApplyPatchInput, FileOperation, FileOperationInput, Files};
use toolwright_core::code::Code;
use toolwright_core::edit::{Change, EditInput};
use toolwright_core::entries::{EntryInput, RewriteInput};
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::file::{File, Publish};
use toolwright_core::notebook::ReadNotebookInput;
use toolwright_core::write::WriteInput;
use toolwright_fs::DirectoryGrant;

const NOTEBOOK: &str = r##"{
 "cells": [
  {"cell_type": "markdown", "metadata": {"x": 1.50}, "source": ["# Title"]},
  {"cell_type": "code", "execution_count": 3, "metadata": {}, "outputs": [
   {"output_type": "display_data", "metadata": {}, "data": {"image/png": "QUJD"}}], "source": ["price = 42\n", "price"]}
 ],
 "metadata": {"kernelspec": {"name": "py"}}, "nbformat": 4, "nbformat_minor": 4
}
"##;

/// Larger than the limit of other files.
const LIMIT: u64 = 200;

struct Scene {
    _made: TempDir,
    path: std::path::PathBuf,
    root: DirectoryGrant,
    publish: Publish,
}

impl Scene {
    fn new() -> Self {
        let made = tempfile::tempdir().unwrap();
        let path = made.path().canonicalize().unwrap();
        fs::write(path.join("a.ipynb"), NOTEBOOK).unwrap();
        let publish = Publish {
            fsync: false,
            allow_in_place: false,
            wait: Duration::from_secs(9),
            deny_write: None,
            notebooks: true,
        };
        Self { root: DirectoryGrant::new("rootDir", &path), _made: made, path, publish }
    }

    fn file(&self) -> File<'_> {
        File::Below { root: &self.root, path: "a.ipynb" }
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path.join("a.ipynb")).unwrap()
    }

    fn cells(&self) -> String {
        let input = ReadNotebookInput { root: &self.root, path: "a.ipynb", limit_bytes: 10_000 };
        input.run(None, &NEVER).unwrap().text.unwrap()
    }

    fn patch(&self, patch: &str) -> Result<(), Unfinished> {
        let files = Files::Below(&self.root);
        let input = ApplyPatchInput { files, patch, limit_bytes: LIMIT, publish: &self.publish };
        input.run(&NEVER).map(drop)
    }

    fn operate(&self, operation: FileOperation<'_>) -> Result<(), Unfinished> {
        let (root, publish) = (&self.root, &self.publish);
        let input =
            FileOperationInput { root, path: "a.ipynb", operation, limit_bytes: LIMIT, publish };
        input.run(&NEVER).map(drop)
    }

    fn edit(&self, change: Change<'_>) -> Result<(), Unfinished> {
        let (file, publish) = (self.file(), &self.publish);
        EditInput { file, change, limit_bytes: LIMIT, publish }.run(&NEVER).map(drop)
    }

    fn rewrite(&self, known: &str, content: &str) -> Result<(), Unfinished> {
        let (file, publish) = (self.file(), &self.publish);
        RewriteInput { file, known, content, limit_bytes: 1_000, publish }.run(&NEVER)
    }

    fn write(&self, content: &str) -> Result<(), Unfinished> {
        let (file, publish) = (self.file(), &self.publish);
        WriteInput { file, content, limit_bytes: LIMIT, publish }.run_in_form(&NEVER).map(drop)
    }
}

type ChangeOf = fn(&Scene) -> Result<(), Unfinished>;

static NEVER: AtomicBool = AtomicBool::new(false);

fn refusal(result: Result<(), Unfinished>) -> Failure {
    match result {
        Err(Unfinished::Failed(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_change_of_a_cell_leaves_the_rest_as_it_was() {
    const HUNK: &str = "@@\n-price = 42\n+price = 43\n price\n";
    let expected = NOTEBOOK.replace("price = 42", "price = 43");
    let changes: [(&str, ChangeOf); 5] = [
        ("a patch of files", |scene| {
            scene.patch(&format!("*** Begin Patch\n*** Update File: a.ipynb\n{HUNK}*** End Patch"))
        }),
        ("an operation", |scene| scene.operate(FileOperation::Update { diff: HUNK })),
        ("a diff", |scene| scene.edit(Change::Patch { diff: HUNK, by_content: true })),
        ("a replacement", |scene| {
            scene.edit(Change::Replacement { old: "= 42", new: "= 43", all: false })
        }),
        ("an editor", |scene| {
            let cells = scene.cells();
            scene.rewrite(&cells, &cells.replace("= 42", "= 43"))
        }),
    ];
    for (name, change) in changes {
        let scene = Scene::new();
        change(&scene).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        // The lines of a changed cell are written anew.
        let (text, expected): (String, String) =
            (scene.text().split_whitespace().collect(), expected.split_whitespace().collect());
        assert_eq!(text, expected, "{name}");
        assert!(scene.text().contains(r#""metadata": {"x": 1.50}"#), "{name}");
    }
}

#[test]
fn cells_never_take_the_place_of_a_notebook() {
    const CELLS: &str = "# %% [code] 1\nx\n";
    let added = "+# %% [code] 1\n+x\n";
    let scene = Scene::new();
    let root = &scene.root;
    let changes = [
        scene.write(CELLS),
        scene.patch(&format!("*** Begin Patch\n*** Add File: b.ipynb\n{added}*** End Patch")),
        scene.patch(&format!("*** Begin Patch\n*** Add File: a.ipynb\n{added}*** End Patch")),
        EntryInput { root, path: "c.ipynb", publish: &scene.publish }
            .create(CELLS, LIMIT, &NEVER)
            .map(drop),
    ];
    for change in changes {
        let failure = refusal(change);
        assert_eq!(failure.code, Code::InvalidInput, "{failure:?}");
        assert!(
            failure.message().contains("Change cells of a notebook that exists"),
            "{failure:?}"
        );
    }
    assert_eq!(scene.text(), NOTEBOOK);
    assert_eq!(fs::read_dir(&scene.path).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_put_back_is_refused() {
    let scene = Scene::new();
    let replaced = |old, new| scene.edit(Change::Replacement { old, new, all: false });
    assert_eq!(refusal(replaced("[code] 2", "[code] 7")).code, Code::PatchFailed);
    assert_eq!(refusal(replaced("left out", "gone")).code, Code::PatchFailed);
    assert_eq!(refusal(replaced("kernelspec", "x")).code, Code::EditNoMatch);
    assert_eq!(refusal(scene.rewrite("other cells", "x")).code, Code::EditConflict);
    assert_eq!(scene.text(), NOTEBOOK);
}

#[test]
fn a_notebook_is_deleted_replaced_and_moved_as_a_file() {
    let scene = Scene::new();
    scene.write(r#"{"cells": [], "nbformat": 4}"#).unwrap();
    scene
        .patch("*** Begin Patch\n*** Update File: a.ipynb\n*** Move to: b.ipynb\n*** End Patch")
        .unwrap();
    assert_eq!(
        fs::read_to_string(scene.path.join("b.ipynb")).unwrap(),
        r#"{"cells": [], "nbformat": 4}"#
    );
    scene.patch("*** Begin Patch\n*** Delete File: b.ipynb\n*** End Patch").unwrap();
    assert_eq!(fs::read_dir(&scene.path).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_none_is_changed_as_it_is() {
    let scene = Scene::new();
    fs::write(scene.path.join("a.ipynb"), "{\"cells\": [}\n").unwrap();
    scene.edit(Change::Replacement { old: "[}", new: "[]}", all: false }).unwrap();
    assert_eq!(scene.text(), "{\"cells\": []}\n");
    let cells = Change::Replacement { old: "{\"cells\": []}", new: "# %% [code]", all: false };
    assert_eq!(refusal(scene.edit(cells)).code, Code::InvalidInput);
}
